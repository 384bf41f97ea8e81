#include "core/workload/job_synthesis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "core/workload/job_trace.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;

TEST(JobSynthesis, synthesised_jobs_have_the_requested_distributions) {
  const JobTrace trace = synthesize_jobs(philly_mix(), 1);
  ASSERT_EQ(trace.jobs.size(), 82'247u);
  std::vector<double> runs;
  double one = 0;
  for (const JobRecord& job : trace.jobs) {
    if (job.gpus == 1) one += 1, runs.push_back(job.run.base());
  }
  EXPECT_NEAR(one / 82'247, 0.932, 0.003);
  std::ranges::sort(runs);
  EXPECT_NEAR(runs[runs.size() / 2], 1117, 40);
  EXPECT_NEAR(runs[runs.size() * 9 / 10], 8512, 400);
  double work = 0;
  double wide = 0;
  for (const JobRecord& job : trace.jobs) {
    work += job.gpus * job.run.base();
    if (job.gpus >= 8) wide += job.gpus * job.run.base();
  }
  // The trace itself has 3.52e9 GPU-seconds, 62 % of them in wide jobs.
  EXPECT_NEAR(work / 3.52e9, 1, 0.2);
  EXPECT_NEAR(wide / work, 0.62, 0.06);
  EXPECT_NEAR(trace.jobs.back().submit / days(108.9), 1, 0.02);
  EXPECT_EQ(trace.jobs[17].run, synthesize_jobs(philly_mix(), 1).jobs[17].run);
  EXPECT_NE(trace.jobs[17].run, synthesize_jobs(philly_mix(), 2).jobs[17].run);
}

TEST(JobSynthesis, arrivals_swing_over_the_day) {
  JobMix mix{.jobs = 20'000, .span = days(10), .day_swing = 0.8};
  mix.classes = {{.widths = {{1, 1}}, .runs = {{0, seconds(10)}, {1, seconds(20)}}}};
  int by_day = 0;  // in the six hours around the peak
  for (const JobRecord& job : synthesize_jobs(mix, 3).jobs) {
    const double hour = std::fmod(job.submit.base(), 86400) / 3600;
    if (hour < 3 || hour > 21) ++by_day;
  }
  // A share of 1/4 + 0.8 sin(pi/4) / pi of all.
  EXPECT_NEAR(by_day / 20'000.0, 0.25 + 0.8 * 0.7071 / 3.14159, 0.012);
}

TEST(JobSynthesis, quantiles_are_log_linear_between_their_points) {
  const std::vector<QuantilePoint> points = {
      {0, seconds(1)}, {0.5, seconds(100)}, {1, seconds(10'000)}};
  EXPECT_NEAR(quantile_of(points, 0).base(), 1, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.25).base(), 10, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.5).base(), 100, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.75).base(), 1000, 1e-9);
  EXPECT_NEAR(quantile_of(points, 1).base(), 10'000, 1e-6);
  EXPECT_EQ(quantile_of({}, 0.5), Seconds());
}

// Limits are between the run time and the factor, uniform in their logarithm; jobs are spread over
// users; the span is filled whether or not the rate varies over the day.
TEST(JobSynthesis, limits_users_and_span_follow_the_mix) {
  JobMix mix{.jobs = 4000, .span = days(4), .limit_factor = 16, .users = 4};
  mix.classes = {{.widths = {{1, 3}, {4, 1}}, .runs = {{0, seconds(10)}, {1, seconds(20)}}}};
  const JobTrace trace = synthesize_jobs(mix, 9);
  EXPECT_TRUE(trace.has_limits);
  EXPECT_EQ(trace.users.size(), 4U);
  double half = 0, one = 0;
  std::array<int, 4> of{};
  for (const JobRecord& job : trace.jobs) {
    const double factor = job.limit / job.run;
    EXPECT_GE(factor, 1);
    EXPECT_LE(factor, 16.001);
    half += factor < 4;
    one += job.gpus == 1;
    ++of[static_cast<std::size_t>(job.user)];
  }
  EXPECT_NEAR(half / 4000, 0.5, 0.03) << "four is the middle of 1 and 16";
  EXPECT_NEAR(one / 4000, 0.75, 0.03);
  for (const int n : of) EXPECT_NEAR(n, 1000, 120);
  EXPECT_NEAR(trace.jobs.back().submit / days(4), 1, 0.06);
  mix.day_swing = 1;
  EXPECT_NEAR(synthesize_jobs(mix, 9).jobs.back().submit / days(4), 1, 0.06);
  mix.limit_factor = 1;
  EXPECT_FALSE(synthesize_jobs(mix, 9).has_limits);
}

// As counted in the trace: jobs by width, and run times with one GPU, with 2 and 4, and with more.
TEST(JobSynthesis, philly_mix_matches_the_published_trace) {
  const JobMix mix = philly_mix();
  EXPECT_EQ(mix.jobs, 82'247);
  EXPECT_EQ(mix.span, days(108.9));
  EXPECT_EQ(mix.day_swing, 0);
  EXPECT_EQ(mix.limit_factor, 1);
  EXPECT_EQ(mix.users, 1);
  ASSERT_EQ(mix.classes.size(), 3U);
  std::vector<std::pair<int, double>> widths;
  double jobs = 0;
  for (const JobClass& c : mix.classes) {
    for (const WidthShare& w : c.widths) widths.emplace_back(w.gpus, w.weight), jobs += w.weight;
  }
  using P = std::pair<int, double>;
  EXPECT_THAT(widths, ElementsAre(P{1, 76627}, P{2, 1818}, P{4, 1870}, P{8, 1643}, P{16, 206},
                                  P{32, 74}, P{64, 6}, P{128, 3}));
  EXPECT_EQ(jobs, 82'247) << "every job has a width";
  const double shares[] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};
  const double runs[3][9] = {
      {1, 62, 122, 1117, 2716, 8512, 135'404, 868'927, 3'256'045},
      {1, 15, 21, 367, 45'476, 166'199, 748'678, 2'416'865, 2'750'674},
      {2, 190, 1600, 23'300, 160'000, 340'000, 1'080'000, 2'600'000, 4'628'226}};
  for (std::size_t c = 0; c < 3; ++c) {
    ASSERT_EQ(mix.classes[c].runs.size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(mix.classes[c].runs[i].share, shares[i]);
      EXPECT_EQ(mix.classes[c].runs[i].run, seconds(runs[c][i])) << c << ' ' << i;
    }
  }
}

TEST(JobSynthesis, jobs_without_classes_or_users_are_synthesised) {
  const JobTrace trace = synthesize_jobs({.jobs = 5, .users = 0}, 4);
  ASSERT_EQ(trace.jobs.size(), 5U);
  EXPECT_TRUE(trace.users.empty());
  EXPECT_EQ(trace.jobs[0].gpus, 1);
  EXPECT_EQ(trace.jobs[0].run, seconds(1));
  EXPECT_EQ(trace.jobs[0].limit, seconds(1));
  EXPECT_EQ(trace.jobs[0].user, 0);
  EXPECT_LT(trace.jobs[0].submit, trace.jobs[1].submit);
  EXPECT_EQ(synthesize_jobs({.jobs = 2, .users = 3}, 4).users,
            (std::vector<std::string>{"user-0", "user-1", "user-2"}));
  // A width with weight zero is never drawn; with a single class all jobs belong to it.
  JobMix mix{.jobs = 200};
  mix.classes = {{.widths = {{2, 0}, {3, 1}}, .runs = {{0, seconds(7)}, {1, seconds(7)}}}};
  for (const JobRecord& job : synthesize_jobs(mix, 4).jobs) {
    EXPECT_EQ(job.gpus, 3);
    EXPECT_NEAR(job.run.base(), 7, 1e-9);
  }
}

}  // namespace
}  // namespace orrery::workload
