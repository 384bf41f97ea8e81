#include "live/agent/slurm_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// As squeue of Slurm 22.05 printed them, with TZ=UTC.
constexpr const char* kJobs =
    "7;PENDING;1;1;2026-11-15T05:28:59;2026-11-15T06:00:00;;BeginTime;\n"
    "12;RUNNING;0;1;2026-11-15T05:26:55;NONE;n[1-2,05];None;\n"
    "3;COMPLETING;2;1;2026-11-15T05:26:55;NONE;n[3-4];None;\n"
    "4;FAILED;0;0;2026-11-15T05:26:55;2026-11-15T05:30:00;n9;NonZeroExitCode;\n"
    "5;COMPLETED;0;1;2026-11-15T05:26:55;2026-11-15T05:30:00;n9;None;\n"
    "6;PENDING;0;1;N/A;N/A;;JobHeldUser;\n";

TEST(SlurmParse, jobs_as_squeue_prints_them) {
  const auto jobs = parse_jobs(kJobs);
  ASSERT_TRUE(jobs);
  ASSERT_THAT(*jobs, SizeIs(6));
  const failure::JobView& running = (*jobs)[0];  // "12" sorts first
  EXPECT_EQ(running.id, "12");
  EXPECT_EQ(running.phase, failure::JobPhase::running);
  EXPECT_THAT(running.nodes, ElementsAre("n1", "n2", "n05"));
  const failure::JobView& waiting = jobs->back();
  EXPECT_EQ(waiting.id, "7");
  EXPECT_EQ(waiting.restarts, 1);
  EXPECT_TRUE(waiting.waits_for_time);
  EXPECT_EQ(waiting.eligible, seconds(1794720539));
  EXPECT_THAT(waiting.nodes, IsEmpty());
  EXPECT_EQ((*jobs)[1].phase, failure::JobPhase::completing);
  EXPECT_EQ((*jobs)[2].phase, failure::JobPhase::failed);
  EXPECT_FALSE((*jobs)[2].requeueable);
  EXPECT_EQ((*jobs)[2].ended, seconds(1794720600));
  EXPECT_EQ((*jobs)[3].phase, failure::JobPhase::ended);
  EXPECT_TRUE((*jobs)[4].held);
}

TEST(SlurmParse, a_failed_launch_holds_a_job_and_is_no_persons_hold) {
  const auto jobs = parse_jobs(
      "1;PENDING;3;1;N/A;N/A;;launch failed requeued "
      "held;\n2;PENDING;0;1;N/A;N/A;;JobHeldAdmin;\n");
  ASSERT_TRUE(jobs);
  EXPECT_TRUE((*jobs)[0].held);
  EXPECT_TRUE((*jobs)[0].launch_failed);
  EXPECT_TRUE((*jobs)[1].held);
  EXPECT_FALSE((*jobs)[1].launch_failed);
}

TEST(SlurmParse, a_state_of_a_later_slurm_is_left_alone) {
  const auto jobs = parse_jobs("1;NEW_STATE;0;1;N/A;N/A;n1;None;\n");
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs->front().phase, failure::JobPhase::completing);
}

TEST(SlurmParse, half_a_row_makes_the_look_an_error) {
  EXPECT_FALSE(parse_jobs("1;RUNNING;0;1;N/A\n"));
  EXPECT_FALSE(parse_jobs("1;RUNNING;x;1;N/A;N/A;n1;None;\n"));
  EXPECT_FALSE(parse_jobs("1;RUNNING;0;1;N/A;N/A;n[1-;None;\n"));
  EXPECT_FALSE(parse_jobs("1;RUNNING;0;1;N/A;N/A;n[1-999999999];None;\n"));
  EXPECT_TRUE(parse_jobs(""));
  EXPECT_TRUE(parse_jobs("1;PENDING;0;1;N/A;N/A;;a reason\nof two lines;\n"));
}

TEST(SlurmParse, nodes_as_sinfo_prints_them) {
  const auto nodes = parse_nodes(
      "n1;idle;none;\nn1;idle;none;\nn2;down+drain;orrery: y;\nn3;idle*;none;\n"
      "n4;mixed+drain;fatal: xid 79;\nn5;idle+drain;spare;\nn6;down+not_responding;Not "
      "responding;\n"
      "n7;down+reboot_issued;kernel;\nn8;allocated+drain;spare parts?;\nn9;idle~;none;\n");
  ASSERT_TRUE(nodes);
  ASSERT_THAT(*nodes, SizeIs(9));
  const auto& n = *nodes;
  EXPECT_EQ(n[0], (failure::NodeView{.name = "n1"}));
  EXPECT_EQ(n[1], (failure::NodeView{.name = "n2", .down = true, .drained = true}));
  EXPECT_EQ(n[2], (failure::NodeView{.name = "n3", .silent = true}));
  EXPECT_EQ(n[3], (failure::NodeView{.name = "n4", .drained = true, .broken = true}));
  EXPECT_EQ(n[4], (failure::NodeView{.name = "n5", .drained = true, .spare = true}));
  EXPECT_EQ(n[5], (failure::NodeView{.name = "n6", .down = true, .silent = true}));
  EXPECT_EQ(n[6], (failure::NodeView{.name = "n7"}));  // taken off on purpose
  EXPECT_TRUE(n[7].spare);
  EXPECT_EQ(n[8], (failure::NodeView{.name = "n9"}));
  EXPECT_FALSE(parse_nodes(""));
  EXPECT_FALSE(parse_nodes("n1;;none;\n"));
}

TEST(SlurmParse, host_lists) {
  EXPECT_THAT(expand_hosts("n[08-11],m,rack[1,3]-a").value(),
              ElementsAre("n08", "n09", "n10", "n11", "m", "rack1-a", "rack3-a"));
  EXPECT_THAT(expand_hosts("").value(), IsEmpty());
  EXPECT_THAT(expand_hosts("(null)").value(), IsEmpty());
  for (const char* bad : {"n[", "n]", "n[1", "n[2-1]", "n[a-b]", "a,,b", "n[1-2-3]", "][",
                          "n[0-99999999999999999999]"}) {
    EXPECT_FALSE(expand_hosts(bad)) << bad;
  }
}

TEST(SlurmParse, times_that_are_none_are_zero) {
  EXPECT_EQ(parse_slurm_time("1970-01-02T00:00:01"), seconds(86401));
  for (const char* none : {"N/A", "NONE", "Unknown", "", "2026-13-01T00:00:00", "2026-1-1T0:0:0"}) {
    EXPECT_EQ(parse_slurm_time(none), Seconds()) << none;
  }
}

}  // namespace
}  // namespace orrery::agent
