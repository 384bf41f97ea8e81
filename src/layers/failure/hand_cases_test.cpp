// Rates, lives, intervals, saves and spares at their edges, by hand or by a closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "layers/failure/effective_time.h"
#include "layers/failure/interval.h"
#include "layers/failure/lemon.h"
#include "layers/failure/lifetime.h"
#include "layers/failure/rates.h"
#include "layers/failure/save_cycle.h"
#include "layers/failure/setbacks.h"
#include "layers/failure/spares.h"

namespace orrery::failure {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

// M e^(960/36000) (e^(1860/36000) - 1) for 1800 s of work: 0.9181439914773812. First-order losses:
// 60/1800, (900 + 240)/36000 and (600 + 120)/36000, 0.085 together, scaled onto what is missing.
TEST(TimeShares, losses_are_scaled_onto_what_is_missing) {
  const EffectiveTimeInput in{.interval = seconds(1800),
                              .save_stall = seconds(60),
                              .mtbf = seconds(36'000),
                              .restart = seconds(600),
                              .queue = seconds(120),
                              .unsafe_window = seconds(240)};
  constexpr double kGood = 0.9181439914773812;
  EXPECT_NEAR(exact_efficiency(in), kGood, 1e-12);
  const TimeShares shares = time_shares(in);
  EXPECT_NEAR(shares.productive, kGood, 1e-12);
  EXPECT_NEAR(shares.saving, (1 - kGood) * (1.0 / 30) / 0.085, 1e-12);
  EXPECT_NEAR(shares.lost_work, (1 - kGood) * (1140.0 / 36'000) / 0.085, 1e-12);
  EXPECT_NEAR(shares.restarting, (1 - kGood) * 0.02 / 0.085, 1e-12);
}

TEST(TimeShares, without_work_all_is_saving_and_without_faults_nothing_is_lost) {
  const TimeShares none = time_shares({.save_stall = seconds(60), .mtbf = seconds(36'000)});
  EXPECT_EQ(none.productive, 0);
  EXPECT_EQ(none.saving, 1);
  EXPECT_EQ(none.lost_work, 0);
  EXPECT_EQ(none.restarting, 0);
  const TimeShares all = time_shares({.interval = seconds(100), .mtbf = Seconds(kEndless)});
  EXPECT_EQ(all.productive, 1);
  EXPECT_EQ(all.saving, 0);
  EXPECT_EQ(all.lost_work, 0);
  const TimeShares rare =
      time_shares({.interval = seconds(90), .save_stall = seconds(10), .mtbf = Seconds(kEndless)});
  EXPECT_DOUBLE_EQ(rare.productive, 0.9);
  EXPECT_DOUBLE_EQ(rare.saving, 0.1);
}

TEST(Intervals, what_costs_nothing_is_done_always_and_what_never_fails_never) {
  EXPECT_EQ(exact_interval(seconds(0), seconds(1000)).base(), 0);
  EXPECT_TRUE(std::isinf(exact_interval(seconds(10), Seconds(kEndless)).base()));
  // Where x = tau/M solves x + ln(1 - x) = -c: x = 0.5 is c = ln 2 - 0.5.
  const double c = std::log(2.0) - 0.5;
  EXPECT_NEAR(exact_interval(seconds(1000 * c), seconds(1000)).base(), 500, 1e-9);
  // Young sqrt(2 x 50 x 3600) = 600; Daly 600 (1 + sqrt(h)/3 + h/9) - 50 with h = 50/7200.
  EXPECT_NEAR(young_interval(seconds(50), seconds(3600)).base(), 600, 1e-9);
  const double h = 50.0 / 7200;
  EXPECT_NEAR(daly_interval(seconds(50), seconds(3600)).base(),
              600 * (1 + std::sqrt(h) / 3 + h / 9) - 50, 1e-9);
  EXPECT_EQ(daly_interval(seconds(200), seconds(100)).base(), 100);
}

// n runs: two at 128 nodes 0.3 above and below 2r in the logarithm, two at 2048 of r/2, the others
// at 512 of r. The line is r (512/nodes)^(1/2) whatever n is; squares 0.18, Sxx = 4 ln(4)^2.
std::vector<NodeFailureRate> runs_on_a_line(std::size_t n) {
  const auto run = [](double nodes, double rate) {
    return NodeFailureRate{.per_node = PerSecond(rate), .nodes = nodes, .interruptions = true};
  };
  std::vector<NodeFailureRate> all{run(128, 2e-7 * std::exp(0.3)), run(128, 2e-7 * std::exp(-0.3)),
                                   run(2048, 5e-8), run(2048, 5e-8)};
  while (all.size() < n) all.push_back(run(512, 1e-7));
  return all;
}

TEST(PublishedRates, an_interval_is_student_s_for_the_runs_there_are) {
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
  three[0].interruptions = false;  // hardware alone is not a run's count
  EXPECT_EQ(published_rate(three, 512).per_node.base(), 0);
  EXPECT_EQ(published_rate(three, 512).factor, 1);
  EXPECT_EQ(published_rate(three, 512).fleets, 0);
  EXPECT_EQ(published_rate(three, 512).apart, 1);
}

TEST(PublishedRates, hosts_of_other_sizes_count_by_their_accelerators) {
  auto all = runs_on_a_line(5);
  all[4].gpus_per_node = 4;  // 1024 hosts of four at half the rate are the same fleet
  all[4].nodes = 1024;
  all[4].per_node = PerSecond(5e-8);
  EXPECT_NEAR(published_rate(all, 512).per_node.base(), 1e-7, 1e-17);
  EXPECT_NEAR(published_rate(all, 128).per_node.base(), 2e-7, 1e-17);
  EXPECT_DOUBLE_EQ(scaled_to_host(all[4], 8).base(), 1e-7);
  EXPECT_DOUBLE_EQ(scaled_to_host(all[4], 3).base(), 3.75e-8);
  const NodeFailureRate plain;
  EXPECT_EQ(plain.gpus_per_node, 8);
  EXPECT_EQ(plain.nodes, 1);
  EXPECT_FALSE(plain.interruptions);
}

TEST(PublishedRates, a_row_out_of_order_is_told_of) {
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

TEST(Lemons, before_anything_is_seen_the_odds_are_the_prior_s) {
  EXPECT_NEAR(lemon_odds(LemonEvidence{}, {}), 0.015 / 0.985, 1e-12);
  EXPECT_NEAR(lemon_odds({.node_weight = 2}, {}), 0.015 / 0.985 * 100, 1e-9);
  // 30 days watched, none seen anywhere: E = 30 (1 - 1/e) days; of 99 others the rate is
  // 2 / (2/0.0065 + 99 E) a day, the base rate less by 1 + 0.015 x 9.
  const double exposure = 30 * (1 - std::exp(-1.0));
  const double rate = 2 / (2 / 0.0065 + 99 * exposure);
  EXPECT_NEAR(fleet_rate(0, 99, days(30), {}).base() * 86'400, rate, 1e-12);
  EXPECT_NEAR(lemon_odds({.node_weight = 1, .other_nodes = 99, .watched = days(30)}, {}),
              0.015 / 0.985 * 10 * std::exp(-9 * rate / 1.135 * exposure), 1e-9);
  EXPECT_NEAR(fleet_rate(3, 99, days(30), {}).base() * 86'400, 2.5 * rate, 1e-12);
  // With nobody else to compare with, the published rate: 0.0065 a day.
  EXPECT_NEAR(lemon_odds({.node_weight = 1, .watched = days(30)}, {}),
              0.015 / 0.985 * 10 * std::exp(-9 * 0.0065 / 1.135 * exposure), 1e-9);
  const FadingCount once = struck({}, days(10), 1, days(30));
  EXPECT_EQ(once.weight, 1);
  EXPECT_EQ(once.at, days(10));
  EXPECT_NEAR(faded(once, days(25), days(30)), std::exp(-0.5), 1e-12);
  EXPECT_EQ(faded(once, days(5), days(30)), 1) << "a clock that stepped back";
  const FadingCount twice = struck(once, days(25), 2, days(30));
  EXPECT_NEAR(twice.weight, 2 + std::exp(-0.5), 1e-12);
  EXPECT_EQ(struck(once, days(5), 1, days(30)).at, days(10));
}

// Beyond eight means: T/mean + (cv^2 - 1)/2. Shape 1/2 has cv^2 = 4!/2!^2 - 1 = 5.
TEST(Lives, a_long_run_is_its_means_and_the_spread_of_one) {
  EXPECT_NEAR(failures_within(life_of(0.5, days(1)), days(8.5)), 10.5, 1e-9);
  EXPECT_NEAR(failures_within(life_of(0.5, days(1)), days(20)), 22, 1e-9);
  EXPECT_NEAR(failures_within(life_of(2, days(1)), days(8.5)), 8.5 + (4 / std::acos(-1.0) - 2) / 2,
              1e-9);
  EXPECT_EQ(failures_within(life_of(2, days(1)), days(0)), 0);
}

// An exponential's renewals come to its span, to the trapezoid's error: 1.6e-7 for half a mean and
// 1.02e-5 for two.
TEST(Lives, an_exponential_s_renewals_come_to_its_span) {
  EXPECT_NEAR(failures_within(life_of(1, days(1)), days(0.5)), 0.5, 3e-7);
  EXPECT_NEAR(failures_within(life_of(1, days(1)), days(2)), 2, 1.1e-5);
  EXPECT_NEAR(failures_within(life_of(1, days(1)), days(7)), 7, 4.5e-4);
}

// 100 of steps and 10 of stall; the first 40 beside a drain at half speed: 100 in the first cycle,
// 80 in each of the others.
TEST(SaveCases, the_wall_time_of_work_by_hand) {
  const SaveCycle c{
      .interval_ns = 100, .stall_ns = 10, .drain_ns = 40, .speed = 1, .drain_speed = 0.5};
  EXPECT_EQ(wall_for(c, 0), 0);
  EXPECT_EQ(wall_for(c, -5), 0);
  EXPECT_EQ(wall_for(c, 99), 99);
  EXPECT_EQ(wall_for(c, 100), 100);
  EXPECT_EQ(wall_for(c, 101), 112);
  EXPECT_EQ(wall_for(c, 120), 150);
  EXPECT_EQ(wall_for(c, 121), 151);
  EXPECT_EQ(wall_for(c, 179), 209);
  EXPECT_EQ(wall_for(c, 180), 210);
  EXPECT_EQ(wall_for(c, 181), 222);
  EXPECT_EQ(wall_for(c, 182), 224);
  EXPECT_EQ(wall_for(c, 260), 320);
  EXPECT_EQ(wall_for(c, 261), 332);
}

TEST(SaveCases, who_never_saves_only_steps_and_who_stands_never_ends) {
  constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max() / 4;
  EXPECT_EQ(wall_for({}, 700), 700);
  EXPECT_EQ(wall_for({.speed = 0.5}, 100), 200);
  EXPECT_EQ(wall_for({.speed = 0}, 100), kNoEnd);
  EXPECT_EQ(wall_for({.interval_ns = 50, .drain_speed = 0}, 10), kNoEnd);
  EXPECT_EQ(wall_for({}, kNoEnd / 4 + 1), kNoEnd);
  EXPECT_EQ(wall_for({}, kNoEnd / 4), kNoEnd / 4);
  // A million of stall for each one of work.
  const SaveCycle slow{.interval_ns = 1, .stall_ns = 999'999};
  EXPECT_EQ(wall_for(slow, 10'000'000'000'000), kNoEnd);
  EXPECT_EQ(wall_for(slow, 1'000'001), 1'000'000'000'001);
  const Progress p = progress_after({.speed = 0.25}, 400);
  EXPECT_EQ(p.steps_ns, 400);
  EXPECT_EQ(p.work_ns, 100);
  EXPECT_EQ(p.stall_ns + p.saves + p.safe_work_ns + p.local_work_ns, 0);
}

// From 100 to 200 half is lost, from 150 to 300 a quarter more.
TEST(SetbackCases, by_hand) {
  Setbacks all;
  EXPECT_EQ(all.time_after(10, 5), 15);
  all.add({.from_ns = 100, .to_ns = 200, .share = 0.5, .cause = 1});
  all.add({.from_ns = 150, .to_ns = 300, .share = 0.25, .cause = 2});
  EXPECT_EQ(all.lost_ns(100), 0);
  EXPECT_EQ(all.lost_ns(140), 20);
  EXPECT_EQ(all.lost_ns(190), 45 + 10);
  EXPECT_EQ(all.lost_ns(1000), 50 + 37);
  EXPECT_EQ(all.time_after(90, 10), 100);
  EXPECT_EQ(all.time_after(90, 30), 140);  // 10, and 20 at half
  EXPECT_EQ(all.time_after(100, 25), 150);
  EXPECT_EQ(all.time_after(100, 30), 170);  // 5 more at a quarter
  EXPECT_EQ(all.time_after(200, 75), 300);
  EXPECT_EQ(all.time_after(200, 80), 305);
  all.end(2, 200);
  EXPECT_EQ(all.lost_ns(1000), 50 + 12);
  EXPECT_EQ(all.all()[0].to_ns, 200);
  all.end(1, 50);  // before it began: nothing is left of it
  EXPECT_EQ(all.all()[0].to_ns, 100);
  EXPECT_EQ(all.lost_ns(1000), 12);
  all.add({.from_ns = 0, .to_ns = 400, .share = 0.7});
  all.add({.from_ns = 0, .to_ns = 400, .share = 0.6});
  EXPECT_EQ(all.time_after(10, 1), 401) << "more than all cannot be lost";
  all.clear();
  EXPECT_TRUE(all.all().empty());
  EXPECT_EQ(all.lost_ns(1000), 0);
  const Setback plain;
  EXPECT_EQ(plain.lost_ns(50), 0);
  EXPECT_EQ(plain.cause, 0);
}

// P(Poisson(0.83) > 3) = 0.01028: one in a hundred needs a fourth, 1.06 in a hundred does not.
TEST(SpareCases, one_in_a_hundred_unless_said_otherwise) {
  SpareProblem problem{.nodes = 1000, .node_rate = PerSecond(8.3e-7), .repair = seconds(1000)};
  EXPECT_EQ(size_spares(problem).count, 4);
  problem.shortfall = 0.0103;
  EXPECT_EQ(size_spares(problem).count, 3);
  EXPECT_NEAR(size_spares(problem).shortfall, 0.010278077145148, 1e-12);
  EXPECT_NEAR(size_spares(problem).mean_in_repair, 0.83, 1e-12);
  problem.shortfall = 1;
  EXPECT_EQ(size_spares(problem).count, 0);
  EXPECT_DOUBLE_EQ(mean_repair({}).base(), 1800 + 0.2 * 86'400);
}

}  // namespace
}  // namespace orrery::failure
