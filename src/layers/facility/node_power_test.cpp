// Node power compared with the measured 8xH100 node and MLPerf Training v4.0 LoRA on 1, 8 and 64
// nodes.
#include "layers/facility/node_power.h"

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"
#include "layers/facility/facility_fixture.h"

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

TEST(NodePower, cloud_instance_has_no_power_and_every_other_node_is_ordered) {
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
// shares that give this are those of a step with about a quarter of its time outside matrix work.
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
// the power that follows from the shares of time comes from the model.
struct LoraRun {
  int nodes;
  double minutes;
  double node_kw;  // measured, DC, network included
  double energy_mj;
};
constexpr LoraRun kLora[] = {
    {1, 29.10, 6.741, 12.13}, {8, 5.40, 7.859, 20.64}, {64, 2.10, 5.676, 46.57}};
// The 8-node run includes 2.01 kW of network per node: a pod fabric of 16 kW whatever the job's
// size.
constexpr double kFabricKw = 8 * 2.01;

double lora_node_kw(const LoraRun& run) {
  NodePower node{.nameplate = kilowatts(9.0), .idle = kilowatts(1.6)};
  node.peak = node.nameplate * kPeakShareOfNameplate;
  // Alone, a node spends 0.73 of its time in matrix work (which gives its 6.74 kW); the same work
  // is a smaller share of a run that scales less than perfectly.
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

catalog::Node bare_node(double max_kw) {
  catalog::Node node;
  node.accelerators = 4;
  node.max_power = kilowatts(max_kw);
  node.provenance.reference = "nodes/bare";
  return node;
}

TEST(NodePower, missing_rows_use_shares_of_the_nameplate) {
  const auto power = node_power_of(bare_node(20), nullptr);
  ASSERT_TRUE(power);
  EXPECT_NEAR(power->nameplate / kilowatts(1), 20, 1e-12);
  EXPECT_NEAR(power->peak / kilowatts(1), 20 * 8.4 / 10.2, 1e-12);
  EXPECT_NEAR(power->idle / kilowatts(1), 3.8, 1e-12);
  EXPECT_TRUE(power->assumed_idle);
  EXPECT_NEAR(power->accelerators / kilowatts(1), 11, 1e-12);
  EXPECT_EQ(power->reference, "nodes/bare");
  catalog::Node cloud = bare_node(20);
  cloud.max_power.reset();
  EXPECT_FALSE(node_power_of(cloud, nullptr));
}

TEST(NodePower, catalog_rows_override_shares) {
  catalog::Node node = bare_node(20);
  node.idle_power = kilowatts(3);
  node.typical_train_power = kilowatts(17);
  catalog::Accelerator part;
  part.tdp = kilowatts(1.2);
  const auto power = node_power_of(node, &part);
  EXPECT_NEAR(power->peak / kilowatts(1), 17, 1e-12) << "8.4 of 10.2 would be 16.47";
  EXPECT_NEAR(power->idle / kilowatts(1), 3, 1e-12);
  EXPECT_FALSE(power->assumed_idle);
  EXPECT_NEAR(power->accelerators / kilowatts(1), 4.8, 1e-12);
  node.typical_train_power = kilowatts(9);
  EXPECT_NEAR(node_power_of(node, &part)->peak / kilowatts(1), 20 * 8.4 / 10.2, 1e-12);
  part.tdp = kilowatts(6);
  EXPECT_NEAR(node_power_of(node, &part)->accelerators / kilowatts(1), 20, 1e-12) << "no more";
  part.tdp.reset();
  EXPECT_NEAR(node_power_of(node, &part)->accelerators / kilowatts(1), 11, 1e-12);
}

// Six kW of accelerators sustain 4.8 at a peak of eight tenths.
TEST(NodePower, cap_lowers_nameplate_and_peak) {
  const auto at = [](double kw) { return capped(ten_kilowatts(), kilowatts(kw)); };
  EXPECT_NEAR(at(7).nameplate / kilowatts(1), 10, 1e-12);
  EXPECT_NEAR(at(7).peak / kilowatts(1), 8, 1e-12);
  EXPECT_NEAR(at(5).nameplate / kilowatts(1), 9, 1e-12);
  EXPECT_NEAR(at(5).peak / kilowatts(1), 8, 1e-12);
  EXPECT_NEAR(at(3).nameplate / kilowatts(1), 7, 1e-12);
  EXPECT_NEAR(at(3).peak / kilowatts(1), 8 - 1.8, 1e-12);
  EXPECT_NEAR(at(3).idle / kilowatts(1), 2, 1e-12);
  NodePower busy = ten_kilowatts();
  busy.idle = kilowatts(6.5);
  EXPECT_NEAR(capped(busy, kilowatts(1)).nameplate / kilowatts(1), 6.5, 1e-12);
  EXPECT_NEAR(capped(busy, kilowatts(1)).peak / kilowatts(1), 6.5, 1e-12);
  NodePower flat = ten_kilowatts();
  flat.peak = flat.nameplate;
  EXPECT_NEAR(capped(flat, kilowatts(3)).peak / kilowatts(1), 7, 1e-12);
}

TEST(NodePower, phases_lie_between_idle_and_peak) {
  const auto phases = power_phases(
      ten_kilowatts(), {.matrix = 0.4, .memory = 0.2, .communication = 0.15, .checkpoint = 0.05});
  const char* names[] = {"matrix work", "memory work", "exposed communication", "checkpoint",
                         "idle"};
  const double shares[] = {0.4, 0.2, 0.15, 0.05, 0.2};
  const double kw[] = {8, 2 + 6 * 0.57, 2 + 6 * 0.57, 2 + 6 * 0.15, 2};
  ASSERT_EQ(phases.size(), 5U);
  double mean = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(phases[i].name, names[i]);
    EXPECT_NEAR(phases[i].share, shares[i], 1e-12);
    EXPECT_NEAR(phases[i].node_power / kilowatts(1), kw[i], 1e-12);
    mean += shares[i] * kw[i];
  }
  EXPECT_NEAR(mean_power(phases) / kilowatts(1), mean, 1e-12);
  EXPECT_NEAR(peak_power(phases) / kilowatts(1), 8, 1e-12);
  EXPECT_NEAR(lowest_power(phases) / kilowatts(1), 2, 1e-12);
  // 0.8 + 0.4 + 0.2 + 0.1 of the time is scaled by two thirds, and none is idle.
  const auto many = power_phases(
      ten_kilowatts(), {.matrix = 0.8, .memory = 0.4, .communication = 0.2, .checkpoint = 0.1});
  EXPECT_NEAR(many[0].share, 0.8 / 1.5, 1e-12);
  EXPECT_NEAR(many[3].share, 0.1 / 1.5, 1e-12);
  EXPECT_EQ(many[4].share, 0);
  EXPECT_NEAR(lowest_power(many) / kilowatts(1), 2.9, 1e-12) << "no time is idle";
  const auto memory = power_phases(ten_kilowatts(), {.memory = 1});
  EXPECT_NEAR(peak_power(memory) / kilowatts(1), 2 + 6 * 0.57, 1e-12) << "no time is matrix work";
  EXPECT_EQ(mean_power({}), Watts());
  EXPECT_EQ(peak_power({}), Watts());
  EXPECT_EQ(lowest_power({}), Watts());
}

}  // namespace
}  // namespace orrery::facility
