// Single rules of the recovery policy, each in the smallest situation that shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "layers/failure/recovery.h"
#include "layers/failure/recovery_memory.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RecoveryRules : public testing::Test {
 protected:
  static constexpr Seconds kThen = seconds(1e9);

  void nodes(int count) {
    for (int i = 0; i < count; ++i) view.nodes.push_back({.name = "n" + std::to_string(i)});
  }
  NodeView& node(int i) { return view.nodes[static_cast<std::size_t>(i)]; }
  JobView& job() { return view.jobs.front(); }
  void run_on(std::vector<std::string> names, int restarts = 0) {
    view.jobs = {{.id = "7", .phase = JobPhase::running, .restarts = restarts, .nodes = names}};
  }
  void wait_after(int restarts, Seconds hold = seconds(121)) {
    view.jobs = {{.id = "7",
                  .phase = JobPhase::pending,
                  .restarts = restarts,
                  .waits_for_time = true,
                  .eligible = view.now + hold}};
  }
  // Returns the actions requested now; the findings are remembered.
  std::vector<std::string> asked() {
    decision = decide(view, memory, policy);
    for (const RecoveryEvent& e : decision.events) apply(memory, e, policy.lemon.memory);
    std::vector<std::string> keys;
    for (const RecoveryAction& a : decision.actions) {
      if (a.kind != ActionKind::alert) keys.push_back(a.key);
    }
    return keys;
  }
  std::vector<std::string> alerted() {
    std::vector<std::string> keys;
    for (const RecoveryAction& a : decision.actions) {
      if (a.kind == ActionKind::alert) keys.push_back(a.key);
    }
    return keys;
  }
  bool noted(RecoveryEventKind kind) const {
    return std::ranges::find(decision.events, kind, &RecoveryEvent::kind) != decision.events.end();
  }
  void tried(const std::string& key, bool good) {
    apply(memory, {.kind = RecoveryEventKind::tried, .at = view.now, .key = key, .good = good},
          policy.lemon.memory);
  }

  RecoveryPolicy policy;
  RecoveryMemory memory;
  ClusterLook view{.now = kThen};
  Decision decision;
};

// A tenth of the fleet may be out of service, not counting spares; healthy unlisted nodes count as
// fleet.
TEST_F(RecoveryRules, drains_are_limited_to_a_share_of_the_fleet) {
  nodes(4);
  view.well = 26;
  asked();
  node(0).down = node(1).down = node(2).down = true;
  EXPECT_THAT(asked(), ElementsAre("drain/n0/1", "drain/n1/1", "drain/n2/1")) << "3 of 30";
  node(3).down = true;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(alerted(), ElementsAre("mass-failure/fleet/3"));
  // A silent node counts as out: with it the share is used up, and one that is back must wait.
  node(3).down = false;
  node(3).silent = true;
  node(2).down = false;
  EXPECT_THAT(asked(), UnorderedElementsAre("drain/n0/1", "drain/n1/1", "drain/n3/1"));
}

TEST_F(RecoveryRules, returned_node_is_still_drained_within_the_share) {
  nodes(10);
  asked();
  node(0).down = true;
  EXPECT_THAT(asked(), ElementsAre("drain/n0/1"));
  node(0).down = false;
  EXPECT_THAT(asked(), ElementsAre("drain/n0/1"));
  EXPECT_THAT(decision.actions.front().why, HasSubstr("was down"));
  node(1).drained = true;  // drained by an operator: this is the one node that may be out
  EXPECT_THAT(asked(), IsEmpty());
  node(1).drained = false;
  node(0).drained = true;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(noted(RecoveryEventKind::drain_settled));
  EXPECT_FALSE(memory.nodes.at("n0").wants_drain);
}

TEST_F(RecoveryRules, refused_action_backs_off_to_a_minute_and_alerts) {
  nodes(10);
  asked();
  node(0).down = true;
  std::vector<double> at;
  std::vector<std::size_t> alerts;
  for (int s = 0; s < 400; ++s) {
    view.now = kThen + seconds(s);
    for (const std::string& key : asked()) {
      at.push_back(s);
      tried(key, false);
    }
    if (!alerted().empty()) alerts.push_back(at.size());
  }
  const std::vector<double> doubled = {0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363};
  EXPECT_EQ(at, doubled);
  EXPECT_THAT(alerts, ElementsAre(6u)) << "requested again after five refusals, with one alert";
}

TEST_F(RecoveryRules, silent_node_is_fenced_after_its_timeout) {
  policy.fence = true;
  nodes(10);
  run_on({"n1"});
  asked();
  node(1).silent = true;
  EXPECT_THAT(asked(), IsEmpty());
  view.now += policy.silence - seconds(1);
  EXPECT_THAT(asked(), IsEmpty());
  view.now += seconds(1);
  EXPECT_THAT(asked(), ElementsAre("fence/n1/0"));
  tried("fence/n1/0", true);
  node(1).fence = FenceState::under_way;
  EXPECT_THAT(asked(), IsEmpty());
  // A fence that failed is started again, like a refused action.
  node(1).fence = FenceState::failed;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(noted(RecoveryEventKind::fence_failed));
  asked();
  EXPECT_FALSE(noted(RecoveryEventKind::fence_failed)) << "said once an attempt";
  view.now += seconds(1);
  EXPECT_THAT(asked(), ElementsAre("fence/n1/0"));
  node(1).fence = FenceState::off;
  EXPECT_THAT(asked(), ElementsAre("down/n1/0")) << "surely off: now it may be called down";
  node(1).silent = false;
  node(1).fence = FenceState::none;
  asked();
  EXPECT_TRUE(noted(RecoveryEventKind::node_back));
  EXPECT_FALSE(memory.nodes.at("n1").fenced) << "the next time it must be fenced again";
}

TEST_F(RecoveryRules, fence_state_of_an_answering_node_is_ignored) {
  policy.fence = true;
  nodes(10);
  asked();
  node(1).down = true;
  asked();
  node(1).down = false;
  node(1).fence = FenceState::off;  // from an earlier failure
  asked();
  node(1).fence = FenceState::off;
  asked();
  EXPECT_FALSE(memory.nodes.at("n1").fenced);
}

TEST_F(RecoveryRules, only_nodes_that_a_lost_job_waits_for_are_fenced) {
  policy.fence = true;
  nodes(20);
  run_on({"n1"});
  asked();
  node(2).down = node(2).drained = true;
  EXPECT_THAT(asked(), IsEmpty()) << "no job waits for it";
  node(1).down = node(1).drained = true;
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("fence/n1/1"));
}

// It started and its node died between two looks: any node that is down may still run it.
TEST_F(RecoveryRules, unseen_job_waits_for_every_down_node) {
  policy.fence = true;
  nodes(10);
  node(2).down = node(3).down = true;
  node(4).down = node(4).drained = true;  // an operator took it out
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("fence/n2/1", "fence/n3/1"));
  node(2).fence = FenceState::off;
  node(3).fence = FenceState::under_way;
  EXPECT_THAT(asked(), IsEmpty()) << "one of two is off";
  node(3).fence = FenceState::off;
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
}

// A silent node is not certainly off: with a fence the job waits for it even if it was not reported
// down.
TEST_F(RecoveryRules, job_waits_for_a_silent_node_too) {
  policy.fence = true;
  nodes(10);
  run_on({"n1"});
  asked();
  node(1).down = true;
  wait_after(1);
  asked();
  node(1).down = false;
  node(1).silent = node(1).drained = true;
  EXPECT_THAT(asked(), IsEmpty());
  node(1).silent = false;
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
}

TEST_F(RecoveryRules, job_on_a_broken_node_is_requeued) {
  nodes(10);
  run_on({"n1", "n2"});
  asked();
  node(1).drained = node(1).broken = true;
  EXPECT_THAT(asked(), ElementsAre("requeue/7/0"));
  EXPECT_THAT(decision.actions.front().why, HasSubstr("n1"));
  wait_after(1, policy.hold_max + seconds(1));
  EXPECT_THAT(asked(), IsEmpty());
  wait_after(1, policy.hold_max);
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
  // A job that could start, except for the scheduler's own wait, needs no release.
  view.jobs[0].waits_for_time = false;
  view.jobs[0].eligible = view.now;
  EXPECT_THAT(asked(), IsEmpty());
  view.jobs[0].eligible = view.now + seconds(1);
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
}

// Cause unknown: all its nodes are suspect, if they are at most a quarter of those in service.
TEST_F(RecoveryRules, job_lost_without_a_cause_avoids_its_nodes) {
  nodes(8);
  run_on({"n1", "n2"});
  asked();
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("exclude/7/0")) << "2 of 8";
  EXPECT_THAT(decision.actions.front().nodes, ElementsAre("n1", "n2"));
  job().avoids = {"n1"};
  EXPECT_THAT(asked(), ElementsAre("exclude/7/0")) << "not all of them yet";
  job().avoids = {"n0", "n1", "n2"};
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
  node(7).drained = true;
  job().avoids.clear();
  EXPECT_THAT(asked(), ElementsAre("release/7/0")) << "2 of 7 are more than a quarter";
}

TEST_F(RecoveryRules, job_is_released_after_refused_exclusions) {
  nodes(8);
  run_on({"n1"});
  asked();
  wait_after(1);
  asked();
  for (int i = 0; i < 5; ++i) tried("exclude/7/0", false);
  view.now += seconds(60);
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("exclude/7/0", "release/7/0"));
}

TEST_F(RecoveryRules, nodes_that_failed_and_could_not_be_drained_are_avoided) {
  nodes(5);
  run_on({"n1", "n2"});
  asked();
  node(1).down = node(2).down = true;  // two of five: only one may be drained
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("exclude/7/0"));
  EXPECT_THAT(decision.actions.back().nodes, ElementsAre("n1", "n2"));
}

TEST_F(RecoveryRules, no_job_is_let_go_while_the_controller_is_young) {
  nodes(8);
  view.controller_since = kThen - hours(1);
  run_on({"n1"});
  asked();
  node(1).down = node(1).drained = true;
  wait_after(1);
  view.controller_since = view.now;
  EXPECT_THAT(asked(), IsEmpty());
  view.now += policy.registering - seconds(0.1);
  EXPECT_THAT(asked(), IsEmpty());
  view.now += seconds(0.1);
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
}

TEST_F(RecoveryRules, job_failure_is_blamed_on_a_node_only_in_time) {
  nodes(10);
  run_on({"n1"});
  asked();
  job().phase = JobPhase::failed;
  job().ended = view.now;
  EXPECT_THAT(asked(), IsEmpty()) << "it may have failed by itself";
  view.now += policy.blame;
  node(1).down = node(1).drained = true;
  EXPECT_THAT(asked(), ElementsAre("requeue/7/0"));
  EXPECT_EQ(memory.jobs.at("7").loss->nodes, std::vector<std::string>{"n1"});
  // A second later it would have been too late.
  memory = {};
  view.now = kThen;
  node(1).down = node(1).drained = false;
  run_on({"n1"});
  asked();
  job().phase = JobPhase::failed;
  job().ended = view.now;
  view.now += policy.blame + seconds(1);
  node(1).down = node(1).drained = true;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(noted(RecoveryEventKind::job_gone));
}

TEST_F(RecoveryRules, pending_job_is_lost_only_after_a_requeue) {
  nodes(10);
  wait_after(0);
  EXPECT_THAT(asked(), IsEmpty()) << "it has not run yet: the time is its owner's";
  EXPECT_FALSE(memory.jobs.contains("7"));
  wait_after(1);
  job().held = true;
  asked();
  EXPECT_FALSE(memory.jobs.contains("7")) << "an operator holds it";
  wait_after(1, policy.hold_max + seconds(1));
  asked();
  EXPECT_FALSE(memory.jobs.contains("7"));
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("release/7/0"));
  EXPECT_EQ(memory.jobs.at("7").loss->restarts, 0) << "the run before the requeue";
}

TEST_F(RecoveryRules, how_long_a_run_and_an_outage_lasted_is_remembered) {
  nodes(10);
  run_on({"n1"});
  asked();
  view.now += minutes(20);
  node(1).down = node(1).drained = true;
  wait_after(1);
  asked();
  EXPECT_EQ(memory.jobs.at("7").losses.back().ran, minutes(20));
  EXPECT_EQ(memory.jobs.at("7").losses.back().node, "n1");
  view.now += seconds(90);
  run_on({"n2"}, 1);
  asked();
  for (const RecoveryEvent& e : decision.events) {
    if (e.kind == RecoveryEventKind::job_back) {
      EXPECT_EQ(e.lasted, seconds(90));
    }
  }
  EXPECT_TRUE(noted(RecoveryEventKind::job_back));
  EXPECT_FALSE(memory.jobs.at("7").loss);
  view.jobs.clear();
  asked();
  EXPECT_TRUE(noted(RecoveryEventKind::job_gone)) << "it is not to be seen any more";
  EXPECT_TRUE(memory.jobs.empty());
}

// Four losses in a row, each soon after the start and on another node.
TEST_F(RecoveryRules, job_is_blamed_only_for_a_crash_loop) {
  const auto lose_four = [&](std::vector<int> on, Seconds each) {
    memory = {};
    view = {.now = kThen};
    nodes(100);
    asked();
    for (std::size_t i = 0; i < on.size(); ++i) {
      run_on({"n" + std::to_string(on[i])}, static_cast<int>(i));
      asked();
      view.now += each;
      node(on[i]).down = node(on[i]).drained = true;
      wait_after(static_cast<int>(i) + 1);
      asked();
      node(on[i]).down = node(on[i]).drained = false;
    }
    return memory.jobs.at("7").blamed;
  };
  EXPECT_TRUE(lose_four({1, 2, 3, 4}, minutes(1)));
  EXPECT_FALSE(lose_four({1, 2, 3}, minutes(1)));
  EXPECT_FALSE(lose_four({1, 2, 3, 1}, minutes(1))) << "the same node twice is the node's doing";
  EXPECT_FALSE(lose_four({1, 2, 3, 4}, policy.crash_run + seconds(1)));
  policy.crash_loop = 0;  // switched off
  EXPECT_FALSE(lose_four({1, 2, 3, 4}, minutes(1)));
  policy.crash_loop = 4;
  policy.losses_max = 2;  // whatever the cause
  EXPECT_TRUE(lose_four({1, 1, 1}, hours(2)));
}

// On many nodes chance alone ends runs early: "soon" is then a share of the time between failures.
TEST_F(RecoveryRules, large_job_is_not_blamed_for_the_fleets_own_rate) {
  view.well = 20'000;
  nodes(5);
  asked();
  std::vector<std::string> large;
  for (int i = 0; i < 20'000; ++i) large.push_back("m" + std::to_string(i));
  for (int i = 0; i < 4; ++i) {
    std::vector<std::string> on = large;
    on.push_back("n" + std::to_string(i));
    run_on(on, i);
    asked();
    // 20,000 nodes at 6.5 failures per 1000 node-days fail every 11 minutes, so 9 minutes are not
    // suspicious.
    view.now += minutes(9);
    node(i).down = node(i).drained = true;
    wait_after(i + 1);
    asked();
  }
  EXPECT_FALSE(memory.jobs.at("7").blamed);
}

TEST_F(RecoveryRules, blamed_job_is_held_once) {
  nodes(10);
  run_on({"n1"});
  asked();
  memory.jobs.at("7").losses_total = 60;
  node(1).down = node(1).drained = true;
  wait_after(1);
  EXPECT_THAT(asked(), ElementsAre("hold/7/0"));
  EXPECT_THAT(alerted(), ElementsAre("blamed/7/0"));
  job().held = true;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(memory.jobs.at("7").held_seen);
  job().held = false;
  EXPECT_THAT(asked(), IsEmpty()) << "an operator released it";
  EXPECT_TRUE(memory.jobs.at("7").held_seen) << "and no controller forgot";
  run_on({"n2"}, 1);
  asked();
  EXPECT_FALSE(memory.jobs.at("7").blamed) << "it runs again, so it is judged from scratch";
  EXPECT_TRUE(memory.jobs.at("7").losses.empty());
}

TEST_F(RecoveryRules, only_a_ready_spare_is_called) {
  nodes(6);
  for (int i = 3; i < 6; ++i) node(i).spare = node(i).drained = true;
  asked();
  node(3).down = true;    // not ready
  node(4).silent = true;  // nor is this one
  EXPECT_THAT(asked(), IsEmpty()) << "a spare needs no replacement";
  node(0).down = node(0).drained = true;
  EXPECT_THAT(asked(), ElementsAre("resume/n5/n0"));
  node(1).down = node(1).drained = true;
  EXPECT_THAT(asked(), ElementsAre("resume/n5/n0")) << "called already, and there is no other";
  node(5).spare = node(5).drained = false;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_EQ(memory.nodes.at("n5").serves_for, "n0");
  // An operator made it a spare again, so it can be called like the others.
  node(5).spare = node(5).drained = true;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(noted(RecoveryEventKind::spare_returned));
  EXPECT_EQ(memory.nodes.at("n5").serves_for, "");
}

TEST_F(RecoveryRules, actions_forgotten_by_a_new_controller_are_repeated) {
  nodes(10);
  view.controller_since = kThen - hours(1);
  run_on({"n1"});
  asked();
  node(1).down = true;
  asked();
  node(1).drained = true;
  wait_after(1);
  asked();
  ASSERT_GT(memory.nodes.at("n1").drain_seen, Seconds());
  // The controller is killed and restarts from its last saved state: the node well, the job
  // running.
  view.now += seconds(10);
  view.controller_since = view.now;
  node(1).down = node(1).drained = false;
  run_on({"n1"});
  EXPECT_THAT(asked(), UnorderedElementsAre("drain/n1/1", "down/n1/1"));
  EXPECT_TRUE(noted(RecoveryEventKind::node_forgotten));
  EXPECT_TRUE(memory.nodes.at("n1").out) << "it stays out";
  // This controller showed it down and then well, so it is not forgotten.
  node(1).down = node(1).drained = true;
  asked();
  EXPECT_TRUE(memory.nodes.at("n1").out_shown);
  node(1).down = false;
  view.now += seconds(1);
  asked();
  EXPECT_FALSE(memory.nodes.at("n1").out);
}

TEST_F(RecoveryRules, forgotten_node_counts_as_healthy_after_a_while) {
  nodes(10);
  view.controller_since = kThen - hours(1);
  asked();
  node(1).down = true;
  asked();
  view.now += seconds(10);
  view.controller_since = view.now;
  node(1).down = false;
  asked();
  EXPECT_TRUE(memory.nodes.at("n1").out);
  view.now += policy.rollback - seconds(1);
  asked();
  EXPECT_TRUE(memory.nodes.at("n1").out);
  view.now += seconds(1);
  asked();
  EXPECT_FALSE(memory.nodes.at("n1").out);
}

// A drain that disappears was lifted by an operator; only a controller that has just started may
// have lost it.
TEST_F(RecoveryRules, drain_lifted_by_a_person_stays_lifted) {
  nodes(10);
  view.controller_since = kThen - hours(1);
  asked();
  node(1).down = true;
  asked();
  node(1).drained = true;
  asked();
  node(1).down = node(1).drained = false;
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(noted(RecoveryEventKind::drain_lifted));
}

TEST_F(RecoveryRules, only_keys_of_the_forgotten_target_are_dropped) {
  for (const char* key : {"drain/n1/1", "drain/n10/1", "fence/n1/1", "refused/drain/n1/1"}) {
    tried(key, false);
    apply(memory, {.kind = RecoveryEventKind::alerted, .key = key}, days(30));
  }
  apply(memory, {.kind = RecoveryEventKind::node_back, .node = "n1"}, days(30));
  ASSERT_EQ(memory.attempts.size(), 1u);
  EXPECT_EQ(memory.attempts.begin()->first, "drain/n10/1");
  EXPECT_EQ(memory.alerted, std::set<std::string>{"drain/n10/1"});
}

TEST_F(RecoveryRules, lemon_is_judged_by_its_odds) {
  nodes(50);
  asked();
  for (int failure = 0; failure < 3; ++failure) {
    EXPECT_FALSE(memory.nodes.contains("n1") && memory.nodes.at("n1").lemon) << failure;
    view.now += hours(2);
    node(1).down = true;
    asked();
    EXPECT_FALSE(memory.nodes.at("n1").lemon) << "while it is out it is not judged";
    node(1).down = false;
    memory.nodes.at("n1").wants_drain = false;
    asked();
  }
  EXPECT_TRUE(memory.nodes.at("n1").lemon) << "three failures on one day";
  EXPECT_TRUE(memory.nodes.at("n1").wants_drain);
  EXPECT_THAT(asked(), ElementsAre("drain/n1/3"));
  EXPECT_THAT(decision.actions.front().why, HasSubstr("lemon"));
  node(1).down = true;
  asked();
  EXPECT_FALSE(memory.nodes.at("n1").lemon);
}

// What a node shows is noted once and under the right kind.
TEST_F(RecoveryRules, failure_is_not_silence) {
  nodes(50);
  asked();
  node(0).down = node(0).silent = true;
  asked();
  EXPECT_TRUE(noted(RecoveryEventKind::node_failed));
  EXPECT_FALSE(noted(RecoveryEventKind::node_silent));
  node(0).drained = true;
  asked();
  EXPECT_TRUE(noted(RecoveryEventKind::drain_settled));
  asked();
  EXPECT_FALSE(noted(RecoveryEventKind::drain_settled)) << "settled once";
  // The controller's start was not known before, so it is not a new one, and the node is back.
  view.controller_since = kThen - hours(5);
  node(0).down = node(0).silent = false;
  asked();
  EXPECT_TRUE(noted(RecoveryEventKind::node_back));
  EXPECT_FALSE(noted(RecoveryEventKind::node_forgotten));
}

TEST_F(RecoveryRules, drained_node_is_not_judged_a_lemon) {
  nodes(50);
  asked();
  for (int failure = 0; failure < 4; ++failure) {
    view.now += hours(2);
    node(1).down = true;
    asked();
    node(1).down = false;
    node(1).drained = true;
    asked();
    EXPECT_FALSE(memory.nodes.at("n1").lemon) << "it is out already";
  }
  node(1).drained = false;
  asked();
  EXPECT_TRUE(memory.nodes.at("n1").lemon);
}

}  // namespace
}  // namespace orrery::failure
