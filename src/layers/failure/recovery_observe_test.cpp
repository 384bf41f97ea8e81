#include "layers/failure/recovery_observe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/failure/recovery.h"
#include "layers/failure/recovery_memory.h"

namespace orrery::failure {
namespace {

constexpr Seconds kNoon = seconds(3e9);

// Returns true if one more loss after `losses` is blamed on the job, for a job on `nodes` of a
// hundred nodes that were observed for 30 days with 20 failures.
bool is_blamed_after(int losses, int nodes) {
  RecoveryMemory memory;
  memory.since = kNoon - days(30);
  memory.all = {.weight = 20, .at = kNoon};
  JobMemory& job = memory.jobs["7"];
  job.restarts = 0;
  job.started = kNoon - hours(1);
  job.losses_total = losses;
  for (int i = 0; i < nodes; ++i) job.nodes.push_back("n" + std::to_string(i));
  ClusterLook view{.now = kNoon};
  view.nodes = {{.name = "n0"}, {.name = "n1"}};
  view.well = 98;
  view.jobs = {{.id = "7",
                .phase = JobPhase::pending,
                .restarts = 1,
                .waits_for_time = true,
                .eligible = kNoon + seconds(120)}};
  const std::vector<RecoveryEvent> events = observe(view, memory, {});
  const auto is = [&](RecoveryEventKind kind) {
    return std::ranges::find(events, kind, &RecoveryEvent::kind) != events.end();
  };
  EXPECT_TRUE(is(RecoveryEventKind::job_lost));
  EXPECT_EQ(memory.jobs.at("7").losses_total, losses + 1);
  return is(RecoveryEventKind::job_blamed);
}

// With decay over 30 days, 30 days of observation count as 30 (1 - 1/e) = 18.964 days per node.
// With the prior's 2 failures in 307.69 node-days that is 22 failures in 2,204.05. Ten nodes: 2.994
// in 30 days; three times that plus 50 is 58.98. One node: 50.90, four: 53.59.
TEST(RecoveryObserve, losses_allowed_grow_with_the_fleet_rate) {
  EXPECT_FALSE(is_blamed_after(57, 10));
  EXPECT_TRUE(is_blamed_after(58, 10));
  EXPECT_FALSE(is_blamed_after(49, 1));
  EXPECT_TRUE(is_blamed_after(50, 1));
  EXPECT_FALSE(is_blamed_after(52, 4));
  EXPECT_TRUE(is_blamed_after(53, 4));
}

// It is unknown where it ran: it may have been on all hundred, which allows 89.84 losses more.
TEST(RecoveryObserve, unseen_job_is_judged_by_the_whole_fleet) {
  EXPECT_FALSE(is_blamed_after(138, 0));
  EXPECT_TRUE(is_blamed_after(139, 0));
}

TEST(RecoveryObserve, seen_drain_is_noted_as_shown) {
  RecoveryMemory memory;
  const RecoveryPolicy policy;
  ClusterLook view{.now = kNoon};
  for (int i = 0; i < 10; ++i) view.nodes.push_back({.name = "n" + std::to_string(i)});
  view.controller_since = kNoon - days(1);
  const auto look = [&] {
    view.now += seconds(1);
    return decide_and_remember(view, memory, policy);
  };
  look();
  view.nodes[3].down = true;
  look();
  EXPECT_TRUE(memory.nodes.at("n3").out);
  EXPECT_TRUE(memory.nodes.at("n3").wants_drain);
  EXPECT_FALSE(memory.nodes.at("n3").drain_shown);
  view.nodes[3].drained = true;
  look();
  EXPECT_FALSE(memory.nodes.at("n3").wants_drain);
  EXPECT_EQ(memory.nodes.at("n3").drain_seen, view.now);
  EXPECT_TRUE(memory.nodes.at("n3").drain_shown);
  EXPECT_TRUE(memory.nodes.at("n3").out_shown);
  const Decision calm = look();
  EXPECT_TRUE(calm.events.empty()) << "once is enough";
}

}  // namespace
}  // namespace orrery::failure
