#include "core/workload/job_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "core/workload/job_synthesis.h"

namespace orrery::workload {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobTrace, timestamps_are_read) {
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

TEST(JobTrace, philly_format_is_read) {
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
  EXPECT_EQ(trace->jobs[1].run, seconds(50));  // of two jobs at one second, the shorter comes first
  EXPECT_EQ(trace->jobs[2].submit, seconds(10));
  EXPECT_EQ(trace->queues, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(trace->has_limits);
}

TEST(JobTrace, swf_format_is_read) {
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

TEST(JobTrace, sacct_format_is_read) {
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

TEST(JobTrace, any_csv_with_three_columns_is_read) {
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

// Compared with the C library over days around leap years, centuries and February.
TEST(JobTrace, timestamps_agree_with_timegm) {
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

TEST(JobTrace, slurm_durations_are_read) {
  EXPECT_EQ(parse_slurm_time("2-00:00:00"), days(2));
  EXPECT_EQ(parse_slurm_time("01:00:01"), seconds(3601));
  EXPECT_EQ(parse_slurm_time("01:30"), seconds(90));
  for (const char* bad : {"90", "1:2:3:4", "-1:00", "1-2-03:04", "a:00"}) {
    EXPECT_FALSE(parse_slurm_time(bad)) << bad;
  }
}

// Columns of the Standard Workload Format: 2 submit, 3 wait, 4 run, 5 processors, 8 processors
// requested, 9 time requested, 12 user, 15 queue.
TEST(JobTrace, swf_columns_are_read) {
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
  EXPECT_THAT(narrow.error().front().what, HasSubstr("13 columns, but SWF has 18"));
}

TEST(JobTrace, format_is_recognised) {
  EXPECT_EQ(format_of("; comment\n"), JobFormat::swf);
  EXPECT_EQ(format_of("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n"), JobFormat::swf);
  EXPECT_EQ(format_of("1 2 3\n"), JobFormat::csv);
  EXPECT_EQ(format_of("JobID|Submit\n"), JobFormat::sacct);
  EXPECT_EQ(format_of("timestamp,duration,num_gpus,x\n"), JobFormat::philly);
  EXPECT_EQ(format_of("submit,run,gpus\n"), JobFormat::csv);
}

constexpr const char* kSacctHead =
    "JobID|User|Partition|Submit|Eligible|Start|End|Timelimit|NNodes|AllocTRES|ReqTRES|State\n";

TEST(JobTrace, slurm_wait_starts_when_the_job_is_eligible) {
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

TEST(JobTrace, truncated_slurm_rows_are_reported) {
  const auto cut = read_jobs(std::string(kSacctHead) + "1|ada|a|2026-01-01T00:00:00\n", "s.txt");
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().front().what, AllOf(HasSubstr("4"), HasSubstr("12")));
  EXPECT_EQ(cut.error().front().place.line, 2);
  const auto asked = read_jobs(
      "JobID|Submit|Start|End|ReqTRES\n"
      "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:01:00|gres/gpu=2\n",
      "s.txt");
  ASSERT_TRUE(asked) << "what was asked for will do";
  EXPECT_EQ(asked->jobs[0].gpus, 2);
}

TEST(JobTrace, csv_columns_have_several_names) {
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
}

TEST(JobTrace, only_the_first_twenty_errors_are_reported) {
  std::string text = "submit,run,gpus\n";
  for (int i = 0; i < 100; ++i) text += "noon,1,1\n";
  const auto trace = read_jobs(text, "j.csv");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().size(), 20U);
  EXPECT_EQ(trace.error().front().place.line, 2);
}

TEST(JobTrace, trace_without_usable_jobs_is_refused) {
  const auto empty = read_jobs("submit,run,gpus\n1,2,0\n3,0,1\n", "j.csv");
  ASSERT_FALSE(empty);
  ASSERT_EQ(empty.error().size(), 1U);
  EXPECT_EQ(empty.error()[0].code, "trace.empty");
  EXPECT_EQ(empty.error()[0].place.file, "j.csv");
  EXPECT_EQ(empty.error()[0].why, "read as csv");
  const auto swf = read_jobs("; nothing\n", "log.swf");
  ASSERT_FALSE(swf);
  EXPECT_EQ(swf.error()[0].why, "read as swf");
}

// An empty field is not a number, and neither is one with trailing text.
TEST(JobTrace, non_numeric_fields_are_reported_with_their_line) {
  const auto bad = read_jobs("submit,run,gpus\n1,2,3\n4,5,\n6,7x,1\n,8,1\n", "j.csv");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 3U);
  EXPECT_EQ(bad.error()[0].place.line, 3);
  EXPECT_EQ(bad.error()[1].place.line, 4);
  EXPECT_EQ(bad.error()[2].place.line, 5);
  EXPECT_EQ(bad.error()[0].code, "trace.row");
  EXPECT_EQ(bad.error()[0].place.file, "j.csv");
  EXPECT_THAT(bad.error()[0].fix, AllOf(HasSubstr("2026-01-31"), HasSubstr("12:00:00")));
  const auto swf = read_jobs("1 2 3 4 5 6 7 8 9 10 x 12 13 14 15 16 17 18\n", "l", JobFormat::swf);
  ASSERT_FALSE(swf);
  EXPECT_EQ(swf.error()[0].what, "'x' is not a number");
  EXPECT_EQ(swf.error()[0].place.line, 1);
}

TEST(JobTrace, fractions_of_seconds_are_kept) {
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

// User 0 and queue 0 are real; 0 processors are none.
TEST(JobTrace, zero_is_a_user_and_queue_but_not_a_processor_count) {
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

TEST(JobTrace, simultaneous_jobs_are_ordered_by_run_time_then_width) {
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

TEST(JobTrace, slurm_gpus_are_counted_in_total_or_by_type) {
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

TEST(JobTrace, optional_slurm_columns_may_be_missing) {
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

TEST(JobTrace, missing_slurm_columns_are_named) {
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
  EXPECT_THAT(unread.error()[0].what, HasSubstr("Submit"));
  EXPECT_EQ(unread.error()[0].place.line, 3);
}

TEST(JobTrace, every_csv_column_alias_is_read) {
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

TEST(JobTrace, time_formats_at_their_bounds) {
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

TEST(JobTrace, impossible_times_and_counts_are_refused_with_their_line) {
  for (const char* row : {"1 0 0 99999999999999999999 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1",
                          "1 0 1e300 5 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1",
                          "1 1e18 0 5 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1",
                          "1 0 0 5 99999999999 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1"}) {
    const auto trace = read_jobs("; a log\n" + std::string(row) + '\n', "log.swf");
    ASSERT_FALSE(trace) << row;
    EXPECT_EQ(trace.error().at(0).code, "trace.row");
    EXPECT_EQ(trace.error().at(0).place.line, 2);
  }
  EXPECT_FALSE(read_jobs("submit,run,gpus\n0,1e20,1\n", "log.csv"));
  EXPECT_TRUE(read_jobs("submit,run,gpus\n1.7e9,86400,1\n", "log.csv"));
}

}  // namespace
}  // namespace orrery::workload
