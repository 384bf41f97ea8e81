#include "agent/slurm_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(SlurmPort, a_look_is_two_calls_in_utc_with_the_given_conf_and_no_filters) {
  Script script{.asked = {}, .answer = {.out = "1;RUNNING;0;1;N/A;N/A;n1;None;\n"}};
  const auto view = SlurmPort({.conf = "/etc/x.conf"}, script.runner()).look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->jobs.size(), 1u);
  EXPECT_EQ(view->nodes.size(), 1u);
  ASSERT_EQ(script.asked.size(), 2u);
  EXPECT_EQ(script.asked[0].words[0], "squeue");
  EXPECT_THAT(script.asked[0].environment, Contains(Pair("TZ", "UTC")));
  EXPECT_THAT(script.asked[0].environment, Contains(Pair("SLURM_CONF", "/etc/x.conf")));
  EXPECT_THAT(script.asked[0].environment_without, Contains("SQUEUE_"));
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
  EXPECT_THAT(words_of({.kind = failure::ActionKind::resume_spare, .nodes = {"n3"}}),
              ElementsAre("scontrol", "update", "NodeName=n3", "State=RESUME"));
  EXPECT_THAT(words_of({.kind = failure::ActionKind::fence_node, .nodes = {"n3"}}),
              ElementsAre("power-off", "n3"));
  // What the job avoided already, n2, stays avoided.
  EXPECT_THAT(
      words_of({.kind = failure::ActionKind::exclude_nodes, .job = "7", .nodes = {"n9", "n1"}}),
      ElementsAre("scontrol", "update", "JobId=7", "ExcNodeList=n1,n2,n9"));
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
