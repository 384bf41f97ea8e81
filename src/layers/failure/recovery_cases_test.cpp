// What the recovery policy remembers of each finding, and rarer cases: a controller that forgets, a
// job whose run was never seen, a desk that applies it to a simulated fleet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/failure/recovery.h"
#include "layers/failure/recovery_desk.h"
#include "layers/failure/recovery_memory.h"
#include "layers/failure/recovery_observe.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecoveryCases : public testing::Test {
 protected:
  static constexpr Seconds kBegin = seconds(2e9);

  RecoveryCases() {
    for (int i = 0; i < 10; ++i) view.nodes.push_back({.name = "n" + std::to_string(i)});
  }
  NodeView& node(int i) { return view.nodes[static_cast<std::size_t>(i)]; }
  JobView& runs(std::vector<std::string> on, int restarts = 0) {
    view.jobs = {{.id = "7", .phase = JobPhase::running, .restarts = restarts, .nodes = on}};
    return view.jobs[0];
  }
  JobView& waits(int restarts) {
    view.jobs = {{.id = "7",
                  .phase = JobPhase::pending,
                  .restarts = restarts,
                  .waits_for_time = true,
                  .eligible = view.now + seconds(120)}};
    return view.jobs[0];
  }
  // Returns the keys of the actions requested `later` seconds on.
  std::vector<std::string> look(double later = 1) {
    view.now += seconds(later);
    decision = decide_and_remember(view, memory, policy);
    std::vector<std::string> keys;
    for (const RecoveryAction& a : decision.actions) {
      if (a.kind != ActionKind::alert) keys.push_back(a.key);
    }
    return keys;
  }
  const RecoveryEvent* said(RecoveryEventKind kind) const {
    const auto found = std::ranges::find(decision.events, kind, &RecoveryEvent::kind);
    return found == decision.events.end() ? nullptr : &*found;
  }

  RecoveryPolicy policy;
  RecoveryMemory memory;
  ClusterLook view{.now = kBegin};
  Decision decision;
};

TEST_F(RecoveryCases, drain_and_a_release_in_one_look_need_no_exclusion) {
  runs({"n1", "n2"});
  look();
  node(1).down = true;
  waits(1);
  EXPECT_THAT(look(), ElementsAre("drain/n1/1", "release/7/0"));
  ASSERT_NE(said(RecoveryEventKind::job_lost), nullptr);
  EXPECT_THAT(said(RecoveryEventKind::job_lost)->nodes, ElementsAre("n1"));
  EXPECT_EQ(said(RecoveryEventKind::job_lost)->lasted, seconds(1));
  EXPECT_EQ(said(RecoveryEventKind::job_lost)->restarts, 0);
}

// The job was never seen running: any node that is down may still run it, even one that we drained.
TEST_F(RecoveryCases, unseen_job_may_be_on_a_drained_node) {
  policy.fence = true;
  look();
  node(0).down = true;
  EXPECT_THAT(look(), ElementsAre("drain/n0/1"));
  node(0).drained = true;
  look();
  EXPECT_NE(memory.nodes.at("n0").drain_seen, Seconds());
  node(1).down = node(1).drained = true;  // drained by an operator because of the failure
  waits(1);
  const auto asked = look();
  EXPECT_THAT(asked, testing::Contains("fence/n0/1"));
  EXPECT_THAT(asked, testing::Not(testing::Contains("release/7/0")));
  node(0).fence = node(1).fence = FenceState::off;
  EXPECT_THAT(look(), testing::Contains("release/7/0"));
}

TEST_F(RecoveryCases, node_that_answers_again_as_broken_is_not_silent) {
  policy.fence = true;
  look();
  node(1).silent = true;
  look();
  node(1).silent = false;
  node(1).broken = node(1).drained = true;
  EXPECT_THAT(look(20), IsEmpty());
}

// A launch collided with a run that the controller forgot: the hold is cleared and the job
// released.
TEST_F(RecoveryCases, failed_launch_after_a_controller_restart_is_released) {
  view.controller_since = kBegin - seconds(1000);
  runs({"n1"});
  look();
  view.controller_since = view.now + seconds(5);
  waits(1);
  look(10);
  waits(1).held = true;
  view.jobs[0].launch_failed = true;
  EXPECT_THAT(look(), ElementsAre("unhold/7/0", "release/7/0"));
  view.jobs[0].launch_failed = false;
  EXPECT_THAT(look(), IsEmpty()) << "an operator holds it";
}

// The port may give the job on each node instead of the job's nodes.
TEST_F(RecoveryCases, failed_node_names_the_job_it_takes_along) {
  runs({});
  look();
  node(4).down = true;
  node(4).job = "7";
  node(5).down = true;
  look();
  ASSERT_NE(said(RecoveryEventKind::job_lost), nullptr);
  EXPECT_THAT(said(RecoveryEventKind::job_lost)->nodes, ElementsAre("n4"));
}

// n1 was out before the controller was started; it shows the node well and a run on it.
TEST_F(RecoveryCases, job_on_a_forgotten_failed_node_is_lost) {
  view.controller_since = kBegin - seconds(1000);
  look();
  node(1).down = true;
  look();
  node(1).down = false;
  view.controller_since = view.now;
  runs({"n1"});
  look();
  EXPECT_NE(said(RecoveryEventKind::node_forgotten), nullptr);
  EXPECT_TRUE(memory.nodes.at("n1").out);
  ASSERT_NE(said(RecoveryEventKind::job_lost), nullptr);
  EXPECT_THAT(said(RecoveryEventKind::job_lost)->nodes, ElementsAre("n1"));
}

// The controller forgot the second run: it shows the first again.
TEST_F(RecoveryCases, restart_count_that_goes_back_was_forgotten) {
  view.controller_since = kBegin - seconds(1000);
  runs({"n1"});
  look();
  node(1).down = true;
  look();
  runs({"n2"}, 1);
  look();
  ASSERT_NE(said(RecoveryEventKind::job_back), nullptr);
  EXPECT_EQ(said(RecoveryEventKind::job_back)->lasted, seconds(1));
  EXPECT_EQ(said(RecoveryEventKind::job_back)->restarts, 1);
  view.controller_since = view.now;
  runs({"n1"}, 0);
  look();
  ASSERT_NE(said(RecoveryEventKind::job_undone), nullptr);
  EXPECT_EQ(said(RecoveryEventKind::job_undone)->restarts, 0);
  EXPECT_EQ(memory.jobs.at("7").restarts, 0);
  EXPECT_THAT(memory.jobs.at("7").loss->nodes, ElementsAre("n1"));
  waits(1);
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_undone), nullptr)
      << "that is the requeue of the run it forgot";
}

TEST_F(RecoveryCases, spare_forgotten_by_a_new_controller_is_called_again) {
  for (const bool is_new : {true, false}) {
    memory = {};
    view.controller_since = kBegin - seconds(1000);
    view.now = kBegin;
    node(9).spare = node(9).drained = true;
    node(1).down = false;
    look();
    node(1).down = true;
    look();
    node(9).spare = node(9).drained = false;
    look();
    EXPECT_EQ(memory.nodes.at("n9").serves_for, "n1");
    node(9).spare = node(9).drained = true;
    if (is_new) view.controller_since = view.now;
    look();
    EXPECT_EQ(said(RecoveryEventKind::spare_called) != nullptr, is_new);
    EXPECT_EQ(said(RecoveryEventKind::spare_returned) != nullptr, !is_new);
    EXPECT_EQ(memory.nodes.at("n9").stood_in_for, is_new ? "n1" : "");
  }
}

TEST_F(RecoveryCases, ended_job_is_forgotten) {
  runs({"n1"}).phase = JobPhase::ended;
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_gone), nullptr) << "it was never known";
  runs({"n1"});
  look();
  EXPECT_EQ(memory.jobs.size(), 1u);
  runs({"n1"}).phase = JobPhase::ended;
  look();
  EXPECT_NE(said(RecoveryEventKind::job_gone), nullptr);
  EXPECT_TRUE(memory.jobs.empty());
}

TEST_F(RecoveryCases, hold_of_a_blamed_job_is_noted_once) {
  runs({"n1"});
  look();
  view.jobs[0].held = true;
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_held), nullptr);
  apply(memory, {.kind = RecoveryEventKind::job_blamed, .job = "7"}, days(30));
  look();
  ASSERT_NE(said(RecoveryEventKind::job_held), nullptr);
  EXPECT_TRUE(said(RecoveryEventKind::job_held)->good);
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_held), nullptr);
}

TEST_F(RecoveryCases, which_waits_and_ends_are_losses) {
  waits(1).waits_for_time = false;
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_lost), nullptr) << "never seen running, waits for nodes";
  runs({"n1"}, 1);
  look();
  view.jobs[0].phase = JobPhase::completing;
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_lost), nullptr) << "its own end";
  waits(1).waits_for_time = false;
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_lost), nullptr);
  runs({"n1"}, 2).phase = JobPhase::failed;
  view.jobs[0].ended = view.now;
  node(1).down = true;
  look();
  EXPECT_EQ(said(RecoveryEventKind::job_lost), nullptr) << "of a run that was not seen";
  view.jobs[0].restarts = 1;
  look();
  EXPECT_NE(said(RecoveryEventKind::job_lost), nullptr);
}

TEST_F(RecoveryCases, lemon_odds_follow_node_and_fleet_failures) {
  apply(memory, {.kind = RecoveryEventKind::watch_began, .at = kBegin}, days(30));
  apply(memory, {.kind = RecoveryEventKind::node_failed, .at = kBegin, .node = "n1", .weight = 1},
        days(30));
  apply(memory, {.kind = RecoveryEventKind::node_failed, .at = kBegin, .node = "n2", .weight = 1},
        days(30));
  const double prior = 0.015 / 0.985;
  EXPECT_NEAR(lemon_odds_of("n1", view, memory, policy), prior * 10, 1e-9);
  EXPECT_NEAR(lemon_odds_of("n3", view, memory, policy), prior, 1e-9);
  // 15 days later each failure weighs e^-1/2; E = 30 (1 - e^-1/2) days, with nine listed and 20
  // other nodes, and the other's failure in addition to the prior's two.
  view.now += days(15);
  view.well = 20;
  const double faded_one = std::exp(-0.5);
  const double exposure = 30 * (1 - faded_one);
  const double rate = (2 + faded_one) / (2 / 0.0065 + 29 * exposure) / 1.135;
  EXPECT_NEAR(lemon_odds_of("n1", view, memory, policy),
              prior * std::pow(10, faded_one) * std::exp(-9 * rate * exposure), 1e-9);
}

}  // namespace
}  // namespace orrery::failure
