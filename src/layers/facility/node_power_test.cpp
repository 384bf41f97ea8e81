// Node power against the measured 8xH100 node and MLPerf Training v4.0 LoRA on 1, 8 and 64 nodes.
#include "layers/facility/node_power.h"

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"

namespace orrery::facility {
namespace {

NodePower dgx_h100() {
  return {.nameplate = kilowatts(10.2),
          .peak = kilowatts(8.4),
          .idle = kilowatts(1.9),
          .accelerators = kilowatts(5.6)};
}

TEST(NodePower, reads_the_catalog_row_of_a_dgx_h100) {
  const auto catalog = catalog::load_embedded_catalog();
  ASSERT_TRUE(catalog);
  const catalog::Node* node = catalog->node("dgx-h100");
  ASSERT_NE(node, nullptr);
  const auto power = node_power_of(*node, catalog->accelerator(node->accelerator_id));
  ASSERT_TRUE(power);
  EXPECT_NEAR(power->nameplate / kilowatts(1), 10.2, 1e-9);
  EXPECT_NEAR(power->peak / kilowatts(1), 8.4, 0.01);  // IEEE Access 2025 (Latif et al.)
  EXPECT_NEAR(power->accelerators / kilowatts(1), 5.6, 1e-9);
  EXPECT_FALSE(power->assumed_idle);
}

TEST(NodePower, a_cloud_instance_has_no_power_and_every_other_node_is_ordered) {
  const auto catalog = catalog::load_embedded_catalog();
  ASSERT_TRUE(catalog);
  int with_power = 0;
  for (const catalog::Node& node : catalog->nodes) {
    const auto power = node_power_of(node, catalog->accelerator(node.accelerator_id));
    EXPECT_EQ(power.has_value(), node.max_power.has_value()) << node.id;
    if (!power) continue;
    ++with_power;
    EXPECT_LT(power->idle, power->peak) << node.id;
    EXPECT_LE(power->peak, power->nameplate) << node.id;
  }
  EXPECT_GE(with_power, 12);
}

// arXiv 2506.14551: an 8xH100 node in intensive training draws 0.76 of its 10.2 kW on average; the
// shares that give it are those of a step with about a quarter of its time outside matrix work.
TEST(NodePower, training_averages_three_quarters_of_the_rating) {
  const auto phases =
      power_phases(dgx_h100(), {.matrix = 0.77, .memory = 0.11, .communication = 0.12});
  EXPECT_NEAR(mean_power(phases) / kilowatts(10.2), 0.76, 0.01);
  EXPECT_NEAR(peak_power(phases) / kilowatts(1), 8.4, 1e-9);
}

TEST(NodePower, shares_sum_to_one_even_where_they_were_too_many) {
  const auto phases = power_phases(dgx_h100(), {.matrix = 0.9, .communication = 0.6});
  double sum = 0;
  for (const catalog::PowerPhase& p : phases) sum += p.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  const auto idle = power_phases(dgx_h100(), {});
  EXPECT_EQ(mean_power(idle), dgx_h100().idle);
  EXPECT_EQ(lowest_power(idle), dgx_h100().idle);
}

// SMC, MLPerf Training v4.0, Llama 2 70B LoRA, immersion-cooled 8xH100 nodes. The times are given;
// what the shares of time say about power is the model's.
struct LoraRun {
  int nodes;
  double minutes;
  double node_kw;  // measured, DC, network included
  double energy_mj;
};
constexpr LoraRun kLora[] = {
    {1, 29.10, 6.741, 12.13}, {8, 5.40, 7.859, 20.64}, {64, 2.10, 5.676, 46.57}};
// The 8-node run carries 2.01 kW of network a node: a pod fabric of 16 kW whatever the job's size.
constexpr double kFabricKw = 8 * 2.01;

double lora_node_kw(const LoraRun& run) {
  NodePower node{.nameplate = kilowatts(9.0), .idle = kilowatts(1.6)};
  node.peak = node.nameplate * kPeakShareOfNameplate;
  // Alone, a node spends 0.73 of its time in matrix work (which makes its 6.74 kW); the same work
  // takes a smaller share of a longer-than-perfect run.
  const double scaling = kLora[0].minutes / (run.nodes * run.minutes);
  const double matrix = 0.733 * scaling;
  const auto phases = power_phases(node, {.matrix = matrix, .communication = 1 - matrix});
  return mean_power(phases) / kilowatts(1) + (run.nodes > 1 ? kFabricKw / run.nodes : 0);
}

TEST(NodePower, lora_on_1_8_64_nodes_shows_both_effects_of_strong_scaling) {
  const double one = lora_node_kw(kLora[0]);
  for (const LoraRun& run : kLora) {
    const double kw = lora_node_kw(run);
    EXPECT_NEAR(kw, run.node_kw, 0.05 * run.node_kw) << run.nodes << " nodes";
    const double ratio = run.nodes * run.minutes * kw / (kLora[0].minutes * one);
    const double measured = run.energy_mj / kLora[0].energy_mj;
    EXPECT_NEAR(ratio, measured, 0.07 * measured) << run.nodes << " nodes";
  }
  EXPECT_LT(lora_node_kw(kLora[2]), one);  // a node that waits more draws less
}

}  // namespace
}  // namespace orrery::facility
