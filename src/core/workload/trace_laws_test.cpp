// Traces at their edges: columns of each format, clocks of any year, what is left out and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "core/workload/job_synthesis.h"
#include "core/workload/job_trace.h"
#include "core/workload/pod_trace.h"

namespace orrery::workload {
namespace {

using testing::HasSubstr;

// Against the C library, over days of leap years, of centuries and of February.
TEST(TraceLaws, a_timestamp_counts_as_the_system_does) {
  for (const char* text :
       {"1970-01-01 00:00:00", "1972-02-29 23:59:59", "1999-12-31 12:00:01", "2000-02-29 00:00:00",
        "2000-03-01 00:00:00", "2001-01-01 05:06:07", "2016-12-31 23:59:60", "2099-02-28 01:02:03",
        "2100-03-01 00:00:00", "2024-01-31 10:20:30"}) {
    std::tm t = {};
    ASSERT_NE(::strptime(text, "%Y-%m-%d %H:%M:%S", &t), nullptr);
    EXPECT_EQ(parse_timestamp(text), static_cast<double>(::timegm(&t))) << text;
  }
  for (const char* bad : {"2024-00-10 00:00:00", "2024-01-00 00:00:00", "2024-01-32 00:00:00",
                          "2024-01-01 24:00:00", "2024-01-01 00:60:00", "2024-01-01 00:00:61",
                          "2024-01-01 00:00:00Z", "1969-12-31 23:59:59", "2024/01/01 00:00:00"}) {
    EXPECT_FALSE(parse_timestamp(bad)) << bad;
  }
}

TEST(TraceLaws, slurm_counts_days_hours_minutes_and_seconds) {
  EXPECT_EQ(parse_slurm_time("2-00:00:00"), days(2));
  EXPECT_EQ(parse_slurm_time("01:00:01"), seconds(3601));
  EXPECT_EQ(parse_slurm_time("01:30"), seconds(90));
  for (const char* bad : {"90", "1:2:3:4", "-1:00", "1-2-03:04", "a:00"}) {
    EXPECT_FALSE(parse_slurm_time(bad)) << bad;
  }
}

// Columns of the Standard Workload Format: 2 submit, 3 wait, 4 run, 5 processors, 8 asked for,
// 9 time asked for, 12 user, 15 queue.
TEST(TraceLaws, every_column_of_swf_is_the_one_it_is) {
  const auto trace = read_jobs(
      "; a comment\n\n"
      "1 1000 20 30 4 50 60 70 80 90 1 7 8 9 10 11 12 13\n"
      "2 1010 0 31 -1 50 60 6 -1 90 1 -1 8 9 -1 11 12 13\n",
      "log.swf");
  ASSERT_TRUE(trace) << to_text(trace.error());
  ASSERT_EQ(trace->jobs.size(), 2U);
  const JobRecord& a = trace->jobs[0];
  EXPECT_EQ(a.submit, seconds(0));
  EXPECT_EQ(a.wait, seconds(20));
  EXPECT_EQ(a.run, seconds(30));
  EXPECT_EQ(a.gpus, 4);
  EXPECT_EQ(a.limit, seconds(80));
  EXPECT_EQ(trace->users.at(static_cast<std::size_t>(a.user)), "7");
  EXPECT_EQ(trace->queues.at(static_cast<std::size_t>(a.queue)), "10");
  const JobRecord& b = trace->jobs[1];
  EXPECT_EQ(b.submit, seconds(10));
  EXPECT_EQ(b.wait, seconds(0)) << "it did not wait, and that is known";
  EXPECT_EQ(b.gpus, 6) << "as asked for, where none are said to be allocated";
  EXPECT_EQ(b.limit, b.run);
  EXPECT_EQ(b.user, -1);
  EXPECT_EQ(b.queue, -1);
  EXPECT_TRUE(trace->has_limits);
  const auto narrow = read_jobs("1 1000 20 30 4 50 60 70 80 90 1 7 8\n", "log.swf", JobFormat::swf);
  ASSERT_FALSE(narrow);
  EXPECT_THAT(narrow.error().front().what, HasSubstr("13 columns where SWF has 18"));
}

TEST(TraceLaws, a_trace_is_read_as_what_it_looks_like) {
  EXPECT_EQ(format_of("; comment\n"), JobFormat::swf);
  EXPECT_EQ(format_of("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"), JobFormat::swf);
  EXPECT_EQ(format_of("1 2 3\n"), JobFormat::csv);
  EXPECT_EQ(format_of("JobID|Submit\n"), JobFormat::sacct);
  EXPECT_EQ(format_of("timestamp,duration,num_gpus,x\n"), JobFormat::philly);
  EXPECT_EQ(format_of("submit,run,gpus\n"), JobFormat::csv);
}

constexpr const char* kSacctHead =
    "JobID|User|Partition|Submit|Eligible|Start|End|Timelimit|NNodes|AllocTRES|ReqTRES|State\n";

TEST(TraceLaws, a_job_of_slurm_waits_from_when_it_may_run) {
  const auto trace = read_jobs(
      std::string(kSacctHead) +
          "1|ada|a|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-01T00:15:00|"
          "2026-01-01T01:15:00|02:00:00|2|gres/gpu:h100=6,gres/gpu:a100=2|gres/gpu=9|COMPLETED\n"
          "2|ada|a|2026-01-01T00:20:00|2026-01-01T00:20:00|2026-01-01T00:20:00|"
          "2026-01-01T00:30:00|UNLIMITED|1|cpu=4|gres/gpu=3|COMPLETED\n"
          "2.batch|ada|a|2026-01-01T00:20:00|2026-01-01T00:20:00|2026-01-01T00:20:00|"
          "2026-01-01T00:30:00||1|gres/gpu=3||COMPLETED\n"
          "3|bob|a|2026-01-01T00:21:00|2026-01-01T00:21:00|2026-01-01T00:22:00|Unknown|"
          "01:00:00|1|gres/gpu=1||RUNNING\n",
      "sacct.txt");
  ASSERT_TRUE(trace) << to_text(trace.error());
  ASSERT_EQ(trace->jobs.size(), 2U) << "a step is no job, and one that runs has no end";
  EXPECT_EQ(trace->left_out, 1);
  EXPECT_EQ(trace->jobs[0].wait, seconds(300)) << "not while it was held back";
  EXPECT_EQ(trace->jobs[0].run, hours(1));
  EXPECT_EQ(trace->jobs[0].gpus, 8) << "of both kinds";
  EXPECT_EQ(trace->jobs[1].submit, seconds(600)) << "after the first that was eligible";
  EXPECT_EQ(trace->jobs[1].gpus, 3) << "as asked for, where none are said to be allocated";
  EXPECT_EQ(trace->jobs[1].limit, trace->jobs[1].run);
}

TEST(TraceLaws, slurm_rows_that_are_cut_are_told) {
  const auto cut = read_jobs(std::string(kSacctHead) + "1|ada|a|2026-01-01T00:00:00\n", "s.txt");
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().front().what, HasSubstr("4 fields where the header has 12"));
  EXPECT_EQ(cut.error().front().place.line, 2);
  const auto asked = read_jobs(
      "JobID|Submit|Start|End|ReqTRES\n"
      "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:01:00|gres/gpu=2\n",
      "s.txt");
  ASSERT_TRUE(asked) << "what was asked for will do";
  EXPECT_EQ(asked->jobs[0].gpus, 2);
}

TEST(TraceLaws, a_csv_may_name_its_columns_in_several_ways) {
  const auto trace = read_jobs(
      "submit_time,duration,num_gpus,num_nodes,timelimit,wait,user,vc\n"
      "2026-01-01 00:00:10,100,2,1,01:00:00,5,ada,a\n"
      "2026-01-01 00:00:10,100,1,1,,,bob,\n"
      "2026-01-01 00:00:00,100,0,1,,,bob,\n"
      "2026-01-01 00:00:05,0,1,1,,,bob,\n",
      "j.csv");
  ASSERT_TRUE(trace) << to_text(trace.error());
  EXPECT_EQ(trace->left_out, 2) << "no GPUs, no run time";
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].gpus, 1) << "the narrower of two alike goes first";
  EXPECT_EQ(trace->jobs[0].submit, seconds(0)) << "the clock starts with the first that counts";
  EXPECT_EQ(trace->jobs[0].queue, -1);
  EXPECT_EQ(trace->jobs[1].limit, hours(1));
  EXPECT_EQ(trace->jobs[1].wait, seconds(5));
  EXPECT_EQ(trace->jobs[1].nodes, 1);
  EXPECT_EQ(trace->queues, (std::vector<std::string>{"a"}));
  const auto lacking = read_jobs("submit,run\n1,2\n", "j.csv");
  ASSERT_FALSE(lacking);
  EXPECT_THAT(lacking.error().front().what, HasSubstr("submit, run and gpus"));
}

TEST(TraceLaws, of_thousands_of_equal_faults_the_first_are_told) {
  std::string text = "submit,run,gpus\n";
  for (int i = 0; i < 100; ++i) text += "noon,1,1\n";
  const auto trace = read_jobs(text, "j.csv");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().size(), 20U);
  EXPECT_EQ(trace.error().front().place.line, 2);
}

constexpr const char* kPodHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

TEST(PodLaws, a_pod_has_what_its_row_says) {
  const auto pods =
      read_pods(std::string(kPodHead) + "p,100,200,1,300,V100M32|T4\nq,1,2,8,1000,\n", "p.csv");
  ASSERT_TRUE(pods) << to_text(pods.error());
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ((*pods)[0].cpu_milli, 100);
  EXPECT_EQ((*pods)[0].memory_mib, 200);
  EXPECT_EQ((*pods)[0].gpus, 1);
  EXPECT_EQ((*pods)[0].gpu_milli, 300);
  EXPECT_THAT((*pods)[0].models, testing::ElementsAre("V100M32", "T4"));
  EXPECT_TRUE((*pods)[1].models.empty());
}

TEST(PodLaws, what_is_no_pod_is_refused_with_its_line) {
  const auto what = [](const std::string& text) {
    const auto pods = read_pods(text, "p.csv");
    return pods ? "" : pods.error().front().what;
  };
  const std::string head = kPodHead;
  EXPECT_THAT(what(head + "p,-1,1,1,1000,\n"), HasSubstr("cpu_milli is no count"));
  EXPECT_THAT(what(head + "p,1,3e9,1,1000,\n"), HasSubstr("memory_mib is no count"));
  EXPECT_THAT(what(head + "p,1,1,2,500,\n"), HasSubstr("several GPUs are whole ones"));
  EXPECT_EQ(what(head + "p,1,1,2,1000,\n"), "");
  EXPECT_THAT(what(head), HasSubstr("no pods"));
  EXPECT_THAT(what("name,cpu_milli,memory_mib,num_gpu\np,1,1,1\n"),
              HasSubstr("gpu_milli is missing"));
  EXPECT_TRUE(looks_like_pods(head));
  EXPECT_FALSE(looks_like_pods("submit,run,gpus\n"));
  EXPECT_FALSE(looks_like_pods("sn,cpu_milli,memory_mib,gpu,model\n")) << "nodes are no pods";
}

TEST(PodLaws, a_node_has_eight_gpus_at_most) {
  const std::string head = "sn,cpu_milli,memory_mib,gpu,model\n";
  const auto nodes = read_pod_nodes(head + "a,100,200,8,T4\n", "n.csv");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->front().gpus, 8);
  EXPECT_EQ(nodes->front().model, "T4");
  EXPECT_EQ(nodes->front().memory_mib, 200);
  EXPECT_FALSE(read_pod_nodes(head + "a,100,200,9,T4\n", "n.csv"));
  EXPECT_FALSE(read_pod_nodes("sn,cpu_milli,memory_mib,gpu\na,1,1,1\n", "n.csv"));
}

TEST(SynthesisLaws, quantiles_are_met_at_their_points_and_log_linear_between) {
  const std::vector<QuantilePoint> points = {
      {0, seconds(1)}, {0.5, seconds(100)}, {1, seconds(10'000)}};
  EXPECT_NEAR(quantile_of(points, 0).base(), 1, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.25).base(), 10, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.5).base(), 100, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.75).base(), 1000, 1e-9);
  EXPECT_NEAR(quantile_of(points, 1).base(), 10'000, 1e-6);
  EXPECT_EQ(quantile_of({}, 0.5), Seconds());
}

// Limits lie between the run time and the factor, evenly in their logarithm; users share the jobs;
// a span is filled whether or not its days swing.
TEST(SynthesisLaws, limits_users_and_spans_are_as_asked_for) {
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

}  // namespace
}  // namespace orrery::workload
