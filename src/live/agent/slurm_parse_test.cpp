#include "live/agent/slurm_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent::slurm_parse_tests {
namespace {

using failure::NodeView;
using testing::ElementsAre;
using testing::HasSubstr;
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

TEST(SlurmParse, jobs_are_read_as_squeue_prints_them) {
  const auto jobs = parse_jobs(kJobs);
  ASSERT_TRUE(jobs);
  ASSERT_THAT(*jobs, SizeIs(6));
  const failure::JobView& running = (*jobs)[0];  // "12" sorts before "3"
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

TEST(SlurmParse, every_state_of_a_job_has_its_phase) {
  using enum failure::JobPhase;
  for (const auto& [state, phase] : std::vector<std::pair<std::string, failure::JobPhase>>{
           {"PENDING", pending},      {"REQUEUE_HOLD", pending},  {"SPECIAL_EXIT", pending},
           {"CONFIGURING", starting}, {"RUNNING", running},       {"SUSPENDED", running},
           {"STOPPED", running},      {"SIGNALING", running},     {"RESIZING", running},
           {"FAILED", failed},        {"NODE_FAIL", failed},      {"BOOT_FAIL", failed},
           {"COMPLETED", ended},      {"CANCELLED", ended},       {"TIMEOUT", ended},
           {"DEADLINE", ended},       {"PREEMPTED", ended},       {"REVOKED", ended},
           {"OUT_OF_MEMORY", ended},  {"COMPLETING", completing}, {"STAGE_OUT", completing}}) {
    const auto jobs =
        parse_jobs("9;" + state + ";2;1;2026-11-15T05:00:00;2026-11-15T06:00:00;n[1-2];None;\n");
    ASSERT_TRUE(jobs && jobs->size() == 1) << state;
    const failure::JobView& job = jobs->front();
    EXPECT_EQ(job.phase, phase) << state;
    EXPECT_EQ(job.restarts, 2);
    EXPECT_EQ(job.eligible.base(), 1794722400 - 3600);
    EXPECT_EQ(job.ended.base(), phase == failed ? 1794722400 : 0) << state;
    EXPECT_EQ(job.nodes.size(), phase == pending ? 0u : 2u) << state;
  }
}

TEST(SlurmParse, failed_launch_is_not_a_hold_by_a_person) {
  const auto jobs = parse_jobs(
      "1;PENDING;3;1;N/A;N/A;;launch failed requeued held;\n"
      "2;PENDING;0;1;N/A;N/A;;JobHeldAdmin;\n3;PENDING;1;1;N/A;N/A;;JobHoldMaxRequeue;\n"
      "4;REQUEUE_HOLD;1;1;N/A;N/A;;None;\n5;PENDING;1;1;N/A;N/A;n[1-2];Resources;\n");
  ASSERT_TRUE(jobs);
  EXPECT_TRUE((*jobs)[0].held);
  EXPECT_TRUE((*jobs)[0].launch_failed);
  EXPECT_TRUE((*jobs)[1].held);
  EXPECT_FALSE((*jobs)[1].launch_failed);
  EXPECT_TRUE((*jobs)[2].held && (*jobs)[3].held);
  EXPECT_FALSE((*jobs)[4].held);
  EXPECT_THAT((*jobs)[4].nodes, IsEmpty()) << "a waiting job has no nodes";
}

TEST(SlurmParse, unknown_state_of_a_later_slurm_is_left_alone) {
  const auto jobs = parse_jobs("1;NEW_STATE;0;1;N/A;N/A;n1;None;\n");
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs->front().phase, failure::JobPhase::completing);
}

TEST(SlurmParse, incomplete_or_impossible_row_makes_the_look_an_error) {
  for (const char* bad :
       {"1;RUNNING;0;1;N/A\n", "1;RUNNING;0;1;N/A;N/A;n1\n", "1;RUNNING;x;1;N/A;N/A;n1;None;\n",
        "1;RUNNING;-1;1;N/A;N/A;n1;None;\n", "1;RUNNING;1000000001;1;N/A;N/A;n1;None;\n",
        "1;RUNNING;0;1;N/A;N/A;n[1-;None;\n", "1;RUNNING;0;1;N/A;N/A;n[1-999999999];None;\n"}) {
    EXPECT_FALSE(parse_jobs(bad)) << bad;
  }
  for (const char* good :
       {"", "1;RUNNING;1000000000;1;N/A;N/A;n1;None;\n", "1;RUNNING;0;1;N/A;N/A;n1;None\n",
        "1;PENDING;0;1;N/A;N/A;;a reason\nof two lines;\n",
        "12 lines of a banner;\nslurm_load_jobs error: 7\n"}) {
    EXPECT_TRUE(parse_jobs(good)) << good;
  }
}

TEST(SlurmParse, first_of_two_rows_with_one_name_wins) {
  const auto jobs = parse_jobs(
      "9;RUNNING;1;1;N/A;N/A;n1;None;\n10;RUNNING;2;1;N/A;N/A;n2;None;\n"
      "9;FAILED;3;1;N/A;N/A;n3;None;\n");
  ASSERT_TRUE(jobs);
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ((*jobs)[0].id, "10") << "sorted as text";
  EXPECT_EQ((*jobs)[1].id, "9");
  EXPECT_EQ((*jobs)[1].restarts, 1);
  const auto nodes = parse_nodes("b;idle;x;\na;down;x;\nb;down;x;\n");
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(NodeView{.name = "a", .down = true}, NodeView{.name = "b"}));
}

TEST(SlurmParse, nodes_are_read_as_sinfo_prints_them) {
  const auto nodes = parse_nodes(
      "n1;idle;none;\nn1;idle;none;\nn2;down+drain;orrery: y;\nn3;idle*;none;\n"
      "n4;mixed+drain;fatal: xid 79;\nn5;idle+drain;spare;\nn6;down+not_responding;Not "
      "responding;\n"
      "n7;down+reboot_issued;kernel;\nn8;allocated+drain;spare parts?;\nn9;idle~;none;\n");
  ASSERT_TRUE(nodes);
  ASSERT_THAT(*nodes, SizeIs(9));
  const auto& n = *nodes;
  EXPECT_EQ(n[0], (NodeView{.name = "n1"}));
  EXPECT_EQ(n[1], (NodeView{.name = "n2", .down = true, .drained = true}));
  EXPECT_EQ(n[2], (NodeView{.name = "n3", .silent = true}));
  EXPECT_EQ(n[3], (NodeView{.name = "n4", .drained = true, .broken = true}));
  EXPECT_EQ(n[4], (NodeView{.name = "n5", .drained = true, .spare = true}));
  EXPECT_EQ(n[5], (NodeView{.name = "n6", .down = true, .silent = true}));
  EXPECT_EQ(n[6], (NodeView{.name = "n7"}));  // rebooting on purpose
  EXPECT_TRUE(n[7].spare);
  EXPECT_EQ(n[8], (NodeView{.name = "n9"}));
  EXPECT_FALSE(parse_nodes(""));
  EXPECT_FALSE(parse_nodes("n1;;none;\n"));
}

TEST(SlurmParse, flags_of_a_node_are_read_one_by_one) {
  const auto node = [](const std::string& state, const std::string& reason = "none") {
    return parse_nodes("n;" + state + ";" + reason + ";\n", {}).value().front();
  };
  EXPECT_TRUE(node("down").down && !node("down").silent && !node("down").drained);
  EXPECT_TRUE(node("down*").silent && node("down*").down);
  EXPECT_TRUE(node("idle+not_responding").silent);
  for (const char* planned :
       {"reboot", "reboot_issued", "reboot_requested", "maint", "powered_down", "powering_down",
        "powering_up", "power_down", "power_up"}) {
    const auto seen = node(std::string("down*+") + planned);
    EXPECT_FALSE(seen.down || seen.silent) << planned;
  }
  for (const char* out : {"drain", "drained", "draining", "fail", "failing"}) {
    EXPECT_TRUE(node(std::string("idle+") + out).drained) << out;
  }
  EXPECT_TRUE(node("fail").broken && node("failing").broken);
  EXPECT_FALSE(node("idle+drain").broken || node("idle+drain").spare);
  const SlurmMarks marks;
  EXPECT_TRUE(node("idle+drain", marks.broken + ": x").broken);
  EXPECT_TRUE(node("idle+drain", marks.spare + " 3").spare);
  EXPECT_FALSE(node("idle", marks.spare).spare || node("idle", marks.broken).broken);
  for (const char* state : {"idle~*", "idle*+drain~", "drain~+idle*"}) {
    EXPECT_TRUE(node(state).silent) << state;
  }
  for (const char* sign : {"*", "~", "#", "!", "%", "$", "@", "^", "-"}) {
    EXPECT_TRUE(node(std::string("drained") + sign).drained) << sign;
    EXPECT_EQ(node(std::string("drained") + sign).silent, *sign == '*') << sign;
  }
}

TEST(SlurmParse, spare_and_broken_marks_apply_to_drained_nodes_only) {
  EXPECT_EQ(
      parse_nodes("n;drain;kept;\nm;drain;bad disk;\n", {.spare = "kept", .broken = "bad"}).value(),
      (std::vector<NodeView>{{.name = "m", .drained = true, .broken = true},
                             {.name = "n", .drained = true, .spare = true}}));
  EXPECT_EQ(parse_nodes("n; IDLE+DRAIN ;  spare;\n").value().front(),
            (NodeView{.name = "n", .drained = true, .spare = true}))
      << "in any case, with blanks";
  const auto nodes = parse_nodes("a;idle;one\n;idle;two;\nrest of a reason\nb;idle\n\n");
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, ElementsAre(NodeView{.name = "a"})) << "other lines are skipped";
}

TEST(SlurmParse, fault_names_the_program_and_quotes_200_bytes) {
  const auto jobs = parse_jobs("1;" + std::string(400, 'x') + "\n");
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().front().code, "slurm.output");
  EXPECT_EQ(jobs.error().front().place.file, "squeue");
  EXPECT_THAT(jobs.error().front().what, testing::EndsWith(" 1;" + std::string(198, 'x')));
  EXPECT_EQ(parse_nodes("n;;x;\n").error().front().place.file, "sinfo");
  EXPECT_EQ(parse_nodes("").error().front().place.file, "sinfo") << "there is always a node";
}

TEST(SlurmParse, host_lists_are_expanded) {
  const auto hosts = [](const char* list) {
    return expand_hosts(list).value_or(std::vector<std::string>{"refused"});
  };
  EXPECT_THAT(hosts("n[08-11],m,rack[1,3]-a"),
              ElementsAre("n08", "n09", "n10", "n11", "m", "rack1-a", "rack3-a"));
  EXPECT_THAT(hosts("n[098-101]x"), ElementsAre("n098x", "n099x", "n100x", "n101x"));
  EXPECT_THAT(hosts("n[5-5]"), ElementsAre("n5"));
  EXPECT_THAT(hosts(""), IsEmpty());
  EXPECT_THAT(hosts(" (null) "), IsEmpty());
  for (const char* bad : {"n[", "n]", "n[1", "n[2-1]", "n[a-b]", "a,,b", "n[1-2-3]", "][", "n]1[",
                          "n[-1]", "n[0-99999999999999999999]"}) {
    EXPECT_THAT(hosts(bad), ElementsAre("refused")) << bad;
  }
  EXPECT_THAT(hosts("n[1-200000]"), SizeIs(200'000));
  EXPECT_THAT(hosts("n[1-200001]"), ElementsAre("refused"));
  EXPECT_THAT(hosts("n[1-200000],m"), ElementsAre("refused"));
}

TEST(SlurmParse, times_are_utc_and_anything_else_is_zero) {
  // 2001-09-09T01:46:40 is 10^9 seconds after 1970.
  EXPECT_EQ(parse_slurm_time("2001-09-09T01:46:40").base(), 1e9);
  EXPECT_EQ(parse_slurm_time("2011-10-19T11:56:59").base() - 1e9,
            (3652 + 30 + 10) * 86'400.0 + 36'000 + 600 + 19);
  EXPECT_EQ(parse_slurm_time(" 1970-01-02T03:04:05 "), seconds(86'400 + 3 * 3600 + 4 * 60 + 5));
  for (const char* none :
       {"N/A", "NONE", "Unknown", "", "2026-13-01T00:00:00", "2026-02-30T00:00:00",
        "2026-1-1T0:0:0", "2001-09-09T01:46:4", "2001-09-09T01:46:400", "2001-09-09 01:46:40",
        "2001-09-09T01-46:40", "2001-09-0:T01:46:40", "2001-00-09T01:46:40"}) {
    EXPECT_EQ(parse_slurm_time(none), Seconds()) << none;
  }
}

}  // namespace
}  // namespace orrery::agent::slurm_parse_tests
