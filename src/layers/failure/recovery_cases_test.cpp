// What the recovery policy remembers of each finding, and its rarer turns: a controller that
// forgets, a job that nobody saw run, a desk that obeys it on a simulated fleet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/failure/recovery.h"
#include "layers/failure/recovery_desk.h"
#include "layers/failure/recovery_observe.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = RecoveryEventKind;

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
  // Keys of what is asked for after so many seconds.
  std::vector<std::string> look(double later = 1) {
    view.now += seconds(later);
    decision = decide_and_remember(view, memory, policy);
    std::vector<std::string> keys;
    for (const RecoveryAction& a : decision.actions) {
      if (a.kind != ActionKind::alert) keys.push_back(a.key);
    }
    return keys;
  }
  const RecoveryEvent* said(Kind kind) const {
    const auto found = std::ranges::find(decision.events, kind, &RecoveryEvent::kind);
    return found == decision.events.end() ? nullptr : &*found;
  }

  RecoveryPolicy policy;
  RecoveryMemory memory;
  ClusterLook view{.now = kBegin};
  Decision decision;
};

TEST_F(RecoveryCases, a_drain_and_a_release_in_one_look_need_no_exclusion) {
  runs({"n1", "n2"});
  look();
  node(1).down = true;
  waits(1);
  EXPECT_THAT(look(), ElementsAre("drain/n1/1", "release/7/0"));
  ASSERT_NE(said(Kind::job_lost), nullptr);
  EXPECT_THAT(said(Kind::job_lost)->nodes, ElementsAre("n1"));
  EXPECT_EQ(said(Kind::job_lost)->lasted, seconds(1));
  EXPECT_EQ(said(Kind::job_lost)->restarts, 0);
}

// Nobody saw the job run: any node that is down may still have it, also one that we have drained.
TEST_F(RecoveryCases, a_run_that_nobody_saw_may_be_on_a_node_that_we_drained) {
  policy.fence = true;
  look();
  node(0).down = true;
  EXPECT_THAT(look(), ElementsAre("drain/n0/1"));
  node(0).drained = true;
  look();
  EXPECT_NE(memory.nodes.at("n0").drain_seen, Seconds());
  node(1).down = node(1).drained = true;  // by a person, with the failure
  waits(1);
  const auto asked = look();
  EXPECT_THAT(asked, testing::Contains("fence/n0/1"));
  EXPECT_THAT(asked, testing::Not(testing::Contains("release/7/0")));
  node(0).fence = node(1).fence = FenceState::off;
  EXPECT_THAT(look(), testing::Contains("release/7/0"));
}

TEST_F(RecoveryCases, a_node_that_answers_again_as_broken_is_not_silent) {
  policy.fence = true;
  look();
  node(1).silent = true;
  look();
  node(1).silent = false;
  node(1).broken = node(1).drained = true;
  EXPECT_THAT(look(20), IsEmpty());
}

// A launch that met a run which the controller forgot: the hold is lifted, and the job let go.
TEST_F(RecoveryCases, a_failed_launch_after_a_controller_s_start_is_let_go_again) {
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
  EXPECT_THAT(look(), IsEmpty()) << "a person holds it";
}

// The port may say which job a node has, in place of the job's nodes.
TEST_F(RecoveryCases, a_node_names_the_job_that_it_takes_with_it) {
  runs({});
  look();
  node(4).down = true;
  node(4).job = "7";
  node(5).down = true;
  look();
  ASSERT_NE(said(Kind::job_lost), nullptr);
  EXPECT_THAT(said(Kind::job_lost)->nodes, ElementsAre("n4"));
}

// n1 was out before the controller was started; it shows the node well and a run on it.
TEST_F(RecoveryCases, a_run_on_a_node_whose_failure_was_forgotten_is_lost) {
  view.controller_since = kBegin - seconds(1000);
  look();
  node(1).down = true;
  look();
  node(1).down = false;
  view.controller_since = view.now;
  runs({"n1"});
  look();
  EXPECT_NE(said(Kind::node_forgotten), nullptr);
  EXPECT_TRUE(memory.nodes.at("n1").out);
  ASSERT_NE(said(Kind::job_lost), nullptr);
  EXPECT_THAT(said(Kind::job_lost)->nodes, ElementsAre("n1"));
}

// Its second run is forgotten: the controller shows the first again.
TEST_F(RecoveryCases, a_run_number_that_goes_back_was_forgotten) {
  view.controller_since = kBegin - seconds(1000);
  runs({"n1"});
  look();
  node(1).down = true;
  look();
  runs({"n2"}, 1);
  look();
  ASSERT_NE(said(Kind::job_back), nullptr);
  EXPECT_EQ(said(Kind::job_back)->lasted, seconds(1));
  EXPECT_EQ(said(Kind::job_back)->restarts, 1);
  view.controller_since = view.now;
  runs({"n1"}, 0);
  look();
  ASSERT_NE(said(Kind::job_undone), nullptr);
  EXPECT_EQ(said(Kind::job_undone)->restarts, 0);
  EXPECT_EQ(memory.jobs.at("7").restarts, 0);
  EXPECT_THAT(memory.jobs.at("7").loss->nodes, ElementsAre("n1"));
  waits(1);
  look();
  EXPECT_EQ(said(Kind::job_undone), nullptr) << "that is the requeue of the run it forgot";
}

TEST_F(RecoveryCases, a_spare_in_service_that_a_new_controller_shows_aside_is_called_again) {
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
    EXPECT_EQ(said(Kind::spare_called) != nullptr, is_new);
    EXPECT_EQ(said(Kind::spare_returned) != nullptr, !is_new);
    EXPECT_EQ(memory.nodes.at("n9").stood_in_for, is_new ? "n1" : "");
  }
}

TEST_F(RecoveryCases, an_ended_job_is_forgotten) {
  runs({"n1"}).phase = JobPhase::ended;
  look();
  EXPECT_EQ(said(Kind::job_gone), nullptr) << "it was never known";
  runs({"n1"});
  look();
  EXPECT_EQ(memory.jobs.size(), 1u);
  runs({"n1"}).phase = JobPhase::ended;
  look();
  EXPECT_NE(said(Kind::job_gone), nullptr);
  EXPECT_TRUE(memory.jobs.empty());
}

TEST_F(RecoveryCases, a_hold_is_noted_of_a_job_that_is_to_blame_and_once) {
  runs({"n1"});
  look();
  view.jobs[0].held = true;
  look();
  EXPECT_EQ(said(Kind::job_held), nullptr);
  apply(memory, {.kind = Kind::job_blamed, .job = "7"}, days(30));
  look();
  ASSERT_NE(said(Kind::job_held), nullptr);
  EXPECT_TRUE(said(Kind::job_held)->good);
  look();
  EXPECT_EQ(said(Kind::job_held), nullptr);
}

TEST_F(RecoveryCases, which_waits_and_ends_are_losses) {
  waits(1).waits_for_time = false;
  look();
  EXPECT_EQ(said(Kind::job_lost), nullptr) << "nobody saw it, and it waits for nodes";
  runs({"n1"}, 1);
  look();
  view.jobs[0].phase = JobPhase::completing;
  look();
  EXPECT_EQ(said(Kind::job_lost), nullptr) << "its own end";
  waits(1).waits_for_time = false;
  look();
  EXPECT_EQ(said(Kind::job_lost), nullptr);
  runs({"n1"}, 2).phase = JobPhase::failed;
  view.jobs[0].ended = view.now;
  node(1).down = true;
  look();
  EXPECT_EQ(said(Kind::job_lost), nullptr) << "of a run that was not seen";
  view.jobs[0].restarts = 1;
  look();
  EXPECT_NE(said(Kind::job_lost), nullptr);
}

TEST_F(RecoveryCases, the_odds_of_a_node_by_what_was_seen_of_it_and_the_others) {
  apply(memory, {.kind = Kind::watch_began, .at = kBegin}, days(30));
  apply(memory, {.kind = Kind::node_failed, .at = kBegin, .node = "n1", .weight = 1}, days(30));
  apply(memory, {.kind = Kind::node_failed, .at = kBegin, .node = "n2", .weight = 1}, days(30));
  const double prior = 0.015 / 0.985;
  EXPECT_NEAR(lemon_odds_of("n1", view, memory, policy), prior * 10, 1e-9);
  EXPECT_NEAR(lemon_odds_of("n3", view, memory, policy), prior, 1e-9);
  // 15 days later each failure weighs e^-1/2; E = 30 (1 - e^-1/2) days, nine listed and 20 other
  // nodes, the other's failure beside the prior's two.
  view.now += days(15);
  view.well = 20;
  const double faded_one = std::exp(-0.5);
  const double exposure = 30 * (1 - faded_one);
  const double rate = (2 + faded_one) / (2 / 0.0065 + 29 * exposure) / 1.135;
  EXPECT_NEAR(lemon_odds_of("n1", view, memory, policy),
              prior * std::pow(10, faded_one) * std::exp(-9 * rate * exposure), 1e-9);
}

TEST(RecoveryBounds, are_as_documented) {
  const RecoveryPolicy p;
  EXPECT_EQ(p.out_share_max, 0.10);
  EXPECT_FALSE(p.fence);
  EXPECT_EQ(p.silence, seconds(10));
  EXPECT_EQ(p.hold_max, seconds(300));
  EXPECT_EQ(p.blame, seconds(60));
  EXPECT_EQ(p.avoid_share_max, 0.25);
  EXPECT_EQ(p.crash_loop, 4);
  EXPECT_EQ(p.crash_run, minutes(10));
  EXPECT_EQ(p.losses_max, 50);
  EXPECT_EQ(p.rollback, seconds(30));
  EXPECT_EQ(p.registering, seconds(3));
  EXPECT_EQ(p.settle, seconds(1));
  EXPECT_EQ(p.settle_max, seconds(60));
  const JobView job;
  EXPECT_EQ(job.phase, JobPhase::pending);
  EXPECT_TRUE(job.requeueable);
  EXPECT_FALSE(job.held || job.launch_failed || job.waits_for_time);
  const NodeView node;
  EXPECT_FALSE(node.down || node.silent || node.drained || node.broken || node.spare);
  const NodeMemory m;
  EXPECT_FALSE(m.out || m.wants_drain || m.lemon || m.fenced || m.out_shown || m.drain_shown);
  EXPECT_EQ(JobMemory{}.restarts, -1);
  EXPECT_EQ(p.lemon.mix.share, 0.015);
  EXPECT_EQ(p.lemon.mix.multiplier, 10);
  EXPECT_EQ(p.lemon.odds_bound, 10);
  EXPECT_EQ(p.lemon.memory, days(30));
  EXPECT_EQ(p.lemon.rate_failures, 2);
}

struct Remembered {
  void see(RecoveryEvent e) {
    e.at = seconds(at += 10);
    apply(memory, e, days(30));
  }
  NodeMemory& node() { return memory.nodes["a"]; }
  JobMemory& job() { return memory.jobs["7"]; }
  RecoveryMemory memory;
  double at = 100;
};

TEST(RecoveryMemoryCases, the_latest_eight_losses_are_kept) {
  Remembered r;
  r.see({.kind = Kind::job_started, .job = "7", .restarts = 3, .nodes = {"a", "b"}});
  EXPECT_EQ(r.job().restarts, 3);
  EXPECT_EQ(r.job().started, seconds(110));
  for (int i = 0; i < 10; ++i) {
    r.see({.kind = Kind::job_lost,
           .job = "7",
           .restarts = i,
           .nodes = {"n" + std::to_string(i)},
           .lasted = seconds(i)});
  }
  EXPECT_EQ(r.job().losses_total, 10);
  ASSERT_EQ(r.job().losses.size(), 8u);
  EXPECT_EQ(r.job().losses.front(), (PastLoss{.node = "n2", .ran = seconds(2)}));
  EXPECT_EQ(r.job().losses.back(), (PastLoss{.node = "n9", .ran = seconds(9)}));
  EXPECT_EQ(r.job().loss->restarts, 9);
  EXPECT_EQ(r.job().loss->at, seconds(210));
  EXPECT_THAT(r.job().loss->ran_on, ElementsAre("a", "b"));
  r.see({.kind = Kind::job_lost, .job = "7"});
  EXPECT_EQ(r.job().losses.back().node, "");
}

TEST(RecoveryMemoryCases, a_job_that_is_back_is_done_with) {
  Remembered r;
  r.see({.kind = Kind::job_started, .job = "7", .restarts = 0, .nodes = {"a"}});
  r.see({.kind = Kind::job_lost, .job = "7", .nodes = {"a"}});
  r.see({.kind = Kind::job_blamed, .job = "7"});
  r.see({.kind = Kind::job_held, .job = "7", .good = true});
  r.see({.kind = Kind::tried, .key = "release/7/0", .good = true});
  r.see({.kind = Kind::tried, .key = "release/77/0", .good = false});
  r.see({.kind = Kind::tried, .key = "release/77/0", .good = true});
  r.see({.kind = Kind::alerted, .key = "blamed/7/0"});
  r.see({.kind = Kind::alerted, .key = "blamed/8/0"});
  EXPECT_TRUE(r.job().blamed && r.job().held_seen);
  EXPECT_EQ(r.memory.attempts.at("release/77/0"),
            (Attempt{.count = 2, .last = seconds(170), .good = true}));
  r.see({.kind = Kind::job_back, .job = "7", .restarts = 1});
  EXPECT_FALSE(r.job().loss || r.job().blamed || r.job().held_seen);
  EXPECT_TRUE(r.job().losses.empty()) << "a person let it go on";
  EXPECT_THAT(r.job().regained->nodes, ElementsAre("a"));
  EXPECT_EQ(r.memory.attempts.size(), 1u);
  EXPECT_THAT(r.memory.alerted, ElementsAre("blamed/8/0"));
  r.see({.kind = Kind::job_undone, .job = "7", .restarts = 4});
  EXPECT_EQ(r.job().restarts, 4);
  EXPECT_EQ(r.job().loss->restarts, 4);
  EXPECT_EQ(r.job().loss->at, seconds(210));
  EXPECT_THAT(r.job().nodes, ElementsAre("a"));
  r.see({.kind = Kind::tried, .key = "release/7/4"});
  r.see({.kind = Kind::job_gone, .job = "7"});
  EXPECT_TRUE(r.memory.jobs.empty());
  EXPECT_EQ(r.memory.attempts.size(), 1u);
}

TEST(RecoveryMemoryCases, what_is_remembered_of_a_node) {
  Remembered r;
  r.see({.kind = Kind::node_silent, .node = "a"});
  EXPECT_EQ(r.node().silent_since, seconds(110));
  r.see({.kind = Kind::node_failed, .node = "a", .weight = 0.5});
  EXPECT_TRUE(r.node().out && r.node().out_shown && r.node().wants_drain);
  EXPECT_EQ(r.node().failures, 1);
  EXPECT_EQ(r.node().weight, (FadingCount{.weight = 0.5, .at = seconds(120)}));
  EXPECT_EQ(r.memory.all, r.node().weight);
  r.see({.kind = Kind::node_fenced, .node = "a"});
  EXPECT_TRUE(r.node().fenced);
  r.see({.kind = Kind::tried, .key = "fence/a/1", .good = true});
  r.see({.kind = Kind::fence_failed, .node = "a", .key = "fence/a/1"});
  EXPECT_FALSE(r.memory.attempts.at("fence/a/1").good);
  r.see({.kind = Kind::drain_settled, .node = "a"});
  EXPECT_FALSE(r.node().wants_drain);
  EXPECT_TRUE(r.node().drain_shown);
  EXPECT_EQ(r.node().drain_seen, seconds(160));
  r.see({.kind = Kind::controller_seen, .lasted = seconds(50)});
  EXPECT_FALSE(r.node().out_shown || r.node().drain_shown);
  r.see({.kind = Kind::node_shown, .node = "a", .good = true});
  EXPECT_TRUE(r.node().drain_shown && !r.node().out_shown);
  r.see({.kind = Kind::node_shown, .node = "a"});
  EXPECT_TRUE(r.node().out_shown);
  r.see({.kind = Kind::controller_seen, .lasted = seconds(50)});
  EXPECT_TRUE(r.node().out_shown) << "the same one";
  r.see({.kind = Kind::node_forgotten, .node = "a", .good = true});
  EXPECT_TRUE(r.node().wants_drain && !r.node().out_shown && !r.node().drain_shown);
  EXPECT_EQ(r.node().drain_seen, Seconds());
  EXPECT_EQ(r.node().forgotten, seconds(210));
  r.see({.kind = Kind::alerted, .key = "silent/a/1"});
  r.see({.kind = Kind::node_back, .node = "a"});
  EXPECT_FALSE(r.node().out || r.node().fenced);
  EXPECT_EQ(r.node().silent_since, Seconds());
  EXPECT_EQ(r.node().forgotten, Seconds());
  EXPECT_TRUE(r.memory.attempts.empty() && r.memory.alerted.empty());
  r.see({.kind = Kind::node_forgotten, .node = "a"});
  EXPECT_EQ(r.node().forgotten, Seconds()) << "it is not out";
  EXPECT_TRUE(r.node().wants_drain) << "as before";
}

TEST(RecoveryMemoryCases, lemons_drains_and_spares) {
  Remembered r;
  r.see({.kind = Kind::node_failed, .node = "a", .weight = 0});
  EXPECT_FALSE(r.node().wants_drain) << "it was out before";
  r.see({.kind = Kind::lemon_found, .node = "a"});
  EXPECT_TRUE(r.node().lemon && r.node().wants_drain);
  r.see({.kind = Kind::node_failed, .node = "a", .weight = 1});
  EXPECT_FALSE(r.node().lemon);
  EXPECT_EQ(r.node().failures, 2);
  r.see({.kind = Kind::drain_settled, .node = "a"});
  r.see({.kind = Kind::drain_lifted, .node = "a"});
  EXPECT_EQ(r.node().drain_seen, Seconds());
  NodeMemory& spare = r.memory.nodes["s"];
  r.see({.kind = Kind::spare_called, .node = "s", .nodes = {"a"}});
  EXPECT_EQ(spare.stood_in_for, "a");
  EXPECT_EQ(spare.serves_for, "");
  r.see({.kind = Kind::spare_called, .node = "s"});
  EXPECT_EQ(spare.stood_in_for, "");
  EXPECT_EQ(spare.serves_for, "a");
  r.see({.kind = Kind::spare_returned, .node = "s"});
  EXPECT_EQ(spare.serves_for, "");
  r.see({.kind = Kind::watch_began});
  r.see({.kind = Kind::watch_began});
  EXPECT_EQ(*r.memory.since, seconds(190));
  for (int k = 0; k < 23; ++k) {
    EXPECT_EQ(event_kind_from(to_text(static_cast<Kind>(k))), static_cast<Kind>(k));
  }
  EXPECT_FALSE(event_kind_from("nothing"));
}

sim::SimTime at_second(double s) { return sim::SimTime::from(seconds(s)); }

TEST(RecoveryDeskCases, a_spare_is_called_and_the_run_let_go) {
  RecoveryDesk desk(100);
  desk.job_runs(at_second(0), "a");
  const auto down = desk.host_down(at_second(100), 7, "a", 103);
  EXPECT_THAT(down.spares, ElementsAre(103));
  EXPECT_THAT(down.lemons, IsEmpty());
  EXPECT_FALSE(down.is_released) << "it still ends there";
  const auto waits = desk.job_waits(at_second(110), "a");
  EXPECT_TRUE(waits.is_released);
  EXPECT_THAT(waits.spares, IsEmpty());
  desk.job_runs(at_second(120), "a");
  EXPECT_EQ(desk.looks(), 5u);
  const auto back = desk.host_back(at_second(5000), 7);
  EXPECT_THAT(back.lemons, IsEmpty());
  EXPECT_EQ(desk.looks(), 6u);
  EXPECT_TRUE(RecoveryDesk::Call{}.is_released);
}

// A run that ends without a host seen down is let go all the same.
TEST(RecoveryDeskCases, a_run_that_ended_by_itself_is_let_go) {
  RecoveryDesk desk(100);
  desk.job_runs(at_second(0), "a");
  EXPECT_TRUE(desk.job_waits(at_second(50), "a").is_released);
}

// After 30 days of 100 hosts without a fault, the third failure within the hour has odds of
// 0.01523 x 1000 e^-0.15 = 13: above ten.
TEST(RecoveryDeskCases, a_host_that_fails_again_and_again_is_a_lemon_when_it_is_back) {
  RecoveryDesk desk(100);
  desk.job_runs(at_second(0), "a");
  for (int k = 0; k < 3; ++k) {
    const double t = 30 * 86'400 + 1000 * k;
    desk.host_down(at_second(t), 42, "", -1);
    const std::uint64_t looks = desk.looks();
    const auto back = desk.host_back(at_second(t + 500), 42);
    if (k < 2) {
      EXPECT_THAT(back.lemons, IsEmpty()) << k;
      EXPECT_EQ(desk.looks(), looks + 1);
    } else {
      EXPECT_THAT(back.lemons, ElementsAre(42));
      EXPECT_EQ(desk.looks(), looks + 2);
    }
  }
}

// Four runs in a row that each take another host with them: the job is held, and judged anew when a
// person has let it go.
TEST(RecoveryDeskCases, a_job_that_breaks_hosts_is_held) {
  RecoveryDesk desk(100);
  for (int k = 0; k < 4; ++k) {
    const double t = 1000 * k;
    desk.job_runs(at_second(t), "a");
    desk.host_down(at_second(t + 60), k, "a", -1);
    EXPECT_EQ(desk.job_waits(at_second(t + 70), "a").is_released, k < 3) << k;
  }
  desk.job_runs(at_second(5000), "a");
  desk.host_down(at_second(5060), 50, "a", -1);
  EXPECT_TRUE(desk.job_waits(at_second(5070), "a").is_released);
}

}  // namespace
}  // namespace orrery::failure
