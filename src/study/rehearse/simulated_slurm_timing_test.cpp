#include <gmock/gmock.h>

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"
#include "study/rehearse/slurm_fixture.h"

namespace orrery::rehearse {
namespace {

using failure::ActionKind;
using failure::JobPhase;
using testing::IsEmpty;

struct SlurmCase {
  sim::Kernel kernel;
  SimulatedSlurm slurm{kernel, {.nodes = 4}};
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  failure::JobView job() { return slurm.look()->jobs.at(0); }
};

TEST(SimulatedSlurmTiming, job_phases_take_their_times) {
  Rig r;
  r.slurm.submit(2);
  r.until(0.05);
  EXPECT_EQ(r.job().phase, JobPhase::starting);
  r.until(0.15);
  EXPECT_EQ(r.job().phase, JobPhase::running);
  EXPECT_EQ(r.slurm.look()->now, seconds(kEpoch + 0.15));
  r.until(1);
  r.slurm.requeue_job("1");
  EXPECT_EQ(r.job().ended, seconds(kEpoch + 1));
  r.until(1.29);
  EXPECT_EQ(r.job().phase, JobPhase::completing);
  r.until(1.31);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_TRUE(r.job().nodes.empty());
  EXPECT_NEAR(r.job().eligible.base(), kEpoch + 1.3 + 121, 1e-6);
  EXPECT_EQ(r.job().restarts, 1);
  r.until(122.2);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  r.until(122.7);  // the pass at 122.5
  EXPECT_EQ(r.job().phase, JobPhase::running);
  ASSERT_EQ(r.slurm.runs("1").size(), 2u);
  EXPECT_NEAR(r.slurm.runs("1")[0].start.base(), kEpoch, 1e-6);
  EXPECT_NEAR(r.slurm.runs("1")[0].end.base(), kEpoch + 1, 1e-6);
  EXPECT_NEAR(r.slurm.runs("1")[1].start.base(), kEpoch + 122.5, 1e-6);
}

TEST(SimulatedSlurmTiming, a_fence_takes_a_second_and_ends_jobs) {
  Rig r;
  r.slurm.submit(1);
  r.until(1);
  r.slurm.silence_node("n1");
  EXPECT_TRUE(r.order(ActionKind::fence_node, "", {"n1"}));
  EXPECT_EQ(r.node().fence, failure::FenceState::under_way);
  r.until(1.95);
  EXPECT_EQ(r.node().fence, failure::FenceState::under_way);
  r.until(2.05);
  EXPECT_EQ(r.node().fence, failure::FenceState::off);
  EXPECT_TRUE(r.order(ActionKind::down_node, "", {"n1"}));
  r.until(200);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_TRUE(r.slurm.overlaps().empty());
}

// Back at 15 s, it waits for a node's answer until 75 s.
TEST(SimulatedSlurmTiming, a_node_is_down_after_the_timeout) {
  Rig r;
  r.until(10);
  r.slurm.kill_controller(seconds(5));
  r.slurm.fail_node("n2");
  r.until(14.9);
  EXPECT_FALSE(r.slurm.look());
  r.until(15.1);
  ASSERT_TRUE(r.slurm.look());
  EXPECT_EQ(r.slurm.look()->controller_since, seconds(kEpoch + 15));
  EXPECT_TRUE(r.node(1).silent);
  EXPECT_FALSE(r.node(0).silent);
  r.until(74.9);
  EXPECT_FALSE(r.node(1).down);
  r.until(75.1);
  EXPECT_TRUE(r.node(1).down);
  EXPECT_FALSE(r.node(1).silent);
}

// The forgotten run is killed from 7.6 s to 9.6 s: until then no other is launched there.
TEST(SimulatedSlurmTiming, a_killed_run_holds_its_nodes_for_two_seconds) {
  for (const bool early : {true, false}) {
    Rig r;
    r.until(5.6);
    r.slurm.submit(4);
    r.until(6.6);
    r.slurm.kill_controller(seconds(1));
    r.until(7);
    EXPECT_TRUE(r.order(ActionKind::hold_job, "1") == false);
    r.until(7.61);
    EXPECT_TRUE(r.order(ActionKind::hold_job, "1"));
    r.until(early ? 9.3 : 9.7);
    EXPECT_TRUE(r.order(ActionKind::unhold_job, "1"));
    r.until(10.7);
    EXPECT_EQ(r.job().launch_failed, early);
    EXPECT_EQ(r.slurm.runs("1").size(), early ? 1u : 2u);
    if (early) EXPECT_NEAR(r.job().eligible.base(), kEpoch + 9.5 + 121, 1e-6);
  }
}

// Started and not saved: the controller that is back at 2.5 s has forgotten the run, which is being
// killed until 4.5 s. A launch on its nodes fails and holds the job; at 4.5 s that ends.
TEST(SimulatedSlurmTiming, a_launch_beside_a_lost_run_fails) {
  SlurmCase c;
  const std::string id = c.slurm.submit(1);
  c.until(1.5);
  ASSERT_TRUE(c.slurm.is_running(id));
  c.slurm.kill_controller(seconds(1));
  c.until(1.6);
  EXPECT_FALSE(c.slurm.look());
  c.until(2.6);
  EXPECT_EQ(c.job().phase, failure::JobPhase::pending);
  EXPECT_TRUE(c.job().held && c.job().launch_failed);
  EXPECT_EQ(c.job().restarts, 1);
  EXPECT_NEAR((c.job().eligible - seconds(1'700'000'000)).base(), 2.5 + 121, 1e-6);
  ASSERT_EQ(c.slurm.runs(id).size(), 1u);
  EXPECT_NEAR((c.slurm.runs(id)[0].end - seconds(1'700'000'000)).base(), 2.5, 1e-6);
  const auto seen = c.slurm.look();
  for (const failure::NodeView& node : seen->nodes) {
    EXPECT_FALSE(node.silent || node.down) << node.name;
  }
  c.until(4.2);
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::unhold_job, .job = id}));
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::release_job, .job = id}));
  c.until(4.7);
  EXPECT_TRUE(c.slurm.is_running(id));
  EXPECT_EQ(c.job().restarts, 1);
  EXPECT_THAT(c.slurm.overlaps(), IsEmpty());
}

// A node that died while the controller was away is silent when it is back, and down a minute on.
TEST(SimulatedSlurmTiming, a_dead_node_is_silent_then_down) {
  SlurmCase c;
  const std::string id = c.slurm.submit(1);
  c.until(5.2);  // saved as running
  c.slurm.kill_controller(seconds(1));
  c.slurm.fail_node("n1");
  c.until(6.3);
  const auto view = c.slurm.look();
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->nodes[0].silent && !view->nodes[0].down);
  EXPECT_FALSE(view->nodes[1].silent);
  EXPECT_EQ(c.job().phase, failure::JobPhase::running);
  c.until(66.1);
  EXPECT_FALSE(c.slurm.look()->nodes[0].down);
  c.until(66.3);
  EXPECT_TRUE(c.slurm.look()->nodes[0].down);
  EXPECT_FALSE(c.slurm.look()->nodes[0].silent);
  EXPECT_FALSE(c.slurm.look()->nodes[1].down);
  EXPECT_EQ(c.job().phase, failure::JobPhase::completing);
}

// Saved at 5 s while completing on a node that is down: no answer is needed.
TEST(SimulatedSlurmTiming, ends_on_a_down_node_continue) {
  SlurmCase c;
  (void)c.slurm.submit(1);
  c.until(4.9);
  c.slurm.fail_node("n1");
  c.until(5.1);
  c.slurm.kill_controller(seconds(1));
  c.until(6.2);
  EXPECT_EQ(c.job().phase, failure::JobPhase::completing);
  EXPECT_TRUE(c.slurm.look()->nodes[0].down);
  c.until(6.45);
  EXPECT_EQ(c.job().phase, failure::JobPhase::pending);
}

TEST(SimulatedSlurmTiming, a_fenced_node_ignores_a_new_controller) {
  SlurmCase c;
  c.until(1);
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::fence_node, .nodes = {"n2"}}));
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::under_way);
  c.until(1.99);
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::under_way);
  c.until(2);
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::off);
  c.slurm.kill_controller(seconds(1));
  c.until(3.1);
  EXPECT_TRUE(c.slurm.look()->nodes[1].silent);
  EXPECT_FALSE(c.slurm.look()->nodes[0].silent);
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::off);
}

}  // namespace
}  // namespace orrery::rehearse
