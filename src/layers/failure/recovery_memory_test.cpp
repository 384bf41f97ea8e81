#include "layers/failure/recovery_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/failure/lemon.h"
#include "layers/failure/recovery.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;

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

TEST(RecoveryMemory, latest_eight_losses_are_kept) {
  Remembered r;
  r.see({.kind = RecoveryEventKind::job_started, .job = "7", .restarts = 3, .nodes = {"a", "b"}});
  EXPECT_EQ(r.job().restarts, 3);
  EXPECT_EQ(r.job().started, seconds(110));
  for (int i = 0; i < 10; ++i) {
    r.see({.kind = RecoveryEventKind::job_lost,
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
  r.see({.kind = RecoveryEventKind::job_lost, .job = "7"});
  EXPECT_EQ(r.job().losses.back().node, "");
}

TEST(RecoveryMemory, recovered_job_is_forgotten) {
  Remembered r;
  r.see({.kind = RecoveryEventKind::job_started, .job = "7", .restarts = 0, .nodes = {"a"}});
  r.see({.kind = RecoveryEventKind::job_lost, .job = "7", .nodes = {"a"}});
  r.see({.kind = RecoveryEventKind::job_blamed, .job = "7"});
  r.see({.kind = RecoveryEventKind::job_held, .job = "7", .good = true});
  r.see({.kind = RecoveryEventKind::tried, .key = "release/7/0", .good = true});
  r.see({.kind = RecoveryEventKind::tried, .key = "release/77/0", .good = false});
  r.see({.kind = RecoveryEventKind::tried, .key = "release/77/0", .good = true});
  r.see({.kind = RecoveryEventKind::alerted, .key = "blamed/7/0"});
  r.see({.kind = RecoveryEventKind::alerted, .key = "blamed/8/0"});
  EXPECT_TRUE(r.job().blamed && r.job().held_seen);
  EXPECT_EQ(r.memory.attempts.at("release/77/0"),
            (Attempt{.count = 2, .last = seconds(170), .good = true}));
  r.see({.kind = RecoveryEventKind::job_back, .job = "7", .restarts = 1});
  EXPECT_FALSE(r.job().loss || r.job().blamed || r.job().held_seen);
  EXPECT_TRUE(r.job().losses.empty()) << "an operator released it";
  EXPECT_THAT(r.job().regained->nodes, ElementsAre("a"));
  EXPECT_EQ(r.memory.attempts.size(), 1u);
  EXPECT_THAT(r.memory.alerted, ElementsAre("blamed/8/0"));
  r.see({.kind = RecoveryEventKind::job_undone, .job = "7", .restarts = 4});
  EXPECT_EQ(r.job().restarts, 4);
  EXPECT_EQ(r.job().loss->restarts, 4);
  EXPECT_EQ(r.job().loss->at, seconds(210));
  EXPECT_THAT(r.job().nodes, ElementsAre("a"));
  r.see({.kind = RecoveryEventKind::tried, .key = "release/7/4"});
  r.see({.kind = RecoveryEventKind::job_gone, .job = "7"});
  EXPECT_TRUE(r.memory.jobs.empty());
  EXPECT_EQ(r.memory.attempts.size(), 1u);
}

TEST(RecoveryMemory, node_memory_follows_its_events) {
  Remembered r;
  r.see({.kind = RecoveryEventKind::node_silent, .node = "a"});
  EXPECT_EQ(r.node().silent_since, seconds(110));
  r.see({.kind = RecoveryEventKind::node_failed, .node = "a", .weight = 0.5});
  EXPECT_TRUE(r.node().out && r.node().out_shown && r.node().wants_drain);
  EXPECT_EQ(r.node().failures, 1);
  EXPECT_EQ(r.node().weight, (FadingCount{.weight = 0.5, .at = seconds(120)}));
  EXPECT_EQ(r.memory.all, r.node().weight);
  r.see({.kind = RecoveryEventKind::node_fenced, .node = "a"});
  EXPECT_TRUE(r.node().fenced);
  r.see({.kind = RecoveryEventKind::tried, .key = "fence/a/1", .good = true});
  r.see({.kind = RecoveryEventKind::fence_failed, .node = "a", .key = "fence/a/1"});
  EXPECT_FALSE(r.memory.attempts.at("fence/a/1").good);
  r.see({.kind = RecoveryEventKind::drain_settled, .node = "a"});
  EXPECT_FALSE(r.node().wants_drain);
  EXPECT_TRUE(r.node().drain_shown);
  EXPECT_EQ(r.node().drain_seen, seconds(160));
  r.see({.kind = RecoveryEventKind::controller_seen, .lasted = seconds(50)});
  EXPECT_FALSE(r.node().out_shown || r.node().drain_shown);
  r.see({.kind = RecoveryEventKind::node_shown, .node = "a", .good = true});
  EXPECT_TRUE(r.node().drain_shown && !r.node().out_shown);
  r.see({.kind = RecoveryEventKind::node_shown, .node = "a"});
  EXPECT_TRUE(r.node().out_shown);
  r.see({.kind = RecoveryEventKind::controller_seen, .lasted = seconds(50)});
  EXPECT_TRUE(r.node().out_shown) << "the same one";
  r.see({.kind = RecoveryEventKind::node_forgotten, .node = "a", .good = true});
  EXPECT_TRUE(r.node().wants_drain && !r.node().out_shown && !r.node().drain_shown);
  EXPECT_EQ(r.node().drain_seen, Seconds());
  EXPECT_EQ(r.node().forgotten, seconds(210));
  r.see({.kind = RecoveryEventKind::alerted, .key = "silent/a/1"});
  r.see({.kind = RecoveryEventKind::node_back, .node = "a"});
  EXPECT_FALSE(r.node().out || r.node().fenced);
  EXPECT_EQ(r.node().silent_since, Seconds());
  EXPECT_EQ(r.node().forgotten, Seconds());
  EXPECT_TRUE(r.memory.attempts.empty() && r.memory.alerted.empty());
  r.see({.kind = RecoveryEventKind::node_forgotten, .node = "a"});
  EXPECT_EQ(r.node().forgotten, Seconds()) << "it is not out";
  EXPECT_TRUE(r.node().wants_drain) << "as before";
}

TEST(RecoveryMemory, lemons_drains_and_spares_are_remembered) {
  Remembered r;
  r.see({.kind = RecoveryEventKind::node_failed, .node = "a", .weight = 0});
  EXPECT_FALSE(r.node().wants_drain) << "it was out before";
  r.see({.kind = RecoveryEventKind::lemon_found, .node = "a"});
  EXPECT_TRUE(r.node().lemon && r.node().wants_drain);
  r.see({.kind = RecoveryEventKind::node_failed, .node = "a", .weight = 1});
  EXPECT_FALSE(r.node().lemon);
  EXPECT_EQ(r.node().failures, 2);
  r.see({.kind = RecoveryEventKind::drain_settled, .node = "a"});
  r.see({.kind = RecoveryEventKind::drain_lifted, .node = "a"});
  EXPECT_EQ(r.node().drain_seen, Seconds());
  NodeMemory& spare = r.memory.nodes["s"];
  r.see({.kind = RecoveryEventKind::spare_called, .node = "s", .nodes = {"a"}});
  EXPECT_EQ(spare.stood_in_for, "a");
  EXPECT_EQ(spare.serves_for, "");
  r.see({.kind = RecoveryEventKind::spare_called, .node = "s"});
  EXPECT_EQ(spare.stood_in_for, "");
  EXPECT_EQ(spare.serves_for, "a");
  r.see({.kind = RecoveryEventKind::spare_returned, .node = "s"});
  EXPECT_EQ(spare.serves_for, "");
  r.see({.kind = RecoveryEventKind::watch_began});
  r.see({.kind = RecoveryEventKind::watch_began});
  EXPECT_EQ(*r.memory.since, seconds(190));
  for (int k = 0; k < 23; ++k) {
    EXPECT_EQ(event_kind_from(to_text(static_cast<RecoveryEventKind>(k))),
              static_cast<RecoveryEventKind>(k));
  }
  EXPECT_FALSE(event_kind_from("nothing"));
}

// The first start of observation is kept; a hold follows the latest event.
TEST(RecoveryMemory, first_watch_and_release_are_kept) {
  const Seconds memory = RecoveryPolicy().lemon.memory;
  RecoveryMemory m;
  const auto tell = [&](const RecoveryEvent& e) { apply(m, e, memory); };
  tell({.kind = RecoveryEventKind::watch_began, .at = seconds(100)});
  tell({.kind = RecoveryEventKind::watch_began, .at = seconds(900)});
  EXPECT_EQ(m.since, seconds(100)) << "a restart does not make the watch younger";
  tell({.kind = RecoveryEventKind::job_held, .at = seconds(910), .job = "7", .good = true});
  EXPECT_TRUE(m.jobs.at("7").held_seen);
  tell({.kind = RecoveryEventKind::job_held, .at = seconds(920), .job = "7", .good = false});
  EXPECT_FALSE(m.jobs.at("7").held_seen) << "released";
  tell({.kind = RecoveryEventKind::node_failed, .at = seconds(930), .node = "n0", .weight = 1});
  EXPECT_EQ(m.all, m.nodes.at("n0").weight) << "the fleet's only failure so far is this node's";
  m.nodes.at("n0").wants_drain = true;
  tell({.kind = RecoveryEventKind::node_forgotten, .at = seconds(940), .node = "n0"});
  EXPECT_TRUE(m.nodes.at("n0").wants_drain) << "a wish outlives the controller that forgot it";
}

TEST(RecoveryMemory, event_names_read_back) {
  for (int k = 0; k <= static_cast<int>(RecoveryEventKind::node_shown); ++k) {
    const auto kind = static_cast<RecoveryEventKind>(k);
    EXPECT_EQ(event_kind_from(to_text(kind)), kind);
  }
  EXPECT_FALSE(event_kind_from("seen"));
}

}  // namespace
}  // namespace orrery::failure
