#include "live/agent/slurm_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace orrery::agent {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Answers in the programs' place and keeps what was asked.
struct Script {
  std::vector<Command> asked;
  CommandResult answer;

  CommandRunner runner() {
    return [this](const Command& command) -> Result<CommandResult> {
      asked.push_back(command);
      CommandResult result = answer;
      if (command.words[0] == "sinfo") result.out = "n1;idle;none;\n";
      if (command.words[0] == "squeue" && answer.out.empty()) result.out = "n2\n";
      return result;
    };
  }
};

TEST(SlurmPort, a_look_is_three_calls_in_utc_with_the_given_conf_and_no_filters) {
  Script script{.asked = {}, .answer = {.out = "1;RUNNING;0;1;N/A;N/A;n1;None;\n"}};
  const auto view = SlurmPort({.conf = "/etc/x.conf"}, script.runner()).look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->jobs.size(), 1u);
  EXPECT_EQ(view->nodes.size(), 1u);
  ASSERT_EQ(script.asked.size(), 3u);
  EXPECT_EQ(script.asked[0].words[0], "squeue");
  EXPECT_THAT(script.asked[0].environment, Contains(Pair("TZ", "UTC")));
  EXPECT_THAT(script.asked[0].environment, Contains(Pair("SLURM_CONF", "/etc/x.conf")));
  EXPECT_THAT(script.asked[0].environment_without, Contains("SQUEUE_"));
}

// The old controller answers for the nodes, the new one for its start time: looked at again, so
// that what the old one knew is not taken for the new one's word.
TEST(SlurmPort, a_look_in_which_the_controller_changes_is_taken_again) {
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

TEST(SlurmPort, each_action_is_one_call) {
  Script script;
  SlurmPort port({.fence = "power-off"}, script.runner());
  const auto words_of = [&](const failure::RecoveryAction& action) {
    script.asked.clear();
    EXPECT_TRUE(port.act(action));
    return script.asked.back().words;
  };
  EXPECT_THAT(
      words_of({.kind = failure::ActionKind::drain_node, .nodes = {"n1"}, .why = "a \"b\"\n c"}),
      ElementsAre("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=a  b   c"));
  EXPECT_THAT(words_of({.kind = failure::ActionKind::requeue_job, .job = "7"}),
              ElementsAre("scontrol", "requeue", "7"));
  EXPECT_THAT(words_of({.kind = failure::ActionKind::release_job, .job = "7"}),
              ElementsAre("scontrol", "update", "JobId=7", "StartTime=now"));
  EXPECT_THAT(words_of({.kind = failure::ActionKind::hold_job, .job = "7"}),
              ElementsAre("scontrol", "hold", "7"));
  EXPECT_THAT(words_of({.kind = failure::ActionKind::unhold_job, .job = "7"}),
              ElementsAre("scontrol", "release", "7"));
  EXPECT_THAT(words_of({.kind = failure::ActionKind::resume_spare, .nodes = {"n3"}}),
              ElementsAre("scontrol", "update", "NodeName=n3", "State=RESUME"));
  // What the job avoided already, n2, stays avoided.
  EXPECT_THAT(
      words_of({.kind = failure::ActionKind::exclude_nodes, .job = "7", .nodes = {"n9", "n1"}}),
      ElementsAre("scontrol", "update", "JobId=7", "ExcNodeList=n1,n2,n9"));
}

failure::FenceState fence_of_n1(SlurmPort& port) {
  const auto view = port.look();
  return view && !view->nodes.empty() ? view->nodes.front().fence : failure::FenceState::none;
}

// Until `state` is seen or the time is over.
bool sees(SlurmPort& port, failure::FenceState state) {
  for (int i = 0; i < 500 && fence_of_n1(port) != state; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fence_of_n1(port) == state;
}

// A down node, and fences that are real programs.
CommandRunner down_n1() {
  return [](const Command& command) -> Result<CommandResult> {
    return CommandResult{.out =
                             command.words[0] == "sinfo" ? "n1;down*;none;\nn2;idle;none;\n" : ""};
  };
}

TEST(SlurmPort, a_fence_runs_by_itself_and_looks_say_how_it_stands) {
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

TEST(SlurmPort, a_fence_that_hangs_blocks_nothing_and_ends_with_its_time_or_the_port) {
  const auto before = std::chrono::steady_clock::now();
  // Given a node's name, `sleep` waits for it: "1d" is a day and a name that Slurm could have
  // given.
  const auto hang = [](SlurmPort& port, const char* node) {
    return port.act({.kind = failure::ActionKind::fence_node, .nodes = {node}});
  };
  {
    SlurmPort port({.fence = "sleep"}, down_n1());
    for (const char* node : {"1d", "2d", "3d"}) ASSERT_TRUE(hang(port, node));
    ASSERT_TRUE(port.look());
    ASSERT_TRUE(hang(port, "1d"));  // one is enough
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

TEST(SlurmPort, a_job_that_waits_after_a_run_says_what_it_avoids) {
  const auto answers = [](const Command& command) -> Result<CommandResult> {
    const auto& words = command.words;
    if (words[0] == "sinfo") return CommandResult{.out = "n1;idle;none;\n"};
    if (words[0] == "scontrol") {
      return CommandResult{.out = "BOOT_TIME               = 2026-11-15T05:28:59\n"};
    }
    return CommandResult{.out = words.back() == "%A;%x" ? "5;n[4-5]\n7;n[1-2],n9\n"
                                                        : "5;PENDING;0;1;N/A;N/A;;None;\n"
                                                          "7;PENDING;1;1;N/A;N/A;;BeginTime;\n"};
  };
  const auto view = SlurmPort({}, answers).look();
  ASSERT_TRUE(view) << to_text(view.error());
  EXPECT_THAT(view->jobs[0].avoids, IsEmpty());
  EXPECT_THAT(view->jobs[1].avoids, ElementsAre("n1", "n2", "n9"));
  EXPECT_EQ(view->controller_since, parse_slurm_time("2026-11-15T05:28:59"));
}

TEST(SlurmPort, a_name_that_is_none_never_becomes_an_argument) {
  Script script;
  SlurmPort port({}, script.runner());
  for (const char* bad : {"n1,n2", "-all", "n1 State=DOWN", "n\n", "$(x)", "ALL;"}) {
    EXPECT_FALSE(port.act({.kind = failure::ActionKind::drain_node, .nodes = {bad}})) << bad;
    EXPECT_FALSE(port.act({.kind = failure::ActionKind::requeue_job, .job = bad})) << bad;
  }
  EXPECT_THAT(script.asked, IsEmpty());
}

TEST(SlurmPort, what_the_program_said_is_in_the_error) {
  Script script{.asked = {}, .answer = {.exit_code = 1, .err = "Invalid job id\n"}};
  const auto done =
      SlurmPort({}, script.runner()).act({.kind = failure::ActionKind::hold_job, .job = "7"});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().front().what, HasSubstr("Invalid job id"));
  EXPECT_FALSE(SlurmPort({}, script.runner()).look());
}

TEST(SlurmPort, habits_are_read_from_the_configuration) {
  Script script{.asked = {},
                .answer = {.out = "JobRequeue              = 0\nPreemptType             = "
                                  "preempt/qos\nReturnToService         = 2\nnonsense\n"}};
  const auto habits = slurm_habits({}, script.runner());
  ASSERT_TRUE(habits);
  EXPECT_TRUE(habits->preempts);
  EXPECT_FALSE(habits->requeues);
  EXPECT_EQ(habits->returns_service, 2);
}

}  // namespace
}  // namespace orrery::agent
