// Laws of the closed forms and of the detector, each by a way of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "layers/failure/causes.h"
#include "layers/failure/effective_time.h"
#include "layers/failure/interval.h"
#include "layers/failure/lemon.h"
#include "layers/failure/lifetime.h"
#include "layers/failure/rates.h"
#include "layers/failure/straggler.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

Result<std::vector<FaultCause>> causes_in(const std::string& rows) {
  const auto table =
      CsvTable::parse("cause,group,weight,scope,keeps_disk,sight\n" + rows, "causes.csv");
  EXPECT_TRUE(table);
  return read_fault_causes(*table);
}

TEST(FailureLaws, a_cause_needs_all_it_says_and_shares_follow_the_weights) {
  const auto causes = causes_in(
      "gpu,accelerator,3,host,no,health\nnic,network,1,host,yes,timeout\nbug,software,4,process,"
      "yes,silent\nhang,hang,2,process,yes,timeout\n");
  ASSERT_TRUE(causes);
  EXPECT_DOUBLE_EQ((*causes)[0].share, 0.3);
  EXPECT_DOUBLE_EQ((*causes)[2].share, 0.4);
  EXPECT_FALSE((*causes)[0].keeps_disk);
  EXPECT_TRUE((*causes)[1].keeps_disk);
  EXPECT_DOUBLE_EQ(share_of(*causes, FaultGroup::network), 0.1);
  // Every draw gives a cause as often as its share says.
  const auto drawn = [&](bool has_accelerators) {
    std::map<std::string, int> counts;
    for (int i = 0; i < 1000; ++i) {
      ++counts[cause_at(*causes, (i + 0.5) / 1000, has_accelerators).name];
    }
    return counts;
  };
  EXPECT_EQ(drawn(true),
            (std::map<std::string, int>{{"gpu", 300}, {"nic", 100}, {"bug", 400}, {"hang", 200}}));
  // Without accelerators there is neither of the two, and the others keep their proportion.
  EXPECT_EQ(drawn(false), (std::map<std::string, int>{{"nic", 200}, {"bug", 800}}));
  for (const char* bad :
       {"x,host,0,host,yes,health\n", "x,host,-1,host,yes,health\n", "x,host,1,host,maybe,health\n",
        "x,moon,1,host,yes,health\n", "x,host,1,hall,yes,health\n", "x,host,1,host,yes,guess\n"}) {
    const auto refused = causes_in(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().front().code, "failure.cause");
  }
}

// The parts of the lost time stand to one another as their first-order shares do.
TEST(FailureLaws, lost_time_is_shared_by_what_loses_it) {
  const EffectiveTimeInput in{.interval = hours(1),
                              .save_stall = minutes(2),
                              .mtbf = hours(20),
                              .restart = minutes(12),
                              .queue = minutes(3),
                              .unsafe_window = minutes(10)};
  const TimeShares s = time_shares(in);
  EXPECT_NEAR(s.productive + s.saving + s.lost_work + s.restarting, 1, 1e-12);
  EXPECT_NEAR(s.lost_work / s.restarting, (30.0 + 10) / (12 + 3), 1e-9);
  EXPECT_NEAR(s.saving / s.restarting, (2.0 / 60) / (15.0 / (20 * 60)), 1e-9);
  // Where nothing fails only the saves are lost.
  EffectiveTimeInput never = in;
  never.mtbf = Seconds(INFINITY);
  EXPECT_NEAR(exact_efficiency(never), 60.0 / 62, 1e-12);
  const Seconds best = exact_interval(minutes(1), hours(10));
  EXPECT_EQ(choose_interval({.save_stall = minutes(1), .mtbf = hours(10), .drain = best}).limit,
            IntervalLimit::optimum)
      << "a drain as long as the optimum holds nothing up";
}

TEST(FailureLaws, a_fleets_rate_and_a_nodes_odds_are_those_of_the_page) {
  const LemonPrior prior{.mix = {.share = 0.02, .multiplier = 5},
                         .rate = per_1000_node_days(10),
                         .rate_failures = 3,
                         .memory = days(20)};
  // E = tau (1 - e^(-t/tau)); rate = (a + w) / (a/rate_0 + n E).
  const double exposure = 20 * (1 - std::exp(-10.0 / 20));  // days
  const double rate = (3 + 7) / (3 / 0.01 + 500 * exposure);
  EXPECT_NEAR(fleet_rate(7, 500, days(10), prior) * days(1), rate, 1e-12);
  const double base = rate / (0.98 + 0.02 * 5);
  const double odds = 0.02 / 0.98 * std::pow(5, 2.5) * std::exp(-(5 - 1) * base * exposure);
  const LemonEvidence evidence{
      .node_weight = 2.5, .other_weight = 7, .other_nodes = 500, .watched = days(10)};
  EXPECT_NEAR(lemon_odds(evidence, prior) / odds, 1, 1e-9);
  // Prior odds times the Poisson likelihood ratio.
  const double failures = 3, expected = 2;
  const auto poisson = [&](double mean) { return std::exp(-mean) * std::pow(mean, failures); };
  EXPECT_NEAR(lemon_odds({.share = 0.1, .multiplier = 4}, PerSecond(0.02), failures, seconds(100)) /
                  (0.1 / 0.9 * poisson(4 * expected) / poisson(expected)),
              1, 1e-9);
  EXPECT_NEAR(life_at({.shape = 3, .scale = days(10)}, 0.5) / days(10),
              std::cbrt(std::numbers::ln2), 1e-12)
      << "the median of a Weibull";
}

std::vector<NodeFailureRate> four_runs(int gpus_per_node) {
  // Eight accelerators' worth of rate and nodes, said in nodes of another size.
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

TEST(FailureLaws, published_rates_do_not_depend_on_the_size_of_a_node) {
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

TEST(FailureLaws, the_slowest_of_two_is_a_deviation_over_root_pi_late) {
  EXPECT_NEAR(straggler_factor({.ranks = 2, .deviation = 0.1}),
              1 + 0.1 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(straggler_factor({.ranks = 3, .slow_share = 0.5, .slow_factor = 2}), 1 + 0.875,
              1e-12);
  EXPECT_NEAR(straggler_factor({.ranks = 3, .slow_share = 2, .slow_factor = 2}), 2, 1e-9)
      << "more than all are all";
}

RankPlace at_place(int rank, const std::string& host = {}, const std::string& leaf = {}) {
  return {.rank = rank, .host = host, .leaf = leaf};
}

// Two ranks, one 5 % slower: its mid-rank is 3/4 in every step, and the page's bound follows.
TEST(DetectorLaws, confidence_is_what_the_bound_leaves) {
  StepTimes times{.ranks = {at_place(0), at_place(1), at_place(2)}, .steps = {}};
  for (int i = 0; i < 30; ++i) times.steps.push_back({1.05, 1.0, 0});  // the third is not measured
  const StragglerReport report = find_stragglers(times);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].place.rank, 0);
  EXPECT_NEAR(report.slow[0].confidence, 1 - 2 * 2 * std::exp(log_uniform_mean_bound(30, 0.75)),
              1e-9);
  EXPECT_NEAR(report.slow[0].excess, 1.05 / 1.025 - 1, 1e-12) << "over the step's median";
  EXPECT_NEAR(report.step_cost, 0.05, 1e-12);
  EXPECT_EQ(log_uniform_mean_bound(30, 0.5), 0);
  EXPECT_EQ(log_uniform_mean_bound(30, 0.3), 0) << "faster than the rest is not slow";
  EXPECT_EQ(log_binomial_bound(30, 0.1, 0.25), 0);
  // With fewer steps than are asked for nobody is judged.
  times.steps.resize(4);
  EXPECT_TRUE(find_stragglers(times, {.false_positives = 1}).slow.empty());
}

TEST(DetectorLaws, a_burst_is_the_last_of_its_step_and_its_chance_is_one_in_the_ranks) {
  StepTimes times;
  for (int r = 0; r < 16; ++r) times.ranks.push_back(at_place(r));
  for (int i = 0; i < 40; ++i) {
    std::vector<double> step(16, 1.0);
    if (i % 3 == 0) step[0] = 1.5, step[1] = 1.4;  // the second is late, too, and not the last
    times.steps.push_back(step);
  }
  const StragglerReport report = find_stragglers(times);
  ASSERT_EQ(report.slow.size(), 1u);
  EXPECT_EQ(report.slow[0].place.rank, 0);
  EXPECT_EQ(report.slow[0].pattern, SlowPattern::bursts);
  EXPECT_NEAR(report.slow[0].step_share, 14.0 / 40, 1e-12);
  EXPECT_NEAR(report.slow[0].confidence,
              1 - 2 * 16 * std::exp(log_binomial_bound(40, 14.0 / 40, 1.0 / 16)), 1e-9);
}

// In blocks of five each is the slower one: 80 of 99 neighbours are alike, 19 are not.
TEST(DetectorLaws, steps_that_resemble_their_neighbours_count_less) {
  StepTimes times{.ranks = {at_place(0), at_place(1)}, .steps = {}};
  for (int i = 0; i < 100; ++i) {
    times.steps.push_back(i / 5 % 2 == 0 ? std::vector<double>{1.05, 1}
                                         : std::vector<double>{1, 1.05});
  }
  const double r = (80.0 - 19) / 100;
  EXPECT_NEAR(find_stragglers(times).steps_effective, 100 * (1 - r) / (1 + r), 1e-9);
}

TEST(DetectorLaws, a_cause_is_shared_by_a_group_and_not_by_all_or_a_few) {
  // Three of four ranks of one leaf burst in turn: the leaf is the whole job, and says nothing.
  StepTimes whole;
  for (int r = 0; r < 4; ++r) whole.ranks.push_back(at_place(r, "", "l1"));
  for (int i = 0; i < 900; ++i) {
    std::vector<double> step(4, 1.0);
    step[static_cast<std::size_t>(i % 3)] = 1.5;
    whole.steps.push_back(step);
  }
  const StragglerReport all = find_stragglers(whole);
  ASSERT_EQ(all.slow.size(), 3u);
  for (const Straggler& s : all.slow) EXPECT_EQ(s.shared, "");
  const auto steady = [](std::vector<RankPlace> places, const std::vector<std::size_t>& slow) {
    StepTimes times{.ranks = std::move(places), .steps = {}};
    for (int i = 0; i < 60; ++i) {
      std::vector<double> step(times.ranks.size());
      for (std::size_t r = 0; r < step.size(); ++r) {
        step[r] = 1 + 0.001 * static_cast<double>((i + 5 * static_cast<int>(r)) % 7);
      }
      for (const std::size_t r : slow) step[r] *= 1.08;
      times.steps.push_back(step);
    }
    return find_stragglers(times);
  };
  std::vector<RankPlace> leaves;
  for (int r = 0; r < 16; ++r) leaves.push_back(at_place(r, "", r < 8 ? "l1" : "l2"));
  const StragglerReport few = steady(leaves, {0, 1});
  ASSERT_EQ(few.slow.size(), 2u);
  EXPECT_EQ(few.slow[0].shared, "") << "two of a leaf's eight";
  // Hosts of one rank have no rails, though others have two.
  std::vector<RankPlace> mixed = {at_place(0, "a")};
  for (int r = 1; r < 13; ++r) mixed.push_back(at_place(r, "h" + std::to_string((r - 1) / 2)));
  const StragglerReport odd = steady(mixed, {0, 1, 3, 5});
  ASSERT_GE(odd.slow.size(), 2u);
  for (const Straggler& s : odd.slow) EXPECT_EQ(s.shared, "");
  // The one that costs more comes first: 8 % always, before 20 % in a third of the steps.
  StepTimes two;
  for (int r = 0; r < 16; ++r) two.ranks.push_back(at_place(r));
  for (int i = 0; i < 120; ++i) {
    std::vector<double> step(16, 1.0);
    step[0] = 1.08;
    if (i % 3 == 0) step[1] = 1.2;
    two.steps.push_back(step);
  }
  const StragglerReport ordered = find_stragglers(two);
  ASSERT_EQ(ordered.slow.size(), 2u);
  EXPECT_EQ(ordered.slow[0].place.rank, 0);
}

}  // namespace
}  // namespace orrery::failure
