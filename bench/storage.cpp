// How fast a day of storage is simulated: saves of a large model to three tiers, and concurrent
// reads.
#include <fmt/core.h>

#include "bench/figure.h"
#include "core/catalog/embedded.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "twin/processes/scenario.h"

namespace orrery {
namespace {

constexpr std::string_view kDesign = R"(
orrery: 1
name: storage day
site: { region: gcp-us-east4, cooling: direct-to-chip-1p }
fleet: [ { name: train, node: dgx-h100, count: 1024 } ]
fabric:
  compute: { topology: fat-tree, switch: sn5600, protocol: roce, routing: adaptive, port_rate: 400 Gb/s }
  storage: { topology: fat-tree, switch: sn5600, protocol: ethernet, port_rate: 100 Gb/s }
storage:
  - { tier: hot, kind: parallel-fs, read: 2 TB/s, write: 1 TB/s, capacity: 100 PB, metadata: { servers: 16 } }
  - { tier: cold, kind: object, read: 200 GB/s, write: 200 GB/s, capacity: 500 PB }
workloads:
  - train:
      model: llama-3.1-405b
      tokens: 1000T
      sequence: 8192
      batch: 1024
      layout: { tp: 8, pp: 16, vp: 7, dp: 64, mbs: 1, recompute: selective }
      dataset: { tier: hot, size: 60 TB }
      checkpoint: { every: 1 h, mode: async, to: [node-nvme, hot, cold], keep: { hot: 3, cold: 24 } }
)";

Result<double> storage_day() {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  auto design = design_text::read_design(kDesign, models->catalog());
  if (!design) return std::unexpected(design.error());
  const machine::Machine machine = jobs::build_machine(*std::move(design), *models);
  const processes::Scenario scenario = processes::scenario_of(machine, days(1));
  std::uint64_t saves = 0;
  const double taken = seconds_of([&] {
    const twin_storage::StorageRun run = run_storage(scenario.storage_work(), {});
    if (run.span >= days(1) && run.jobs.front().saves) saves = run.jobs.front().saves->saves;
  });
  if (saves < 22) return fail({.code = "bench.storage", .what = "not a whole day was simulated"});
  return taken;
}

}  // namespace

std::vector<SpeedFigure> storage_figures() {
  return {
      {.name = "storage_day_1024",
       .unit = "s",
       .what =
           "24 h on 1,024 nodes: hourly sharded saves of a 405B model to three tiers; reads",
       .measure = storage_day}};
}

}  // namespace orrery
