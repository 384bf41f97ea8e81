#include "live/agent/slurm_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "live/agent/slurm_fixture.h"

namespace orrery::agent::slurm_port_tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(SlurmPort, look_is_three_calls_in_utc_with_the_given_conf_and_no_filters) {
  SlurmTables slurm{.squeue = "1;RUNNING;0;1;N/A;N/A;n1;None;\n"};
  const auto view = SlurmPort({.conf = "/etc/x.conf"}, slurm.runner()).look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->jobs.size(), 1u);
  EXPECT_EQ(view->nodes.size(), 1u);
  ASSERT_EQ(slurm.asked.size(), 3u);
  EXPECT_EQ(slurm.asked[0].words[0], "squeue");
  for (const Command& c : slurm.asked) {
    EXPECT_THAT(c.environment, ElementsAre(Pair("TZ", "UTC"), Pair("SLURM_TIME_FORMAT", "standard"),
                                           Pair("SLURM_CONF", "/etc/x.conf")));
    EXPECT_THAT(c.environment_without,
                ElementsAre("SQUEUE_", "SINFO_", "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN="));
  }
  slurm.asked.clear();
  ASSERT_TRUE(SlurmPort({}, slurm.runner()).look());
  EXPECT_EQ(slurm.asked[0].environment.size(), 2u) << "no conf was given";
}

TEST(SlurmPort, look_fails_if_any_program_fails) {
  for (const std::string failing : {"squeue", "sinfo", "scontrol"}) {
    SlurmTables slurm{.failing = failing};
    const auto look = SlurmPort({}, slurm.runner()).look();
    ASSERT_FALSE(look) << failing;
    EXPECT_EQ(look.error().front().place.file, failing);
  }
}

// The old controller answers about the nodes, the new one about its start time.
TEST(SlurmPort, look_is_repeated_if_the_controller_restarted_during_it) {
  int start = 1;
  std::string nodes = "n1;down;none;\n";
  int looks = 0;
  SlurmPort port({}, [&](const Command& command) -> Result<CommandResult> {
    if (command.words[0] == "sinfo") ++looks;
    if (command.words[0] == "sinfo") return CommandResult{.out = nodes};
    if (command.words[0] == "squeue") return CommandResult{};
    if (start == 2) nodes = "n1;idle;none;\n";
    return CommandResult{.out = "BOOT_TIME = 2026-11-15T05:00:0" + std::to_string(start) + "\n"};
  });
  ASSERT_TRUE(port.look());
  EXPECT_EQ(looks, 1);
  start = 2;
  const auto view = port.look();
  ASSERT_TRUE(view);
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(view->nodes.front().down);
  ASSERT_TRUE(port.look());
  EXPECT_EQ(looks, 4);
}

TEST(SlurmPort, jobs_that_wait_after_a_run_show_the_nodes_they_avoid) {
  SlurmTables slurm{.squeue = "7;PENDING;0;1;N/A;N/A;;Resources;\n",
                    .config = "BOOT_TIME               = 2026-11-15T05:28:59\n",
                    .excluded = "7;n9\n"};
  SlurmPort port({}, slurm.runner());
  const auto first = port.look();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->controller_since, parse_slurm_time("2026-11-15T05:28:59"));
  EXPECT_EQ(slurm.asked.size(), 3u) << "the job has not run yet, so it is not queried";
  slurm.squeue =
      "12;PENDING;2;1;N/A;N/A;;Resources;\n7;PENDING;1;1;N/A;N/A;;Resources;\n"
      "8;PENDING;0;1;N/A;N/A;;None;\n";
  slurm.excluded = "1;n5\n12;n[1-2],n9\n13;n7\n7;(null)\n8;n8\n";
  const auto look = port.look();
  ASSERT_TRUE(look);
  EXPECT_THAT(look->jobs[0].avoids, ElementsAre("n1", "n2", "n9"));
  EXPECT_THAT(look->jobs[1].avoids, IsEmpty());
  EXPECT_THAT(look->jobs[2].avoids, IsEmpty()) << "job 8 has not run yet";
}

TEST(SlurmPort, each_action_is_one_call_of_scontrol) {
  SlurmTables slurm{.excluded = "b,m[1-2]\n"};
  SlurmPort port({}, slurm.runner());
  const auto words_of = [&](const failure::RecoveryAction& action) {
    EXPECT_TRUE(port.act(action));
    return slurm.asked.back().words;
  };
  using enum failure::ActionKind;
  const std::string why = "a \"reason\"\n\x7f of " + std::string(300, 'x');
  const std::string reason = "Reason=a  reason    of " + std::string(200 - 16, 'x');
  EXPECT_THAT(words_of({.kind = drain_node, .nodes = {"n1"}, .why = why}),
              ElementsAre("scontrol", "update", "NodeName=n1", "State=DRAIN", reason))
      << "one line of at most 200 plain characters";
  EXPECT_THAT(words_of({.kind = down_node, .nodes = {"n1"}, .why = "x"}),
              ElementsAre("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=x"));
  EXPECT_THAT(words_of({.kind = resume_spare, .nodes = {"n1"}}),
              ElementsAre("scontrol", "update", "NodeName=n1", "State=RESUME"));
  EXPECT_THAT(words_of({.kind = requeue_job, .job = "7"}), ElementsAre("scontrol", "requeue", "7"));
  EXPECT_THAT(words_of({.kind = release_job, .job = "7"}),
              ElementsAre("scontrol", "update", "JobId=7", "StartTime=now"));
  EXPECT_THAT(words_of({.kind = hold_job, .job = "7"}), ElementsAre("scontrol", "hold", "7"));
  EXPECT_THAT(words_of({.kind = unhold_job, .job = "7"}), ElementsAre("scontrol", "release", "7"));
  EXPECT_THAT(words_of({.kind = exclude_nodes, .job = "7", .nodes = {"c", "a"}}),
              ElementsAre("scontrol", "update", "JobId=7", "ExcNodeList=a,b,c,m1,m2"))
      << "nodes that the job avoided before stay avoided";
}

TEST(SlurmPort, only_plain_names_become_arguments) {
  SlurmTables slurm;
  SlurmPort port({}, slurm.runner());
  const auto drain = [&](const std::string& name) {
    return port.act({.kind = failure::ActionKind::drain_node, .nodes = {name}});
  };
  for (const std::string& good : {std::string("n1"), std::string("N-1_a.b"), std::string("0"),
                                  std::string("zZ9"), std::string(255, 'n')}) {
    EXPECT_TRUE(drain(good)) << good;
  }
  slurm.asked.clear();
  for (const std::string& bad :
       {std::string(), std::string("-all"), std::string("n1,n2"), std::string("n1 State=DOWN"),
        std::string("n\n"), std::string("$(x)"), std::string("a;b"), std::string("a/b"),
        std::string("a@b"), std::string("a[1]"), std::string("a{"), std::string("a`"),
        std::string(256, 'n')}) {
    const auto refused = drain(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().front().code, "slurm.name");
    if (bad.empty()) continue;  // an action without a job
    EXPECT_FALSE(port.act({.kind = failure::ActionKind::requeue_job, .job = bad})) << bad;
  }
  EXPECT_THAT(slurm.asked, IsEmpty());
}

TEST(SlurmPort, refusal_says_what_the_program_printed) {
  const auto refused_with = [](const CommandResult& answer) {
    SlurmPort port({}, [&](const Command&) -> Result<CommandResult> { return answer; });
    const auto done = port.act({.kind = failure::ActionKind::hold_job, .job = "7"});
    EXPECT_FALSE(done);
    if (done) return std::string("done");
    EXPECT_EQ(done.error().front().code, "slurm.refused");
    EXPECT_EQ(done.error().front().place.file, "scontrol");
    return done.error().front().what;
  };
  EXPECT_THAT(refused_with({.exit_code = 1, .out = "out", .err = " two\nlines \n"}),
              testing::EndsWith(" two lines"));
  EXPECT_THAT(refused_with({.exit_code = 1, .out = "only out\n"}), HasSubstr("only out"));
  EXPECT_THAT(refused_with({.exit_code = 1, .err = std::string(501, 'e')}),
              testing::EndsWith(' ' + std::string(500, 'e')));
  EXPECT_NE(refused_with({.exit_code = 1, .timed_out = true, .err = "x"}),
            refused_with({.exit_code = 1, .output_cut = true, .err = "x"}));
}

failure::FenceState fence_of_n1(SlurmPort& port) {
  const auto view = port.look();
  return view && !view->nodes.empty() ? view->nodes.front().fence : failure::FenceState::none;
}

// Returns true if `state` is seen within five seconds.
bool sees(SlurmPort& port, failure::FenceState state) {
  for (int i = 0; i < 500 && fence_of_n1(port) != state; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fence_of_n1(port) == state;
}

// A cluster whose node n1 is down.
CommandRunner down_n1() {
  return [](const Command& command) -> Result<CommandResult> {
    return CommandResult{.out =
                             command.words[0] == "sinfo" ? "n1;down*;none;\nn2;idle;none;\n" : ""};
  };
}

TEST(SlurmPort, fence_runs_on_its_own_and_looks_show_its_state) {
  using State = failure::FenceState;
  const failure::RecoveryAction fence{.kind = failure::ActionKind::fence_node, .nodes = {"n1"}};
  SlurmPort good({.fence = "true"}, down_n1());
  EXPECT_EQ(fence_of_n1(good), State::none);
  ASSERT_TRUE(good.act(fence));
  EXPECT_TRUE(sees(good, State::off));
  SlurmPort bad({.fence = "false"}, down_n1());
  ASSERT_TRUE(bad.act(fence));
  EXPECT_TRUE(sees(bad, State::failed));
  SlurmPort absent({.fence = "no-such-program-anywhere"}, down_n1());
  EXPECT_FALSE(absent.act(fence));
}

TEST(SlurmPort, hanging_fence_blocks_nothing_and_ends_at_its_timeout_or_with_the_port) {
  const auto before = std::chrono::steady_clock::now();
  // The fence program is given the node's name: `sleep 1d` hangs, and "1d" is a valid name.
  const auto hang = [](SlurmPort& port, const char* node) {
    return port.act({.kind = failure::ActionKind::fence_node, .nodes = {node}});
  };
  {
    SlurmPort port({.fence = "sleep"}, down_n1());
    for (const char* node : {"1d", "2d", "3d"}) ASSERT_TRUE(hang(port, node));
    ASSERT_TRUE(port.look());
    ASSERT_TRUE(hang(port, "1d"));  // already running
  }
  SlurmAccess brief_fence{.fence = "sleep"};
  brief_fence.fence_timeout = seconds(0.1);
  SlurmPort timed(brief_fence, [](const Command& command) -> Result<CommandResult> {
    return CommandResult{.out = command.words[0] == "sinfo" ? "1d;down;none;\n" : ""};
  });
  ASSERT_TRUE(hang(timed, "1d"));
  EXPECT_EQ(fence_of_n1(timed), failure::FenceState::under_way);
  EXPECT_TRUE(sees(timed, failure::FenceState::failed));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(8));
}

// A fence program that ends when the test sets its result.
struct ScriptedFence final : RunningCommand {
  explicit ScriptedFence(std::optional<CommandResult>* ends_with) : result(ends_with) {}
  std::optional<CommandResult> poll() override { return *result; }
  std::optional<CommandResult>* result;
};

class SlurmFences : public testing::Test {
 protected:
  Result<void> fence(const std::string& node) {
    return port.act({.kind = failure::ActionKind::fence_node, .nodes = {node}});
  }
  failure::FenceState state() { return port.look()->nodes[0].fence; }

  SlurmTables slurm{.sinfo = "n1;down;x;\nn2;down;x;\n"};
  std::optional<CommandResult> result;
  int started = 0;
  SlurmPort port{{.fence = "fence"},
                 slurm.runner(),
                 [this](const Command&) -> Result<std::unique_ptr<RunningCommand>> {
                   ++started;
                   return std::make_unique<ScriptedFence>(&result);
                 }};
};

TEST_F(SlurmFences, state_follows_the_program_until_the_node_is_well) {
  using State = failure::FenceState;
  EXPECT_EQ(state(), State::none);
  ASSERT_TRUE(fence("n1") && fence("n1"));
  EXPECT_EQ(started, 1) << "one at a time per node";
  EXPECT_EQ(state(), State::under_way);
  result = CommandResult{.exit_code = 1};
  EXPECT_EQ(state(), State::failed);
  ASSERT_TRUE(fence("n1"));
  result = CommandResult{};
  EXPECT_EQ(state(), State::off);
  slurm.sinfo = "n1;idle*;x;\n";
  EXPECT_EQ(state(), State::off) << "a silent node is not well";
  slurm.sinfo = "n1;idle;x;\n";
  EXPECT_EQ(state(), State::off);
  EXPECT_EQ(state(), State::none);
}

TEST_F(SlurmFences, running_fence_is_kept_though_the_node_is_well) {
  ASSERT_TRUE(fence("n1"));
  slurm.sinfo = "n1;idle;x;\n";
  EXPECT_EQ(state(), failure::FenceState::under_way);
  EXPECT_EQ(state(), failure::FenceState::under_way);
}

TEST_F(SlurmFences, at_most_256_run_at_once) {
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(fence("m" + std::to_string(i)));
  const auto many = fence("m999");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().front().code, "slurm.fences");
}

TEST(SlurmHabits, are_read_from_the_configuration) {
  const auto habits = [](const std::string& config) {
    SlurmTables slurm{.config = config};
    return slurm_habits({}, slurm.runner()).value();
  };
  const SlurmHabits set = habits(
      "BOOT_TIME               = 2026-11-15T06:00:00\nJobRequeue              = 0\n"
      "PreemptType             = preempt/qos\nReturnToService         = 2\nnonsense\n");
  EXPECT_EQ(set.controller_since.base(), 1794722400);
  EXPECT_TRUE(set.preempts);
  EXPECT_FALSE(set.requeues);
  EXPECT_EQ(set.returns_service, 2);
  EXPECT_TRUE(habits("JobRequeue = 1\n").requeues);
  EXPECT_FALSE(habits("PreemptType = preempt/none\n").preempts);
  EXPECT_FALSE(habits("PreemptType = (null)\n").preempts);
}

}  // namespace
}  // namespace orrery::agent::slurm_port_tests
