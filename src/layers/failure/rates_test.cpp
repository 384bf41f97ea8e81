#include "layers/failure/rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/catalog/shipped_fixture.h"
#include "layers/failure/causes.h"
#include "layers/failure/lemon.h"
#include "layers/failure/setbacks.h"
#include "layers/failure/spares.h"

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

// arXiv 2407.21783 table 5: 419 unexpected interruptions in 54 days on 2048 nodes, 3.09 h apart;
// with the 47 planned ones 466, 2.78 h apart.
TEST(Rates, llama3) {
  EXPECT_NEAR(job_mtbf(2048, rate_of("llama3")) / hours(1), 3.09, 0.01);
  EXPECT_NEAR(job_mtbf(2048, rate_of("llama3-all")) / hours(1), 2.78, 0.01);
  EXPECT_NEAR(419.0 / (54 * 2048) * 1000, 3.79, 0.005);
}

// arXiv 2410.21680: 1.8 h at 16384 GPUs, 0.23 h at 131072.
TEST(Rates, meta_rsc_projection) {
  EXPECT_NEAR(job_mtbf(16384.0 / 8, rate_of("meta-rsc-1")) / hours(1), 1.8, 0.01);
  EXPECT_NEAR(job_mtbf(131072.0 / 8, rate_of("meta-rsc-1")) / hours(1), 0.23, 0.006);
}

// Six published runs. By numpy's least squares on ln nodes within 128 .. 2048 and Student's t with
// four degrees of freedom: 16.58 at 128 nodes, 3.17 at 1200, 2.13 at 2048, with factors of 2.68 to
// 2.86.
TEST(Rates, published_runs_fail_less_a_node_the_larger_they_are) {
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

TEST(Rates, fleets_own_count_narrows_its_rate) {
  EXPECT_DOUBLE_EQ(own_rate_factor(0), 1.5);
  EXPECT_NEAR(own_rate_factor(419), std::exp(1.2816 * std::sqrt(1.0 / 419 + 0.04)), 1e-12);
  EXPECT_LT(own_rate_factor(419), 1.31);
  EXPECT_GT(own_rate_factor(4), 1.9);
}

TEST(Rates, causes_add_up_to_one) {
  const auto causes =
      read_fault_causes(catalog::shipped().table("calibration/failure_causes.csv").value());
  ASSERT_TRUE(causes);
  // 412 of Llama 3's 419 are not hangs; the share of hangs is the geometric mean of 7 of 419 and
  // one in eight.
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

TEST(Rates, lemons_raise_the_mean_rate) {
  const LemonMix mix{.share = 0.15, .multiplier = 5};
  const PerSecond base = per_1000_node_days(10);
  EXPECT_DOUBLE_EQ(mean_node_rate(base, mix) / base, 0.85 + 0.75);
  EXPECT_NEAR(base_node_rate(mean_node_rate(base, mix), mix) / base, 1, 1e-15);
}

TEST(Rates, odds_grow_with_failures_and_fall_with_quiet_time) {
  const LemonMix mix{.share = 0.05, .multiplier = 10};
  const PerSecond base = per_1000_node_days(4);
  EXPECT_NEAR(lemon_odds(mix, base, 0, Seconds(0)), 0.05 / 0.95, 1e-12);
  EXPECT_GT(lemon_odds(mix, base, 3, days(30)), 1);
  EXPECT_LT(lemon_odds(mix, base, 0, days(30)), 0.05 / 0.95);
}

TEST(Rates, weibull_burn_in_falls_and_shape_one_is_constant) {
  const Weibull infant{.shape = 0.7, .scale = days(500)};
  EXPECT_GT(hazard(infant, days(1)), hazard(infant, days(100)));
  const Weibull flat{.shape = 1, .scale = days(500)};
  EXPECT_NEAR(hazard(flat, days(3)) * days(500), 1, 1e-12);
}

TEST(Rates, host_of_four_gpus_counts_half) {
  const auto all = published();
  const NodeFailureRate* rate = find_rate(all, "llama3");
  ASSERT_NE(rate, nullptr);
  EXPECT_DOUBLE_EQ(scaled_to_host(*rate, 4) / rate->per_node, 0.5);
  EXPECT_TRUE(std::isinf(job_mtbf(10, PerSecond(0)).base()));
  EXPECT_EQ(find_rate(all, "no-such-fleet"), nullptr);
}

TEST(Rates, row_without_range_is_refused) {
  const auto table = CsvTable::parse(
      "id,gpus_per_node,failures_per_1000_node_days,low,high,source,confidence\nx,8,3,4,5,s,low\n",
      "bad.csv");
  ASSERT_TRUE(table.has_value());
  const auto rates = read_node_failure_rates(*table);
  ASSERT_FALSE(rates.has_value());
  EXPECT_EQ(rates.error().front().code, "failure.rate");
  EXPECT_EQ(rates.error().front().place.line, 2);
}

// n runs: two at 128 nodes with 2r, 0.3 above and below in the logarithm, two at 2048 with r/2, the
// others at 512 with r. The line is r (512/nodes)^(1/2) for any n; sum of squares 0.18, Sxx = 4
// ln(4)^2.
std::vector<NodeFailureRate> runs_on_a_line(std::size_t n) {
  const auto run = [](double nodes, double rate) {
    return NodeFailureRate{.per_node = PerSecond(rate), .nodes = nodes, .interruptions = true};
  };
  std::vector<NodeFailureRate> all{run(128, 2e-7 * std::exp(0.3)), run(128, 2e-7 * std::exp(-0.3)),
                                   run(2048, 5e-8), run(2048, 5e-8)};
  while (all.size() < n) all.push_back(run(512, 1e-7));
  return all;
}

TEST(Rates, rate_interval_follows_student_t) {
  // The 90th percentile for 2, 3, ... degrees of freedom (tables); beyond ten the normal one.
  const double student[] = {1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.2816};
  for (std::size_t n = 4; n <= 13; ++n) {
    const auto all = runs_on_a_line(n);
    const double count = static_cast<double>(n);
    const double s = std::sqrt(0.18 / (count - 2));
    const PublishedRate middle = published_rate(all, 512);
    EXPECT_NEAR(middle.per_node.base(), 1e-7, 1e-17) << n;
    EXPECT_NEAR(middle.factor, std::exp(student[n - 4] * s * std::sqrt(1 + 1 / count)), 1e-9) << n;
    EXPECT_EQ(middle.fleets, count);
    EXPECT_NEAR(middle.apart, 4 * std::exp(0.3), 1e-9);
    const PublishedRate small = published_rate(all, 128);
    EXPECT_NEAR(small.per_node.base(), 2e-7, 1e-17) << n;
    EXPECT_NEAR(small.factor, std::exp(student[n - 4] * s * std::sqrt(1.25 + 1 / count)), 1e-9);
    EXPECT_NEAR(published_rate(all, 1024).per_node.base(), 1e-7 / std::sqrt(2.0), 1e-17);
  }
  EXPECT_EQ(published_rate(runs_on_a_line(4), 100).per_node,
            published_rate(runs_on_a_line(4), 128).per_node);
  auto three = runs_on_a_line(4);
  three[0].interruptions = false;  // hardware failures alone are not a run's count
  EXPECT_EQ(published_rate(three, 512).per_node.base(), 0);
  EXPECT_EQ(published_rate(three, 512).factor, 1);
  EXPECT_EQ(published_rate(three, 512).fleets, 0);
  EXPECT_EQ(published_rate(three, 512).apart, 1);
}

TEST(Rates, hosts_count_by_their_accelerators) {
  auto all = runs_on_a_line(5);
  all[4].gpus_per_node = 4;  // 1024 hosts with four GPUs at half the rate are the same fleet
  all[4].nodes = 1024;
  all[4].per_node = PerSecond(5e-8);
  EXPECT_NEAR(published_rate(all, 512).per_node.base(), 1e-7, 1e-17);
  EXPECT_NEAR(published_rate(all, 128).per_node.base(), 2e-7, 1e-17);
  EXPECT_DOUBLE_EQ(scaled_to_host(all[4], 8).base(), 1e-7);
  EXPECT_DOUBLE_EQ(scaled_to_host(all[4], 3).base(), 3.75e-8);
}

TEST(Rates, rows_out_of_order_are_refused) {
  const std::string columns =
      "id,gpus_per_node,failures_per_1000_node_days,low,high,nodes,counts\n";
  const auto read = [&](const std::string& rows) {
    return read_node_failure_rates(CsvTable::parse(columns + rows, "r.csv").value());
  };
  const auto good = read("a,4,3,3,3,,hardware\nb,8,2,1,5,128,interruptions\n");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->at(0).gpus_per_node, 4);
  EXPECT_EQ(good->at(0).nodes, 1) << "where it is not said";
  EXPECT_FALSE(good->at(0).interruptions);
  EXPECT_EQ(good->at(1).low, per_1000_node_days(1));
  EXPECT_EQ(good->at(1).per_node, per_1000_node_days(2));
  EXPECT_EQ(good->at(1).high, per_1000_node_days(5));
  EXPECT_TRUE(good->at(1).interruptions);
  EXPECT_EQ(find_rate(*good, "b"), &good->at(1));
  EXPECT_EQ(find_rate(*good, "c"), nullptr);
  const auto bad = read("a,8,2,1,5,1,\nb,8,2,2.1,5,1,\nc,8,2,1,1.9,1,\nd,,2,1,5,1,\n");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 3u);
  EXPECT_EQ(bad.error()[0].code, "failure.rate");
  EXPECT_EQ(bad.error()[0].place.file, "r.csv");
  EXPECT_EQ(bad.error()[0].place.line, 3);
  EXPECT_EQ(bad.error()[0].place.column, 0);
}

std::vector<NodeFailureRate> four_runs(int gpus_per_node) {
  // The rate and the number of eight-accelerator nodes, expressed in nodes of another size.
  const double part = gpus_per_node / 8.0;
  std::vector<NodeFailureRate> runs;
  for (const auto& [nodes, rate] :
       {std::pair{150.0, 20.0}, {400.0, 11.0}, {900.0, 9.0}, {1800.0, 4.0}}) {
    NodeFailureRate run{.id = "r", .gpus_per_node = gpus_per_node};
    run.per_node = per_1000_node_days(rate * part);
    run.nodes = nodes / part;
    run.interruptions = true;
    runs.push_back(run);
  }
  return runs;
}

TEST(Rates, published_rate_is_independent_of_node_size) {
  const PublishedRate of_eight = published_rate(four_runs(8), 500);
  const PublishedRate of_four = published_rate(four_runs(4), 500);
  EXPECT_NEAR(of_four.per_node / of_eight.per_node, 1, 1e-9);
  EXPECT_NEAR(of_four.factor / of_eight.factor, 1, 1e-9);
  EXPECT_NEAR(of_eight.apart, 5, 1e-9);
  EXPECT_EQ(of_eight.fleets, 4);
  auto three = four_runs(8);
  three.pop_back();
  EXPECT_EQ(published_rate(three, 500).per_node, PerSecond(0)) << "three say nothing";
  const NodeFailureRate quad{.id = "q", .gpus_per_node = 4, .per_node = PerSecond(1)};
  EXPECT_EQ(scaled_to_host(quad, 8), PerSecond(2));
  const auto table = CsvTable::parse(
      "id,failures_per_1000_node_days,low,high,gpus_per_node\nx,5,1,4,8\n", "r.csv");
  ASSERT_TRUE(table);
  EXPECT_FALSE(read_node_failure_rates(*table)) << "a value above its own interval";
}

}  // namespace
}  // namespace orrery::failure
