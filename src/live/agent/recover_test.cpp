// Ticks of the agent against a cluster that answers from a table: what it journals, reports and
// counts.
#include "live/agent/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent::recover_tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct TablePort final : failure::RecoveryPort {
  failure::ClusterLook next;
  bool refuses = false;
  std::vector<failure::RecoveryAction> asked;

  Result<failure::ClusterLook> look() override { return next; }
  Result<void> act(const failure::RecoveryAction& action) override {
    asked.push_back(action);
    if (refuses) return fail({.code = "slurm.refused", .what = "not today"});
    return {};
  }
  Seconds now() const override { return next.now; }
};

// Job 7 runs on n1 and n2; n3 and n4 are idle.
failure::ClusterLook well_at(double at) {
  return {.now = seconds(at),
          .jobs = {{.id = "7", .phase = failure::JobPhase::running, .nodes = {"n1", "n2"}}},
          .nodes = {{.name = "n1"}, {.name = "n2"}, {.name = "n3"}, {.name = "n4"}}};
}

// n1 is down, and the requeued job waits.
failure::ClusterLook lost_at(double at) {
  failure::ClusterLook look = well_at(at);
  look.nodes[0].down = true;
  look.jobs[0] = {.id = "7",
                  .phase = failure::JobPhase::pending,
                  .restarts = 1,
                  .waits_for_time = true,
                  .eligible = seconds(at + 120)};
  return look;
}

struct Agent {
  TablePort port;
  std::vector<std::string> journal;
  RecoverAgent agent{port,
                     [this](const std::vector<std::string>& lines) -> Result<void> {
                       journal.insert(journal.end(), lines.begin(), lines.end());
                       return {};
                     },
                     {},
                     {}};

  TickReport tick(failure::ClusterLook look) {
    port.next = std::move(look);
    const auto report = agent.tick();
    EXPECT_TRUE(report);
    return report.value_or(TickReport{});
  }
};

TEST(RecoverAgent, refused_action_is_reported_and_journalled_with_its_node) {
  Agent a;
  a.tick(well_at(1000));
  a.port.refuses = true;
  const TickReport report = a.tick(lost_at(1001));
  EXPECT_EQ(report.at, seconds(1001));
  ASSERT_FALSE(report.outcomes.empty());
  bool drained = false;
  for (const ActionOutcome& o : report.outcomes) {
    EXPECT_FALSE(o.good);
    EXPECT_EQ(o.said, "not today");
    drained = drained || o.action.kind == failure::ActionKind::drain_node;
  }
  EXPECT_TRUE(drained);
  EXPECT_THAT(a.journal,
              Contains(AllOf(HasSubstr("\"kind\":\"tried\""), HasSubstr("\"node\":\"n1\""))));
}

TEST(RecoverAgent, job_waits_from_its_loss_until_it_runs_again) {
  Agent a;
  EXPECT_EQ(a.tick(well_at(1000)).jobs_waiting, 0);
  EXPECT_EQ(a.tick(lost_at(1001)).jobs_waiting, 1);
  EXPECT_EQ(a.tick(lost_at(1002)).jobs_waiting, 1);
  failure::ClusterLook back = lost_at(1003);
  back.jobs[0] = {
      .id = "7", .phase = failure::JobPhase::running, .restarts = 1, .nodes = {"n2", "n3"}};
  EXPECT_EQ(a.tick(back).jobs_waiting, 0);
}

TEST(RecoverAgent, blamed_job_is_not_waited_for) {
  TablePort port;
  port.next = {.now = seconds(1000)};
  failure::RecoveryMemory memory{.since = seconds(1)};
  for (const char* id : {"a", "b", "c"}) {
    memory.jobs[id] = {};
    port.next.jobs.push_back({.id = id, .phase = failure::JobPhase::pending});
  }
  memory.jobs["a"].loss = failure::JobLoss{};
  memory.jobs["b"].loss = failure::JobLoss{};
  memory.jobs["b"].blamed = true;
  RecoverAgent agent(
      port, [](const std::vector<std::string>&) { return Result<void>(); }, {}, memory);
  const auto report = agent.tick();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(report->jobs_waiting, 1);
}

// The first look is journalled whole, later ones as changes, and whole again after a cut.
TEST(RecoverAgent, looks_are_journalled_as_changes) {
  Agent a;
  const auto look_of_tick = [&](failure::ClusterLook look) {
    a.journal.clear();
    a.tick(std::move(look));
    return a.journal.empty() ? std::string() : a.journal.front();
  };
  EXPECT_THAT(look_of_tick(well_at(1000)), AllOf(HasSubstr("\"whole\":true"), HasSubstr("n4")));
  EXPECT_THAT(look_of_tick(lost_at(1001)),
              AllOf(Not(HasSubstr("whole")), HasSubstr("n1"), Not(HasSubstr("n4"))));
  a.agent.journal_was_cut();
  failure::ClusterLook worse = lost_at(1002);
  worse.nodes[2].down = true;
  EXPECT_THAT(look_of_tick(worse),
              AllOf(HasSubstr("\"whole\":true"), HasSubstr("n3"), HasSubstr("n4")));
}

}  // namespace
}  // namespace orrery::agent::recover_tests
