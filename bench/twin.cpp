// How fast simulated time runs: one replication, with placement, tiered checkpoints and power.
#include <fmt/core.h>

#include "bench/figure.h"
#include "core/catalog/embedded.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "twin/run/simulation.h"

namespace orrery {
namespace {

// A run like Llama 3's on this many hosts of eight H100; `batch` is divided over the replicas.
std::string design_text(int hosts, int spares, int replicas) {
  return fmt::format(R"(
orrery: 1
name: speed
site: {{ region: gcp-us-east4, cooling: direct-to-chip-1p }}
fleet: [ {{ name: train, node: dgx-h100, count: {0}, spares: {1} }} ]
fabric:
  compute: {{ topology: fat-tree, switch: sn5600, protocol: roce, routing: adaptive, port_rate: 400 Gb/s }}
  storage: {{ topology: fat-tree, switch: sn5600, protocol: ethernet, port_rate: 100 Gb/s }}
storage: [ {{ tier: hot, kind: parallel-fs, read: 2 TB/s, write: 2 TB/s, capacity: 240 PB, metadata: {{ servers: 64 }} }} ]
scheduler: {{ recovery: {{ detect: 60 s, requeue: 60 s, restart: 4 min }} }}
workloads:
  - train:
      model: llama-3.1-405b
      tokens: 1000T
      sequence: 8192
      batch: {3}
      layout: {{ tp: 8, pp: 16, vp: 7, dp: {2}, mbs: 1, recompute: selective }}
      checkpoint: {{ every: auto, mode: async, to: [node-nvme, hot] }}
)",
                     hosts, spares, replicas, 16 * replicas);
}

Result<double> simulate(int hosts, int spares, Seconds horizon) {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  auto design = design_text::read_design(design_text(hosts, spares, hosts / 16), models->catalog());
  if (!design) return std::unexpected(design.error());
  const machine::Machine machine = jobs::build_machine(*std::move(design), *models);
  const run::Simulation simulation(machine, {.horizon = horizon});
  std::uint64_t interruptions = 0;
  const double taken =
      seconds_of([&] { interruptions = simulation.replicate(0)->jobs.front().interruptions; });
  if (interruptions == 0) return fail({.code = "bench.twin", .what = "nothing was simulated"});
  return taken;
}

}  // namespace

std::vector<SpeedFigure> twin_figures() {
  return {{.name = "twin_llama3_54d",
           .unit = "s",
           .what = "54 days of one run on 16,384 H100: one replication",
           .measure = [] { return simulate(2048, 32, days(54)); }},
          {.name = "twin_131k_year",
           .unit = "s",
           .what = "a year of one run on 131,072 H100: one replication",
           .measure = [] { return simulate(16'384, 256, years(1)); }}};
}

}  // namespace orrery
