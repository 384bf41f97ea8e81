// Rows of traces of jobs and pods one field at a time, and the jobs that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/workload/job_synthesis.h"
#include "core/workload/job_trace.h"
#include "core/workload/pod_trace.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TraceRows, a_trace_without_a_job_that_ran_is_empty) {
  const auto empty = read_jobs("submit,run,gpus\n1,2,0\n3,0,1\n", "j.csv");
  ASSERT_FALSE(empty);
  ASSERT_EQ(empty.error().size(), 1U);
  EXPECT_EQ(empty.error()[0].code, "trace.empty");
  EXPECT_EQ(empty.error()[0].place.file, "j.csv");
  EXPECT_EQ(empty.error()[0].what, "no job with GPUs and a run time in this trace");
  EXPECT_EQ(empty.error()[0].why, "read as csv");
  const auto swf = read_jobs("; nothing\n", "log.swf");
  ASSERT_FALSE(swf);
  EXPECT_EQ(swf.error()[0].why, "read as swf");
}

// An empty field is no number, and neither is one that ends in something else.
TEST(TraceRows, a_field_that_is_no_number_is_told_with_its_line) {
  const auto bad = read_jobs("submit,run,gpus\n1,2,3\n4,5,\n6,7x,1\n,8,1\n", "j.csv");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 3U);
  EXPECT_EQ(bad.error()[0].place.line, 3);
  EXPECT_EQ(bad.error()[1].place.line, 4);
  EXPECT_EQ(bad.error()[2].place.line, 5);
  EXPECT_EQ(bad.error()[0].code, "trace.row");
  EXPECT_EQ(bad.error()[0].place.file, "j.csv");
  EXPECT_EQ(bad.error()[0].what, "submit, run or gpus cannot be read");
  EXPECT_EQ(bad.error()[0].fix, "seconds, or 2026-01-31 12:00:00; a whole number of GPUs");
  const auto swf = read_jobs("1 2 3 4 5 6 7 8 9 10 x 12 13 14 15 16 17 18\n", "l", JobFormat::swf);
  ASSERT_FALSE(swf);
  EXPECT_EQ(swf.error()[0].what, "'x' is no number");
  EXPECT_EQ(swf.error()[0].place.line, 1);
}

TEST(TraceRows, fractions_of_seconds_are_kept) {
  const auto trace = read_jobs("submit,run,gpus\n1.25,2.5,3\n0.75,00:01.5,2\n", "j.csv");
  ASSERT_TRUE(trace) << to_text(trace.error());
  EXPECT_EQ(trace->jobs[0].run, seconds(1.5));
  EXPECT_EQ(trace->jobs[0].gpus, 2);
  EXPECT_EQ(trace->jobs[1].submit, seconds(0.5));
  EXPECT_EQ(trace->jobs[1].run, seconds(2.5));
  EXPECT_EQ(trace->jobs[1].user, -1);
  EXPECT_EQ(trace->jobs[1].queue, -1);
  EXPECT_EQ(trace->jobs[1].nodes, 0);
  EXPECT_FALSE(trace->jobs[1].wait);
  EXPECT_EQ(trace->left_out, 0);
  EXPECT_FALSE(trace->has_limits);
}

// Twenty faults at most, whether they are of the rows' numbers or of their form.
TEST(TraceRows, faults_of_form_count_with_the_others) {
  std::string text = "submit,run,gpus\n";
  for (int i = 0; i < 15; ++i) text += "noon,1,1\n";
  for (int i = 0; i < 15; ++i) text += "1,2\n";
  const auto bad = read_jobs(text, "j.csv");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().size(), 20U);
  text = "submit,run,gpus\n";
  for (int i = 0; i < 20; ++i) text += "noon,1,1\n";
  const auto all = read_jobs(text, "j.csv");
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().size(), 20U);
  EXPECT_EQ(all.error().back().place.line, 21);
}

// User and queue 0 are somebody; processors 0 are none.
TEST(TraceRows, zeros_of_swf) {
  const auto trace = read_jobs(
      "1 1000 0 30 0 50 60 5 80 90 1 0 8 9 0 11 12 13\n"
      "2 1001 -1 30 2 50 60 5 0 90 1 4 8 9 -1 11 12 13\n"
      "3 1002 -1 30 3 50 60 5 0 90 1 4 8 9 0 11 12 13 14 15\n",
      "log.swf");
  ASSERT_TRUE(trace) << to_text(trace.error());
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].gpus, 5);
  EXPECT_EQ(trace->jobs[0].user, 0);
  EXPECT_EQ(trace->jobs[0].queue, 0);
  EXPECT_EQ(trace->jobs[0].wait, seconds(0));
  EXPECT_EQ(trace->jobs[1].gpus, 2);
  EXPECT_EQ(trace->jobs[1].user, 1);
  EXPECT_EQ(trace->jobs[1].queue, -1);
  EXPECT_FALSE(trace->jobs[1].wait);
  EXPECT_EQ(trace->jobs[1].limit, seconds(30)) << "as long as it ran, where none is given";
  EXPECT_EQ(trace->jobs[2].user, 1);
  EXPECT_EQ(trace->jobs[2].queue, 0);
  EXPECT_THAT(trace->users, ElementsAre("0", "4"));
  EXPECT_THAT(trace->queues, ElementsAre("0"));
}

TEST(TraceRows, jobs_that_came_at_once_go_by_run_time_then_by_width) {
  const auto trace =
      read_jobs("submit,run,gpus\n5,9,1\n5,7,4\n5,7,2\n4,100,8\n", "j.csv", JobFormat::csv);
  ASSERT_TRUE(trace);
  std::vector<int> widths;
  for (const JobRecord& job : trace->jobs) widths.push_back(job.gpus);
  EXPECT_THAT(widths, ElementsAre(8, 2, 4, 1));
  EXPECT_EQ(trace->jobs[0].submit, seconds(0));
  EXPECT_EQ(trace->jobs[3].submit, seconds(1));
}

constexpr const char* kSacctFew = "JobID|Submit|Start|End|Timelimit|AllocTRES|ReqTRES\n";

std::string sacct_job(const char* id, const char* allocated, const char* asked) {
  return std::string(id) + "|2026-01-01T00:00:00|2026-01-01T00:00:07|2026-01-01T00:01:00||" +
         allocated + "|" + asked + "\n";
}

TEST(TraceRows, gpus_of_slurm_are_counted_plainly_or_by_type) {
  const auto gpus = [](const char* allocated, const char* asked) {
    const auto trace = read_jobs(kSacctFew + sacct_job("1", allocated, asked), "s.txt");
    return trace ? trace->jobs.at(0).gpus : -1;
  };
  EXPECT_EQ(gpus("cpu=64,gres/gpu=7,gres/gpu:h100=5", ""), 7) << "the plain count is of all";
  EXPECT_EQ(gpus("gres/gpu:h100=5,gres/gpu:a100=6,cpu=9", ""), 11);
  EXPECT_EQ(gpus("gres/gpu,gres/gpu=4", ""), 4) << "a word without a count says nothing";
  EXPECT_EQ(gpus("cpu=3", "gres/gpu=2"), 2);
  EXPECT_EQ(gpus("gres/gpu=3", "gres/gpu=2"), 3);
  EXPECT_EQ(gpus("cpu=3", "mem=2"), -1) << "none";
}

TEST(TraceRows, a_job_of_slurm_without_the_columns_that_may_lack) {
  const auto trace = read_jobs(kSacctFew + sacct_job("5_3", "gres/gpu=2", ""), "s.txt");
  ASSERT_TRUE(trace) << to_text(trace.error());
  const JobRecord& job = trace->jobs.at(0);
  EXPECT_EQ(job.wait, seconds(7));
  EXPECT_EQ(job.run, seconds(53));
  EXPECT_EQ(job.limit, seconds(53));
  EXPECT_FALSE(trace->has_limits);
  EXPECT_EQ(job.user, -1);
  EXPECT_EQ(job.queue, -1);
  EXPECT_EQ(job.nodes, 0);
}

TEST(TraceRows, slurm_says_which_columns_are_missing) {
  const auto missing = [](const char* header) {
    const auto trace = read_jobs(header, "s.txt");
    return trace ? "" : trace.error().front().what;
  };
  EXPECT_EQ(missing("User|Partition\n"),
            "columns are missing: JobID, Submit, Start, End, AllocTRES");
  EXPECT_EQ(missing("JobID|Start|End|ReqTRES\n"), "columns are missing: Submit");
  EXPECT_EQ(missing("JobID|Submit|End|AllocTRES\n"), "columns are missing: Start");
  EXPECT_EQ(missing("JobID|Submit|Start|AllocTRES\n"), "columns are missing: End");
  const auto unread = read_jobs(
      std::string(kSacctFew) + "\n1|noon|2026-01-01T00:00:07|2026-01-01T00:01:00||gres/gpu=1|\n",
      "s.txt");
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error()[0].what, "Submit cannot be read");
  EXPECT_EQ(unread.error()[0].place.line, 3);
}

TEST(TraceRows, a_csv_takes_each_of_its_names) {
  for (const char* header : {"submit,run,gpus,nodes,limit,wait,user,queue",
                             "submit_s,run_s,num_gpus,num_nodes,limit_s,"
                             "wait_s,user,partition",
                             "timestamp,duration_s,gpu_num,nodes,timelimit,wait,user,cluster",
                             "submit_time,duration,gpus,nodes,limit,wait,user,vc"}) {
    const auto trace = read_jobs(std::string(header) + "\n10,20,3,4,50,6,ada,a\n", "j.csv");
    ASSERT_TRUE(trace) << header;
    const JobRecord& job = trace->jobs.at(0);
    EXPECT_EQ(job.run, seconds(20)) << header;
    EXPECT_EQ(job.gpus, 3) << header;
    EXPECT_EQ(job.nodes, 4) << header;
    EXPECT_EQ(job.limit, seconds(50)) << header;
    EXPECT_EQ(job.wait, seconds(6)) << header;
    EXPECT_THAT(trace->users, ElementsAre("ada")) << header;
    EXPECT_THAT(trace->queues, ElementsAre("a")) << header;
    EXPECT_TRUE(trace->has_limits);
  }
}

TEST(TraceRows, times_at_their_bounds) {
  EXPECT_EQ(parse_timestamp("1970-12-31 23:59:60"), 365.0 * 86400);
  EXPECT_EQ(parse_timestamp(" 1971-01-01T00:00:00 "), 365.0 * 86400);
  EXPECT_EQ(parse_timestamp("1970-03-01 01:01:01"), 59.0 * 86400 + 3661);
  for (const char* bad : {"2024x01-01 00:00:00", "2024-01x01 00:00:00", "2024-01-01x00:00:00",
                          "2024-01-01 00x00:00", "2024-01-01 00:00x00", "2024-01-01 00:00:0",
                          "202a-01-01 00:00:00", "2024-01-01 0/:00:00", "2024-01-01 0::00:00"}) {
    EXPECT_FALSE(parse_timestamp(bad)) << bad;
  }
  EXPECT_EQ(parse_slurm_time("0:00"), seconds(0));
  EXPECT_EQ(parse_slurm_time("3-00:07"), seconds(3 * 86400 + 7));
  EXPECT_FALSE(parse_slurm_time("x-00:07"));
}

constexpr const char* kPodColumns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

TEST(TraceRows, counts_of_pods_reach_to_two_milliards) {
  const std::string head = kPodColumns;
  const auto most = read_pods(head + "p,2000000000,0,0,0,\n", "p.csv");
  ASSERT_TRUE(most) << to_text(most.error());
  EXPECT_EQ(most->at(0).cpu_milli, 2'000'000'000);
  EXPECT_EQ(most->at(0).memory_mib, 0);
  EXPECT_FALSE(read_pods(head + "p,2000000001,0,0,0,\n", "p.csv"));
  EXPECT_FALSE(read_pods(head + "p,,0,0,0,\n", "p.csv"));
  EXPECT_TRUE(read_pods(head + "p,1,1,1,999,\n", "p.csv")) << "a part of one";
  const auto bad = read_pods(head + "p,1,1,1,1000,\nq,1,x,2,999,\n", "p.csv");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 2U);
  EXPECT_EQ(bad.error()[0].what, "memory_mib is no count");
  EXPECT_EQ(bad.error()[1].what, "several GPUs are whole ones: gpu_milli 1000");
  EXPECT_EQ(bad.error()[1].place.line, 3);
  EXPECT_EQ(bad.error()[1].place.file, "p.csv");
  EXPECT_EQ(bad.error()[1].code, "trace.row");
}

TEST(TraceRows, text_that_is_no_table_is_no_trace_of_pods) {
  const std::string torn = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1\n";
  EXPECT_FALSE(read_pods(torn, "p.csv"));
  EXPECT_FALSE(read_pods("", "p.csv"));
  EXPECT_FALSE(read_pod_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1\n", "n.csv"));
  const auto lacking = read_pods("name,memory_mib,gpu_milli\np,1,1\n", "p.csv");
  ASSERT_FALSE(lacking);
  ASSERT_EQ(lacking.error().size(), 2U);
  EXPECT_EQ(lacking.error()[0].what, "column cpu_milli is missing");
  EXPECT_EQ(lacking.error()[1].what, "column num_gpu is missing");
  EXPECT_EQ(lacking.error()[0].place.line, 1);
  EXPECT_FALSE(looks_like_pods("cpu_milli\ngpu_milli\n")) << "the first line alone says it";
  EXPECT_FALSE(looks_like_pods("gpu_milli\n"));
}

TEST(TraceRows, nodes_of_pods_have_all_that_their_row_says) {
  const std::string head = "sn,cpu_milli,memory_mib,gpu,model\n";
  const auto nodes = read_pod_nodes(head + "a,100,200,3,T4\nb,300,400,0,\n", "n.csv");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[0].cpu_milli, 100);
  EXPECT_EQ((*nodes)[0].memory_mib, 200);
  EXPECT_EQ((*nodes)[0].gpus, 3);
  EXPECT_EQ((*nodes)[1].gpus, 0);
  EXPECT_EQ((*nodes)[1].model, "");
  const auto wide = read_pod_nodes(head + "a,1,2,8,T4\nb,1,2,9,T4\n", "n.csv");
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error()[0].what, "more than 8 GPUs on a node are not modelled");
  EXPECT_EQ(wide.error()[0].place.line, 3);
}

// As counted from the trace: jobs by width, and run times of one, of 2 and 4, and of more GPUs.
TEST(TraceRows, the_stream_of_philly_is_as_it_was_counted) {
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

// Between 0.5 and 0.9 the logarithm is linear: at 0.6 a quarter of the way from 16 to 1296.
TEST(TraceRows, a_quantile_between_uneven_points) {
  const std::vector<QuantilePoint> points = {
      {0, seconds(3)}, {0.5, seconds(16)}, {0.9, seconds(1296)}};
  EXPECT_NEAR(quantile_of(points, 0.6).base(), 48, 1e-9);
  EXPECT_NEAR(quantile_of(points, 0.5).base(), 16, 1e-9);
  EXPECT_EQ(quantile_of(points, 0.95), seconds(1296)) << "beyond the last";
  EXPECT_EQ(quantile_of(std::vector<QuantilePoint>{{0, seconds(3)}}, 0.5), seconds(3));
}

TEST(TraceRows, jobs_are_made_up_without_classes_or_users_too) {
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
  // A width of no weight is never drawn, and all are of one class where there is one.
  JobMix mix{.jobs = 200};
  mix.classes = {{.widths = {{2, 0}, {3, 1}}, .runs = {{0, seconds(7)}, {1, seconds(7)}}}};
  for (const JobRecord& job : synthesize_jobs(mix, 4).jobs) {
    EXPECT_EQ(job.gpus, 3);
    EXPECT_NEAR(job.run.base(), 7, 1e-9);
  }
}

TEST(TraceRows, a_record_says_nothing_that_it_was_not_told) {
  const JobRecord job;
  EXPECT_EQ(job.gpus, 1);
  EXPECT_EQ(job.nodes, 0);
  EXPECT_EQ(job.user, -1);
  EXPECT_EQ(job.queue, -1);
  const PodRecord pod;
  EXPECT_EQ(pod.cpu_milli + pod.memory_mib + pod.gpus + pod.gpu_milli, 0);
  const PodNodeRecord node;
  EXPECT_EQ(node.cpu_milli + node.memory_mib + node.gpus, 0);
  EXPECT_EQ(JobTrace{}.left_out, 0);
  EXPECT_EQ(JobMix{}.jobs, 1000);
  EXPECT_EQ(JobMix{}.span, days(1));
  EXPECT_EQ(WidthShare{}.gpus, 1);
  EXPECT_EQ(WidthShare{}.weight, 1);
}

}  // namespace
}  // namespace orrery::workload
