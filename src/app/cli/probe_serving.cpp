// `orrery probe serving`: runs a serving engine's policy on real or simulated kernels.
//
// With --live every planned iteration is printed as "run REQUEST:TOKENS:CONTEXT ..." and the
// program at the other end of the pipe answers "took SECONDS" (tools/probe/serve_loop.py does this
// on a GPU). Without --live the simulated device of --accelerator answers. Both print the same
// lines at the end.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/units.h"
#include "layers/traffic/live_replica.h"
#include "model/jobs/predict_serving.h"

namespace orrery::cli {
namespace {

struct ProbeServingOptions {
  std::string model = "llama-3-8b";
  std::string accelerator = "h200-sxm";
  std::int64_t clients = 16;
  std::int64_t requests = 100;
  std::int64_t prompt = 512;
  std::int64_t output = 128;
  std::int64_t blocks = 4096;
  std::int64_t budget = 2048;
  std::int64_t sequences = 64;
  std::int64_t eager_layer = 0;  // microseconds; 0: the shipped assumption
  bool live = false;
};

Diagnostic bad(const std::string& option, const std::string& what, const std::string& fix) {
  return {.code = "usage.value", .place = {.file = option}, .what = what, .why = {}, .fix = fix};
}

Diagnostics faults_of(const ProbeServingOptions& o, const machine::Models& models) {
  Diagnostics faults;
  const std::pair<const char*, std::int64_t> counts[] = {
      {"--clients", o.clients},    {"--requests", o.requests}, {"--prompt", o.prompt},
      {"--output", o.output},      {"--blocks", o.blocks},     {"--budget", o.budget},
      {"--sequences", o.sequences}};
  for (const auto& [name, value] : counts) {
    if (value < 1 || value > 1000000) {
      faults.push_back(bad(name, "it must be a whole number from 1 to 1000000",
                           "write a whole number in this range"));
    }
  }
  if (o.eager_layer < 0 || o.eager_layer > 1000000) {
    faults.push_back(bad("--eager-layer", "it must be from 0 to 1000000 microseconds",
                         "write a number in this range"));
  }
  if (faults.empty() && (o.prompt + o.output + 15) / 16 >= o.blocks) {
    faults.push_back(bad("--blocks", "one request does not fit into the KV blocks",
                         "raise --blocks (16 tokens each)"));
  }
  if (!models.catalog().model(o.model)) {
    faults.push_back(bad("--model", "the catalog has no model " + o.model,
                         "`orrery catalog models` lists them"));
  }
  if (!models.catalog().accelerator(o.accelerator)) {
    faults.push_back(bad("--accelerator", "the catalog has no accelerator " + o.accelerator,
                         "`orrery catalog accelerators` lists them"));
  }
  return faults;
}

// Returns requests with lengths between half and all of the longest, so that they do not all end
// together.
std::vector<engines::RequestSpec> requests_of(const ProbeServingOptions& o) {
  return traffic::draw_requests(static_cast<int>(o.requests),
                                {.length = static_cast<double>(o.prompt), .least_share = 0.5},
                                {.length = static_cast<double>(o.output), .least_share = 0.5}, 1);
}

engines::EnginePolicy policy_from(const ProbeServingOptions& o) {
  engines::EnginePolicy p;
  p.blocks = static_cast<int>(o.blocks);
  p.token_budget = static_cast<int>(o.budget);
  p.max_sequences = static_cast<int>(o.sequences);
  return p;
}

double ask(const engines::Batch& batch, const std::vector<int>& request_of, Terminal& terminal) {
  terminal.out << "run " << traffic::decision_text(batch, request_of) << '\n' << std::flush;
  std::string word;
  double seconds = -1;
  if (!(std::cin >> word >> seconds) || word != "took") return -1;
  return seconds;
}

void print_run(const traffic::LiveRun& run, const ProbeServingOptions& o, Terminal& terminal) {
  const traffic::LatencySummary s = summarise(run.records);
  if (!o.live) {
    for (std::size_t i = 0; i < run.decisions.size(); ++i) {
      terminal.out << fmt::format("iteration {} {:.6f} {}\n", i, run.seconds[i], run.decisions[i]);
    }
  }
  terminal.out << fmt::format(
      "end iterations={} requests={} ttft_mean_ms={:.3f} ttft_p99_ms={:.3f} tpot_mean_ms={:.4f} "
      "e2e_mean_ms={:.2f} output_tokens_per_s={:.1f}\n",
      run.decisions.size(), run.records.size(), s.ttft_mean * 1e3, s.ttft_p99 * 1e3,
      s.tpot_mean * 1e3, s.e2e_mean * 1e3, s.output_tokens_per_s);
}

ExitCode run_probe_serving(const ProbeServingOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const Diagnostics faults = faults_of(o, *models);
  if (!faults.empty()) return refuse(terminal, faults);
  jobs::ServingQuery query;
  query.model = *models->catalog().model(o.model);
  query.accelerator = models->catalog().accelerator(o.accelerator);
  query.engine = "pytorch";
  query.own_kernels = false;
  query.attention = "flash2-packed";  // the attention kernel of serve_loop.py
  query.request = {.input = static_cast<double>(o.prompt), .output = static_cast<double>(o.output)};
  query.blocks = static_cast<double>(o.blocks);
  auto replica = replica_of(*models, query);
  if (!replica) return refuse(terminal, replica.error());
  if (o.eager_layer > 0) {
    replica->engine.eager_layer = microseconds(static_cast<double>(o.eager_layer));
  }
  const machine::Costs costs = serving_costs(*models, query);
  serving::StepClock clock(*replica, serving_source(costs));
  serving::StepExecutor simulated(clock);
  const traffic::LiveRun run =
      traffic::run_live(policy_from(o), requests_of(o), static_cast<int>(o.clients),
                        [&](const engines::Batch& batch, const std::vector<int>& request_of) {
                          return o.live ? ask(batch, request_of, terminal) : simulated.run(batch);
                        });
  if (run.failed) {
    return refuse(terminal, {{.severity = Severity::error,
                              .code = "probe.pipe",
                              .place = {},
                              .what = "the executor did not answer \"took SECONDS\"",
                              .why = "with --live, every line is a batch that an executor must run",
                              .fix = "start tools/probe/serve_loop.py, which starts this verb"}});
  }
  print_run(run, o, terminal);
  return ExitCode::good;
}

}  // namespace

Verb probe_serving_verb() {
  return {.name = "serving",
          .summary = "Run a serving engine's batching on simulated or real kernels",
          .examples = {"orrery probe serving --clients 16 --requests 100",
                       "python3 tools/probe/serve_loop.py --orrery ./orrery"},
          .prepare = [](Arguments& arguments) -> Run {
            auto o = std::make_shared<ProbeServingOptions>();
            arguments.option("--model", o->model, "model whose layer shapes run", "ID");
            arguments.option("--accelerator", o->accelerator, "simulated accelerator", "ID");
            arguments.option("--clients", o->clients,
                             "clients that each wait for one answer at a time", "N");
            arguments.option("--requests", o->requests, "requests of all clients together", "N");
            arguments.option("--prompt", o->prompt, "longest prompt in tokens", "TOKENS");
            arguments.option("--output", o->output, "longest output in tokens", "TOKENS");
            arguments.option("--blocks", o->blocks, "KV blocks of 16 tokens", "N");
            arguments.option("--budget", o->budget, "token budget per iteration", "TOKENS");
            arguments.option("--sequences", o->sequences, "requests that run at once", "N");
            arguments.option("--eager-layer", o->eager_layer,
                             "shortest host time to launch a layer that has prompts", "US");
            arguments.flag("--live", o->live,
                           "send every batch to the program at the other end of the pipe");
            return [o](Terminal& terminal) { return run_probe_serving(*o, terminal); };
          }};
}

}  // namespace orrery::cli
