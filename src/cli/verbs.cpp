#include "cli/verb.h"

namespace orrery::cli {

Verb agent_verb();
Verb bench_verb();
Verb calc_verb();
Verb calibrate_verb();
Verb catalog_verb();
Verb completion_verb();
Verb diff_verb();
Verb emit_verb();
Verb explain_verb();
Verb exporter_verb();
Verb fabric_verb();
Verb init_verb();
Verb man_verb();
Verb plan_verb();
Verb probe_verb();
Verb score_verb();
Verb search_verb();
Verb serve_verb();
Verb version_verb();

// In the order of the work: init plan simulate search calc fabric score calibrate diff explain
// catalog emit agent probe exporter serve bench completion man version.
std::vector<Verb> all_verbs() {
  return {init_verb(),  plan_verb(),       search_verb(), calc_verb(),     fabric_verb(),
          score_verb(), calibrate_verb(),  diff_verb(),   explain_verb(),  catalog_verb(),
          emit_verb(),  agent_verb(),      probe_verb(),  exporter_verb(), serve_verb(),
          bench_verb(), completion_verb(), man_verb(),    version_verb()};
}

}  // namespace orrery::cli
