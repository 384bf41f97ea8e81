// Shared by the tests of the views: designs from texts and templates, and answers as texts.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "output/report/view_compare.h"

namespace orrery::report {

inline design::Design design_of(std::string_view text) {
  auto d = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(d.has_value()) << (d ? "" : to_text(d.error()));
  return d ? *std::move(d) : design::Design{};
}

inline design::Design template_design(std::string_view name) {
  const auto found = design_text::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return design_of(found ? found->text : "");
}

inline std::string text_of(const Result<std::string>& answer) {
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : to_text(answer.error()));
  return answer.value_or("{}");
}

inline nlohmann::json compare_view(const std::vector<NamedDesign>& designs) {
  const auto compared = compare_designs(designs, machine::known());
  return nlohmann::json::parse(comparison_view_json(compared.value()));
}

inline constexpr std::string_view kViewDesign = R"(
orrery: 1
name: views
site: { region: usa, power: 2 MW, cooling: air-contained, rack: 44 kW }
fleet:
  - { name: train, node: dgx-h100, count: 16 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: node-nvme, kind: local-nvme, read: 40 GB/s, write: 20 GB/s, capacity: 30 TB }
  - { tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, devices_per_server: 16,
      read: 200 GB/s, write: 100 GB/s, capacity: 200 TB }
scheduler: { kind: slurm }
workloads:
  - train: { name: pretrain, model: llama-3-8b, tokens: 100B, sequence: 8192, batch: 256,
             precision: bf16, layout: auto, nodes: 8,
             checkpoint: { every: 30 min, mode: async, to: [node-nvme, hot] } }
  - train: { name: second, model: llama-3-8b, tokens: 50B, sequence: 8192, batch: 128,
             precision: bf16, layout: auto, nodes: 4,
             checkpoint: { every: 20 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

// Made once; tests that change it take a copy.
inline const review::Review& small_review() {
  static const design::Design* const kDesign = new design::Design(design_of(kViewDesign));
  static const review::Review* const kReview =
      new review::Review(review::run_stages(*kDesign, machine::known()));
  return *kReview;
}

// Returns "a b c": the names of an object's fields, sorted.
inline std::string fields_of(const nlohmann::json& object) {
  std::string out;
  for (const auto& [key, value] : object.items()) out += (out.empty() ? "" : " ") + key;
  return out;
}

inline constexpr std::string_view kFieldDesign = R"(
orrery: 1
name: fields
site: { region: usa }
fleet:
  - { name: a, node: dgx-h100, count: 2 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: far, tier: hot, kind: parallel-fs, read: 200 GB/s, write: 100 GB/s, capacity: 200 TB }
workloads:
  - train: { name: words, fleet: a, nodes: 2, model: llama-3-8b, tokens: 20B, sequence: 4096,
             batch: 128, layout: { tp: 2, pp: 2, mbs: 2, recompute: full },
             checkpoint: { every: 30 min, to: [far] } }
)";

inline const review::Review& two_node_review() {
  static const design::Design* const kDesign = new design::Design(design_of(kFieldDesign));
  static const review::Review* const kReview =
      new review::Review(review::run_stages(*kDesign, machine::known()));
  return *kReview;
}

inline constexpr const char* kTwoRuns = R"(
orrery: 1
name: two-runs
site: { region: usa, power: 3 MW, cooling: direct-to-chip-1p, rack: 60 kW }
fleet:
  - { name: train, node: dgx-h100, count: 30, spares: 3, nodes_per_rack: 4 }
fabric:
  compute: { topology: rail-fat-tree, switch: qm9700 }
  storage: { topology: fat-tree, switch: qm9700 }
storage:
  - { tier: hot, kind: parallel-fs, servers: 4, read: 200 GB/s, write: 100 GB/s, capacity: 2 PB }
scheduler: { kind: slurm }
workloads:
  - train: { name: small, model: llama-3-8b, nodes: 4, tokens: 100B, sequence: 4096, batch: 256,
             precision: bf16, layout: { tp: 1, pp: 1 }, checkpoint: { every: 30 min, to: [hot] } }
  - train: { name: large, model: llama-3-70b, nodes: 16, tokens: 100B, sequence: 4096, batch: 512,
             precision: bf16, layout: { tp: 4, pp: 4, mbs: 1 },
             checkpoint: { every: 30 min, to: [hot] } }
economics: { horizon: 4 y, power_price: 0.1 USD/kWh }
)";

}  // namespace orrery::report
