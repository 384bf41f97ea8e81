// The recovery policy and a controller that restarts: orders that it forgot are given again, what
// it shows is believed, and what a person changes in between stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "recovery_bench.h"

namespace orrery {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using testing_recovery::Bench;

TEST(Recovery, the_agent_waits_while_the_controller_is_away_and_then_continues) {
  Bench bench;
  const std::string job = bench.slurm.submit(2);
  bench.run(seconds(3));
  bench.slurm.fail_node("n1");
  bench.slurm.lose_controller(seconds(20));
  bench.run(seconds(19));
  EXPECT_FALSE(bench.slurm.is_running(job));
  EXPECT_THAT(bench.actions, IsEmpty());
  bench.run(seconds(6));
  EXPECT_TRUE(bench.slurm.is_running(job));
  EXPECT_THAT(bench.slurm.overlaps(), IsEmpty());
}

// If the controller is killed at any moment after a node failed, it comes back with a state of up
// to five seconds before, so that orders are lost. Nevertheless every job runs again within
// seconds.
TEST(Recovery, a_controller_that_dies_after_it_took_orders_delays_no_job) {
  for (int step = 1; step <= 60; ++step) {
    Bench bench({.nodes = 8});
    bench.slurm.make_spare("n8");
    const std::vector<std::string> jobs = {bench.slurm.submit(2), bench.slurm.submit(5)};
    bench.run(seconds(10.2 + 0.3 * (step % 7)));
    bench.slurm.fail_node("n1");
    bench.run(seconds(0.1 * step));
    bench.slurm.kill_controller(seconds(2));
    bench.run(seconds(2.5));
    const Seconds back = bench.slurm.now();
    bench.run(seconds(10));
    for (const std::string& job : jobs) {
      ASSERT_TRUE(bench.slurm.is_running(job)) << step;
      const auto& run = bench.slurm.runs(job).back();
      EXPECT_EQ(run.end, Seconds()) << step;
      EXPECT_LT(run.start - back, seconds(9)) << step;
      EXPECT_THAT(run.nodes, testing::Not(testing::Contains("n1"))) << step;
    }
    const auto view = bench.slurm.look();
    EXPECT_TRUE(view->nodes[0].drained) << step;
    EXPECT_EQ(bench.agent->memory().nodes.at("n1").failures, 1) << step;
    EXPECT_THAT(bench.slurm.overlaps(), IsEmpty()) << step;
  }
}

// If a person lifts a drain while the controller is up, it stays lifted.
TEST(Recovery, changes_by_a_person_are_not_reverted) {
  Bench bench;
  bench.slurm.submit(2);
  bench.run(seconds(40));
  bench.slurm.fail_node("n1");
  bench.run(seconds(5));
  bench.actions.clear();
  bench.slurm.repair_node("n1");
  bench.run(seconds(20));
  EXPECT_THAT(bench.actions, IsEmpty());
}

// A job was released and started just before the controller died. The new controller shows it as
// pending and starts it a second time next to its forgotten run: the launch fails and Slurm holds
// the job. The agent releases it once more.
TEST(Recovery, a_launch_that_meets_a_forgotten_run_is_released_again) {
  int met = 0;
  for (int step = 1; step <= 60; ++step) {
    Bench bench({.nodes = 8});
    const std::string job = bench.slurm.submit(2);
    bench.run(seconds(10 + 0.09 * step));
    bench.slurm.fail_node("n1");
    bench.run(seconds(2.1));
    bench.slurm.kill_controller(seconds(1));
    bench.run(seconds(1.05));
    const Seconds back = bench.slurm.now();
    bench.run(seconds(10));
    const bool was_held = std::ranges::any_of(
        bench.actions, [](const std::string& action) { return action.starts_with("unhold_job"); });
    met += was_held ? 1 : 0;
    ASSERT_TRUE(bench.slurm.is_running(job)) << step;
    EXPECT_LT(bench.slurm.runs(job).back().start - back, seconds(9)) << step;
    EXPECT_THAT(bench.slurm.overlaps(), IsEmpty()) << step;
  }
  EXPECT_GT(met, 0);
}

// A job that a person holds, or whose launch fails while the controller is up, is left alone.
TEST(Recovery, a_hold_not_caused_by_the_controller_stays) {
  failure::RecoveryMemory memory;
  failure::ClusterLook view{.now = seconds(1000), .controller_since = seconds(10), .well = 8};
  view.jobs = {{.id = "1", .phase = failure::JobPhase::running, .nodes = {"n1"}}};
  failure::decide_and_remember(view, memory, {});
  view.now = seconds(1010);
  view.jobs = {{.id = "1", .restarts = 1, .held = true, .launch_failed = true}};
  const auto failed = failure::decide_and_remember(view, memory, {});
  EXPECT_TRUE(std::ranges::none_of(failed.actions, [](const failure::RecoveryAction& a) {
    return a.kind == failure::ActionKind::unhold_job;
  }));
}

// A controller that came back and showed the drain has not forgotten it. If the drain is lifted
// after that, however soon, a person has lifted it.
TEST(Recovery, changes_by_a_person_right_after_a_restart_are_not_reverted) {
  for (int step = 1; step <= 40; ++step) {
    Bench bench({.nodes = 8});
    const std::string job = bench.slurm.submit(2);
    bench.run(seconds(10.2 + 0.3 * (step % 7)));
    bench.slurm.fail_node("n1");
    bench.run(seconds(0.1 * step));
    bench.slurm.kill_controller(seconds(2));
    bench.run(seconds(12));
    ASSERT_TRUE(bench.slurm.is_running(job)) << step;
    ASSERT_TRUE(bench.slurm.look()->nodes[0].drained) << step;
    bench.actions.clear();
    bench.slurm.repair_node("n1");
    const std::string next = bench.slurm.submit(6);  // all remaining nodes, including n1
    bench.run(seconds(40));
    EXPECT_THAT(bench.actions, IsEmpty()) << step;
    EXPECT_FALSE(bench.slurm.look()->nodes[0].drained) << step;
    EXPECT_TRUE(bench.slurm.is_running(next)) << step;
    EXPECT_THAT(bench.slurm.runs(next), SizeIs(1)) << step;
    EXPECT_FALSE(bench.agent->memory().nodes.at("n1").out) << step;
  }
}

}  // namespace
}  // namespace orrery
