// Every planned value of a small design by its name, its labels, its help and where it comes from.
#include <gtest/gtest.h>

#include "output/emit/prometheus_plan.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kPlannedDesign = R"(
orrery: 1
name: planned
sites:
  - { name: north, region: deu }
  - { name: empty, region: fra }
fleet:
  - { name: gpus, site: north, node: dgx-h100, count: 4, spares: 1 }
  - { name: red, site: north, node: mi300x-platform, count: 2 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: files, tier: hot, kind: nfs, capacity: 97 TB, read: 16 GB/s, write: 8 GB/s,
      first_byte: 4 ms }
scheduler: { kind: slurm }
workloads:
  - train: { name: words, fleet: gpus, nodes: 4, model: llama-3-8b, tokens: 20B, batch: 256,
             dataset: { kind: text, size: 100 GB, tier: files },
             checkpoint: { every: 1 h, to: [files] } }
)";

std::string told_value(const PlannedValue& v) {
  std::string labels;
  for (const auto& [name, value] : v.labels) {
    labels += (labels.empty() ? "" : ",") + name + "=" + value;
  }
  return v.metric + "{" + labels + "}: " + v.help;
}

TEST(PlannedNames, OfASmallDesign) {
  const auto r = reviewed(read_text(kPlannedDesign));
  r->review->trains[0].failure.mean_in_repair = 0.5;  // so that there are spares
  std::string all;
  for (const PlannedValue& v : planned_values(*r->review)) {
    if (v.labels.empty() || v.labels[0].second != "node-nvme") all += told_value(v) + "\n";
  }
  EXPECT_EQ(all,
            "checkpoint_interval_seconds{workload=words}: Time between two saves.\n"
            "failures_per_day{workload=words}: Failures that interrupt a workload, in a day.\n"
            "fleet_gpu_limit_watts{fleet=gpus}: Power limit of all GPUs of a fleet.\n"
            "goodput_ratio{workload=words}: Share of wall time that becomes training.\n"
            "gpu_power_limit_watts{fleet=gpus}: Power limit of one GPU.\n"
            "gpu_power_watts{workload=words}: Mean draw of one GPU in a step.\n"
            "gpus{fleet=gpus}: Accelerators of a fleet in service.\n"
            "gpus{fleet=red}: Accelerators of a fleet in service.\n"
            "matrix_share_ratio{workload=words}: Share of a step in matrix work.\n"
            "mfu_ratio{workload=words}: Model FLOP utilisation of a step.\n"
            "node_failures_per_month{}: Failures of one node in 30 days.\n"
            "nodes{fleet=gpus}: Hosts of a fleet in service.\n"
            "nodes{fleet=red}: Hosts of a fleet in service.\n"
            "nodes_in_repair{}: Nodes of training runs in repair, on average.\n"
            "restart_seconds{workload=words}: From a failure to useful work again.\n"
            "site_it_watts{site=north}: Mean draw of a site's machines.\n"
            "site_pue_factor{site=north}: Power usage effectiveness.\n"
            "spare_nodes{}: Nodes that must stand by so that runs are rarely short.\n"
            "step_time_seconds{workload=words}: Time of one training step.\n"
            "tier_capacity_bytes{tier=files}: Usable capacity of a tier.\n"
            "tier_latency_seconds{tier=files}: Time to the first byte of a read.\n"
            "tier_read_bytes_per_second{tier=files}: Read rate of a tier (of one node where it is "
            "local).\n"
            "tier_write_bytes_per_second{tier=files}: Write rate of a tier (of one node where it "
            "is local).\n"
            "time_share_ratio{kind=productive,workload=words}: Share of a workload's wall time, by "
            "kind.\n"
            "time_share_ratio{kind=checkpoint,workload=words}: Share of a workload's wall time, by "
            "kind.\n"
            "time_share_ratio{kind=lost,workload=words}: Share of a workload's wall time, by "
            "kind.\n"
            "time_share_ratio{kind=restart,workload=words}: Share of a workload's wall time, by "
            "kind.\n"
            "useful_units_per_second{workload=words}: Tokens or samples a second, at goodput.\n");
}

Estimate planned_at(const review::Review& r, std::string_view metric, std::string_view label) {
  for (const PlannedValue& v : planned_of(planned_values(r), metric)) {
    if (v.labels.empty() || v.labels[0].second == label) return v.estimate;
  }
  ADD_FAILURE() << metric;
  return {};
}

// 700 W of each of 32; half of 4 ms either way; shares 30 % below and 40 % above.
TEST(PlannedNames, ValuesByHand) {
  const auto r = reviewed(read_text(kPlannedDesign));
  review::TrainView& t = r->review->trains[0];
  t.shares = {.productive = 0.9, .saving = 0.05, .lost_work = 0.03, .restarting = 0.02};
  t.step.matrix_share = 0.6;
  t.step.error = 0.25;
  t.step.basis = Basis::vendor;
  t.step.reference = "ref";
  EXPECT_EQ(planned_at(*r->review, "nodes", "gpus").value, 4);
  EXPECT_EQ(planned_at(*r->review, "gpus", "red").value, 16);
  EXPECT_EQ(planned_at(*r->review, "gpus", "gpus").reference, "the design");
  EXPECT_DOUBLE_EQ(planned_at(*r->review, "fleet_gpu_limit_watts", "gpus").value, 32 * 700);
  const Estimate latency = planned_at(*r->review, "tier_latency_seconds", "files");
  EXPECT_NEAR(latency.value, 0.004, 1e-12);
  EXPECT_NEAR(latency.low, 0.002, 1e-12);
  EXPECT_NEAR(latency.high, 0.006, 1e-12);
  EXPECT_EQ(latency.basis, Basis::derived);
  EXPECT_EQ(latency.reference, "the design");
  const Estimate local = planned_at(*r->review, "tier_latency_seconds", "node-nvme");
  EXPECT_EQ(local.basis, Basis::assumed);
  EXPECT_EQ(local.reference, "docs/models/storage.md");
  const std::pair<const char*, double> shares[] = {
      {"productive", 0.9}, {"checkpoint", 0.05}, {"lost", 0.03}, {"restart", 0.02}};
  for (const auto& [kind, share] : shares) {
    const Estimate e = planned_at(*r->review, "time_share_ratio", kind);
    EXPECT_NEAR(e.value, share, 1e-12) << kind;
    EXPECT_NEAR(e.low, 0.7 * share, 1e-12) << kind;
    EXPECT_NEAR(e.high, 1.4 * share, 1e-12) << kind;
  }
  const Estimate matrix = planned_at(*r->review, "matrix_share_ratio", "words");
  EXPECT_NEAR(matrix.low, 0.45, 1e-12);
  EXPECT_NEAR(matrix.high, 0.75, 1e-12);
  EXPECT_EQ(matrix.basis, Basis::vendor);
  EXPECT_EQ(matrix.reference, "ref");
}

// The fleet of the largest rate tells, and only owned fleets do.
TEST(PlannedNames, OfTwoRuns) {
  const auto r = reviewed(read_text(kPlannedDesign));
  review::TrainView& first = r->review->trains[0];
  first.failure.node_rate = 1.0 / days(60);
  first.failure.rate_low = 0.5;
  first.failure.rate_high = 3;
  first.failure.rate_reference = "paper";
  first.failure.mean_in_repair = 0.25;
  review::TrainView second = first;
  second.failure.node_rate = 1.0 / days(20);
  second.failure.mean_in_repair = 0.5;
  r->review->trains.push_back(second);
  const Estimate monthly = planned_at(*r->review, "node_failures_per_month", "");
  EXPECT_NEAR(monthly.value, 1.5, 1e-9);
  EXPECT_NEAR(monthly.low, 0.75, 1e-9);
  EXPECT_NEAR(monthly.high, 4.5, 1e-9);
  EXPECT_EQ(monthly.basis, Basis::paper);
  EXPECT_EQ(monthly.reference, "paper");
  EXPECT_NEAR(planned_at(*r->review, "nodes_in_repair", "").value, 0.75, 1e-12);
  // A mean of 0.25 is above 1 for 0.0265 and above 2 for 0.0022; of 0.5 above 2 for 0.0144 and
  // above 3 for 0.0018.
  EXPECT_EQ(planned_at(*r->review, "spare_nodes", "").value, 2 + 3);
}

}  // namespace
}  // namespace orrery::emit
