// For tests of storage probes: a design of two tiers, and reports of probes.
#pragma once

#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_compare.h"
#include "study/score/storage_probe.h"

namespace orrery::score {

inline constexpr const char* kTwoTiers = R"(
orrery: 1
name: two-tiers
site: { region: usa, power: 2 MW, cooling: air-contained, rack: 40 kW }
fleet:
  - { name: train, node: dgx-h100, count: 16 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 30 TB }
  - { tier: hot, kind: parallel-fs, servers: 4, read: 200 GB/s, write: 100 GB/s, capacity: 2 PB }
  - { tier: cold, kind: object, capacity: 20 PB, read: 100 GB/s, write: 50 GB/s }
scheduler: { kind: slurm }
workloads:
  - train: { name: pretrain, model: llama-3-8b, tokens: 100B, sequence: 8192, batch: 256,
             precision: bf16, layout: auto,
             checkpoint: { every: 30 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

struct TierReview {
  machine::Models models = machine::known();
  design::Design design = *design_text::read_design(kTwoTiers, machine::known().catalog(),
                                                    {.file = "design.yaml"}, nullptr);

  review::Review review() const { return review::run_stages(design, models); }
};

inline StorageProbe probe_of(std::string kind, std::vector<MeasuredFigure> figures) {
  for (MeasuredFigure& f : figures) {
    if (f.low == 0) f.low = 0.95 * f.value;
    if (f.high == 0) f.high = 1.05 * f.value;
  }
  return {.target = "here", .kind = std::move(kind), .figures = std::move(figures)};
}

inline const StorageComparison& figure_of(const StorageStanding& s, std::string_view id) {
  const auto at = std::ranges::find(s.figures, id, &StorageComparison::id);
  EXPECT_NE(at, s.figures.end()) << id;
  return *at;
}

}  // namespace orrery::score
