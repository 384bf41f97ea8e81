#include "app/cli/verb.h"

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
Verb rank_verb();
Verb score_verb();
Verb search_verb();
Verb serve_verb();
Verb simulate_verb();
Verb store_verb();
Verb version_verb();

// In the order in which people use them.
std::vector<Verb> all_verbs() {
  std::vector<Verb> all;
  all.push_back(init_verb());
  all.push_back(plan_verb());
  all.push_back(simulate_verb());
  all.push_back(search_verb());
  all.push_back(rank_verb());
  all.push_back(calc_verb());
  all.push_back(fabric_verb());
  all.push_back(score_verb());
  all.push_back(calibrate_verb());
  all.push_back(diff_verb());
  all.push_back(explain_verb());
  all.push_back(catalog_verb());
  all.push_back(emit_verb());
  all.push_back(agent_verb());
  all.push_back(probe_verb());
  all.push_back(exporter_verb());
  all.push_back(store_verb());
  all.push_back(serve_verb());
  all.push_back(bench_verb());
  all.push_back(completion_verb());
  all.push_back(version_verb());
  all.push_back(man_verb());
  return all;
}

}  // namespace orrery::cli
