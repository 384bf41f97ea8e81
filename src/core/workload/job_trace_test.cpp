#include "core/workload/job_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/workload/job_synthesis.h"

namespace orrery::workload {
namespace {

TEST(JobTrace, Timestamps) {
  EXPECT_EQ(parse_timestamp("1970-01-01 00:00:00"), 0.0);
  EXPECT_EQ(parse_timestamp("2017-10-09T07:01:55"), 1507532515.0);
  EXPECT_EQ(parse_timestamp("2024-02-29 00:00:00"), 1709164800.0);
  for (const char* bad : {"Unknown", "2017-13-09 07:01:55", "2017-10-09", "2017-10-09 07:01:5x"}) {
    EXPECT_FALSE(parse_timestamp(bad)) << bad;
  }
  EXPECT_EQ(parse_slurm_time("1-02:03:04"), seconds(93784));
  EXPECT_EQ(parse_slurm_time("02:30"), seconds(150));
  for (const char* bad : {"UNLIMITED", "Partition_Limit", "", "1-"}) {
    EXPECT_FALSE(parse_slurm_time(bad)) << bad;
  }
}

TEST(JobTrace, Philly) {
  const auto trace = read_jobs(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-10-09 07:01:55,66.0,1,66.0,a\n"
      "2017-10-09 07:01:45,30.0,8,240.0,b\n"
      "2017-10-09 07:01:55,50.0,2,100.0,a\n",
      "jobs.csv");
  ASSERT_TRUE(trace) << to_text(trace.error());
  EXPECT_EQ(trace->format, JobFormat::philly);
  ASSERT_EQ(trace->jobs.size(), 3u);
  EXPECT_EQ(trace->jobs[0].gpus, 8);
  EXPECT_EQ(trace->jobs[1].run, seconds(50));  // of two at one second the shorter goes first
  EXPECT_EQ(trace->jobs[2].submit, seconds(10));
  EXPECT_EQ(trace->queues, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(trace->has_limits);
}

TEST(JobTrace, StandardWorkloadFormat) {
  const auto trace = read_jobs(
      "; UnixStartTime: 0\n"
      "1 100 5 60 4 -1 -1 4 120 -1 1 3 1 -1 2 -1 -1 -1\n"
      "2 110 -1 30 -1 -1 -1 2 -1 -1 1 4 1 -1 2 -1 -1 -1\n"
      "3 120 0 -1 1 -1 -1 1 60 -1 0 4 1 -1 2 -1 -1 -1\n",
      "log.swf");
  ASSERT_TRUE(trace) << to_text(trace.error());
  EXPECT_EQ(trace->format, JobFormat::swf);
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].limit, seconds(120));
  EXPECT_EQ(trace->jobs[0].wait, seconds(5));
  EXPECT_EQ(trace->jobs[1].gpus, 2);
  EXPECT_EQ(trace->jobs[1].limit, seconds(30));
  EXPECT_EQ(trace->left_out, 1);
  EXPECT_FALSE(read_jobs("1 2 3\n4 x\n", "log.swf", JobFormat::swf));
}

TEST(JobTrace, Sacct) {
  const auto trace = read_jobs(
      "JobID|User|Partition|Submit|Start|End|Timelimit|NNodes|AllocTRES|State\n"
      "17|ada|train|2026-01-01T00:00:00|2026-01-01T00:01:00|2026-01-01T01:01:00|02:00:00|2|"
      "billing=128,cpu=128,gres/gpu=16,gres/gpu:h100=16|COMPLETED\n"
      "17.batch||||2026-01-01T00:01:00|2026-01-01T01:01:00||1|cpu=64|COMPLETED\n"
      "18|bob|train|2026-01-01T00:00:30|Unknown|Unknown|1-00:00:00|1|gres/gpu:h100=4|PENDING\n"
      "19|bob|cpu|2026-01-01T00:00:40|2026-01-01T00:00:41|2026-01-01T00:10:00|01:00:00|1|cpu=4|"
      "COMPLETED\n",
      "sacct.txt");
  ASSERT_TRUE(trace) << to_text(trace.error());
  EXPECT_EQ(trace->format, JobFormat::sacct);
  ASSERT_EQ(trace->jobs.size(), 1u);
  EXPECT_EQ(trace->left_out, 2);
  EXPECT_EQ(trace->jobs[0].gpus, 16);
  EXPECT_EQ(trace->jobs[0].nodes, 2);
  EXPECT_EQ(trace->jobs[0].wait, seconds(60));
  EXPECT_EQ(trace->jobs[0].limit, hours(2));
  const auto missing = read_jobs("JobID|Submit\n1|2026-01-01T00:00:00\n", "sacct.txt");
  ASSERT_FALSE(missing);
  EXPECT_NE(to_text(missing.error()).find("Start, End, AllocTRES"), std::string::npos)
      << to_text(missing.error());
}

TEST(JobTrace, AnyCsvWithThreeColumns) {
  const auto trace = read_jobs("submit,run,gpus,user\n5,10,2,ada\n0,01:00,1,bob\n", "j.csv");
  ASSERT_TRUE(trace) << to_text(trace.error());
  EXPECT_EQ(trace->jobs[0].run, seconds(60));
  EXPECT_EQ(trace->jobs[1].submit, seconds(5));
  const auto bad = read_jobs("submit,run,gpus\nnoon,10,2\n0,10,two\n", "j.csv");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().size(), 2u);
  EXPECT_FALSE(read_jobs("a,b\n1,2\n", "j.csv"));
  EXPECT_FALSE(read_jobs("", "j.csv"));
}

TEST(JobSynthesis, HasTheDistributionsItWasGiven) {
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
  // The trace itself has 3.52e9 GPU-seconds, 62 % of them of wide jobs.
  EXPECT_NEAR(work / 3.52e9, 1, 0.2);
  EXPECT_NEAR(wide / work, 0.62, 0.06);
  EXPECT_NEAR(trace.jobs.back().submit / days(108.9), 1, 0.02);
  EXPECT_EQ(trace.jobs[17].run, synthesize_jobs(philly_mix(), 1).jobs[17].run);
  EXPECT_NE(trace.jobs[17].run, synthesize_jobs(philly_mix(), 2).jobs[17].run);
}

TEST(JobSynthesis, DaysSwing) {
  JobMix mix{.jobs = 20'000, .span = days(10), .day_swing = 0.8};
  mix.classes = {{.widths = {{1, 1}}, .runs = {{0, seconds(10)}, {1, seconds(20)}}}};
  int by_day = 0;  // in the six hours about the peak
  for (const JobRecord& job : synthesize_jobs(mix, 3).jobs) {
    const double hour = std::fmod(job.submit.base(), 86400) / 3600;
    if (hour < 3 || hour > 21) ++by_day;
  }
  // 1/4 + 0.8 sin(pi/4) / pi of all.
  EXPECT_NEAR(by_day / 20'000.0, 0.25 + 0.8 * 0.7071 / 3.14159, 0.012);
}

}  // namespace
}  // namespace orrery::workload
