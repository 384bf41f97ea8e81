#include "layers/failure/rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/catalog/shipped_fixture.h"
#include "layers/failure/causes.h"

namespace orrery::failure {
namespace {

std::vector<NodeFailureRate> published() {
  auto all = read_node_failure_rates(
      catalog::shipped().table("calibration/node_failure_rates.csv").value());
  EXPECT_TRUE(all.has_value());
  return all.value_or(std::vector<NodeFailureRate>{});
}

PerSecond rate_of(const char* id) {
  const auto all = published();
  const NodeFailureRate* rate = find_rate(all, id);
  EXPECT_NE(rate, nullptr) << id;
  return rate == nullptr ? PerSecond(0) : rate->per_node;
}

// arXiv 2407.21783 table 5: 419 unexpected in 54 days on 2048 nodes, "3.09 h between"; with the 47
// planned ones 466, 2.78 h.
TEST(Rates, Llama3) {
  EXPECT_NEAR(job_mtbf(2048, rate_of("llama3")) / hours(1), 3.09, 0.01);
  EXPECT_NEAR(job_mtbf(2048, rate_of("llama3-all")) / hours(1), 2.78, 0.01);
  EXPECT_NEAR(419.0 / (54 * 2048) * 1000, 3.79, 0.005);
}

// arXiv 2410.21680: 1.8 h at 16384 GPUs, 0.23 h at 131072.
TEST(Rates, MetaRscProjection) {
  EXPECT_NEAR(job_mtbf(16384.0 / 8, rate_of("meta-rsc-1")) / hours(1), 1.8, 0.01);
  EXPECT_NEAR(job_mtbf(131072.0 / 8, rate_of("meta-rsc-1")) / hours(1), 0.23, 0.006);
}

// Six published runs; by numpy's least squares on ln nodes within 128 .. 2048, and Student's t of
// four degrees: 16.58 at 128 nodes, 3.17 at 1200, 2.13 at 2048, by factors of 2.68 to 2.86.
TEST(Rates, PublishedRunsFailLessANodeTheLargerTheyAre) {
  const auto all = published();
  const auto at = [&](double nodes) { return published_rate(all, nodes); };
  EXPECT_NEAR(at(128).per_node / per_1000_node_days(1), 16.58, 0.02);
  EXPECT_NEAR(at(1200).per_node / per_1000_node_days(1), 3.17, 0.01);
  EXPECT_NEAR(at(2048).per_node / per_1000_node_days(1), 2.13, 0.01);
  EXPECT_NEAR(at(128).factor, 2.68, 0.01);
  EXPECT_NEAR(at(2048).factor, 2.86, 0.01);
  EXPECT_EQ(at(8).per_node, at(128).per_node) << "too few small runs to follow the trend";
  EXPECT_EQ(at(20000).per_node, at(2048).per_node);
  EXPECT_NEAR(at(512).apart, 23.7 / 2.2, 0.01);
  EXPECT_EQ(published_rate({}, 128).per_node, PerSecond(0));
}

TEST(Rates, AFleetsOwnCountNarrowsItsRate) {
  EXPECT_DOUBLE_EQ(own_rate_factor(0), 1.5);
  EXPECT_NEAR(own_rate_factor(419), std::exp(1.2816 * std::sqrt(1.0 / 419 + 0.04)), 1e-12);
  EXPECT_LT(own_rate_factor(419), 1.31);
  EXPECT_GT(own_rate_factor(4), 1.9);
}

TEST(Rates, CausesAddUpToOne) {
  const auto causes =
      read_fault_causes(catalog::shipped().table("calibration/failure_causes.csv").value());
  ASSERT_TRUE(causes);
  // 412 of Llama 3's 419 are no hangs; hangs are the geometric mean of 7 of 419 and one in eight.
  EXPECT_NEAR(share_of(*causes, FaultGroup::hang), std::sqrt(7.0 / 419 * 0.125), 0.001);
  EXPECT_NEAR(share_of(*causes, FaultGroup::accelerator), 268.0 / 412 * 0.955, 0.001);
  EXPECT_NEAR(share_of(*causes, FaultGroup::software), 54.0 / 412 * 0.955, 0.001);
  EXPECT_NEAR(share_of(*causes, FaultGroup::host), 48.0 / 412 * 0.955, 0.001);
  EXPECT_NEAR(share_of(*causes, FaultGroup::network), 42.0 / 412 * 0.955, 0.001);
  EXPECT_EQ(cause_at(*causes, 0).name, "faulty GPU");
  EXPECT_EQ(cause_at(*causes, 0.9999).name, "system memory");
  // A host without accelerators.
  for (double draw = 0; draw < 1; draw += 0.01) {
    EXPECT_FALSE(needs_accelerators(cause_at(*causes, draw, false).group)) << draw;
  }
  EXPECT_EQ(cause_at(*causes, 0, false).name, "software bug");
}

TEST(Rates, LemonsRaiseTheMean) {
  const LemonMix mix{.share = 0.15, .multiplier = 5};
  const PerSecond base = per_1000_node_days(10);
  EXPECT_DOUBLE_EQ(mean_node_rate(base, mix) / base, 0.85 + 0.75);
  EXPECT_NEAR(base_node_rate(mean_node_rate(base, mix), mix) / base, 1, 1e-15);
}

TEST(Rates, OddsGrowWithFailuresAndFallWithQuietTime) {
  const LemonMix mix{.share = 0.05, .multiplier = 10};
  const PerSecond base = per_1000_node_days(4);
  EXPECT_NEAR(lemon_odds(mix, base, 0, Seconds(0)), 0.05 / 0.95, 1e-12);
  EXPECT_GT(lemon_odds(mix, base, 3, days(30)), 1);
  EXPECT_LT(lemon_odds(mix, base, 0, days(30)), 0.05 / 0.95);
}

TEST(Rates, WeibullBurnInFallsAndShapeOneIsConstant) {
  const Weibull infant{.shape = 0.7, .scale = days(500)};
  EXPECT_GT(hazard(infant, days(1)), hazard(infant, days(100)));
  const Weibull flat{.shape = 1, .scale = days(500)};
  EXPECT_NEAR(hazard(flat, days(3)) * days(500), 1, 1e-12);
}

TEST(Rates, AHostOfFourCountsHalf) {
  const auto all = published();
  const NodeFailureRate* rate = find_rate(all, "llama3");
  ASSERT_NE(rate, nullptr);
  EXPECT_DOUBLE_EQ(scaled_to_host(*rate, 4) / rate->per_node, 0.5);
  EXPECT_TRUE(std::isinf(job_mtbf(10, PerSecond(0)).base()));
  EXPECT_EQ(find_rate(all, "no-such-fleet"), nullptr);
}

TEST(Rates, ARowWithoutRangeIsRefused) {
  const auto table = CsvTable::parse(
      "id,gpus_per_node,failures_per_1000_node_days,low,high,source,confidence\nx,8,3,4,5,s,low\n",
      "bad.csv");
  ASSERT_TRUE(table.has_value());
  const auto rates = read_node_failure_rates(*table);
  ASSERT_FALSE(rates.has_value());
  EXPECT_EQ(rates.error().front().code, "failure.rate");
  EXPECT_EQ(rates.error().front().place.line, 2);
}

}  // namespace
}  // namespace orrery::failure
