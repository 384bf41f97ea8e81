// `orrery simulate`: a design, or a trace of jobs, in simulated time.
#include <memory>

#include "cli/replay.h"
#include "cli/verb.h"

namespace orrery::cli {
namespace {

struct SimulateOptions {
  std::string design;
  ReplayArguments jobs;
  std::uint64_t seed = 1;
  Format format = Format::text;
};

ExitCode run_simulate(const SimulateOptions& o, Terminal& terminal) {
  if (!o.jobs.file.empty()) {
    return run_replay(o.jobs, o.design, o.seed, o.format, terminal);
  }
  return refuse(terminal, {{.code = "usage.simulate",
                            .what = "what to simulate is not said",
                            .fix = "--replay FILE, a trace of jobs"}});
}

}  // namespace

Verb simulate_verb() {
  return {.name = "simulate",
          .summary = "Run a trace of jobs in simulated time",
          .examples = {"orrery simulate --replay jobs.csv --gpus 384 --policy fifo --policy easy",
                       "orrery simulate my.yaml --replay sacct.txt --policy slurm",
                       "orrery simulate --replay log.swf --nodes 64 --placement tree --mtbf 200d"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<SimulateOptions>();
            arguments.optional_positional("DESIGN", options->design,
                                          "whose fleet and scheduler to take");
            bind_replay(options->jobs, arguments);
            arguments.seed(options->seed);
            arguments.format(options->format);
            return [options](Terminal& terminal) { return run_simulate(*options, terminal); };
          }};
}

}  // namespace orrery::cli
