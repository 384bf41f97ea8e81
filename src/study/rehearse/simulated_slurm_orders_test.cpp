// Every order and every span of the simulated Slurm, by value and on either side of its moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {
namespace {

using failure::ActionKind;
using failure::JobPhase;

constexpr double kEpoch = 1'700'000'000;

struct Rig {
  explicit Rig(const SimulatedOptions& options = {.nodes = 4}) : slurm(kernel, options) {}
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  failure::JobView job(std::size_t i = 0) { return slurm.look()->jobs.at(i); }
  failure::NodeView node(std::size_t i = 0) { return slurm.look()->nodes.at(i); }
  bool order(ActionKind kind, const std::string& job, std::vector<std::string> nodes = {}) {
    return slurm.act({.kind = kind, .job = job, .nodes = std::move(nodes)}).has_value();
  }
  sim::Kernel kernel;
  SimulatedSlurm slurm;
};

TEST(SlurmSpans, AJobStartsRunsLeavesAndWaitsInTheirTimes) {
  Rig r;
  r.slurm.submit(2);
  r.until(0.05);
  EXPECT_EQ(r.job().phase, JobPhase::starting) << "the pass of the first instant took it";
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

TEST(SlurmSpans, AFenceTakesASecondAndEndsWhatRanThere) {
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
  EXPECT_TRUE(r.slurm.overlaps().empty()) << "it was surely off";
}

// Back at 15 s, it waits for a node's answer until 75 s.
TEST(SlurmSpans, ANodeIsDownAfterTheTimeout) {
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

// The forgotten run is killed from 7.6 s to 9.6 s: until then no other is launched beside it.
TEST(SlurmSpans, AKilledRunHoldsItsNodesForTwoSeconds) {
  for (const bool early : {true, false}) {
    Rig r;
    r.until(5.6);
    r.slurm.submit(4);
    r.until(6.6);
    r.slurm.kill_controller(seconds(1));
    r.until(7);
    EXPECT_TRUE(r.order(ActionKind::hold_job, "1") == false) << "nobody is there to take orders";
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

TEST(SlurmState, ARunThatIsKnownLivesOnWhenTheControllerIsBack) {
  Rig r;
  r.slurm.submit(2);
  r.until(6);
  r.slurm.kill_controller(seconds(3));
  r.until(30);
  EXPECT_TRUE(r.slurm.is_running("1"));
  ASSERT_EQ(r.slurm.runs("1").size(), 1u);
  EXPECT_EQ(r.slurm.runs("1")[0].end, Seconds());
  EXPECT_EQ(r.job().restarts, 0);
}

// It had left its nodes to run again, ran, and was done; the save knows that it leaves them.
TEST(SlurmState, WhetherAJobComesBackIsRemembered) {
  Rig r({.nodes = 4, .hold = seconds(1), .completing = seconds(10), .save = seconds(12)});
  r.slurm.submit(1);
  r.until(4.8);
  r.slurm.requeue_job("1");
  r.until(17);
  ASSERT_TRUE(r.slurm.is_running("1"));
  r.slurm.finish_job("1");
  r.until(18);
  r.slurm.kill_controller(seconds(1));
  r.until(28.9);
  EXPECT_EQ(r.job().phase, JobPhase::completing);
  r.until(29.2);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
}

TEST(SlurmState, FencesAreNotTheControllers) {
  Rig r;
  r.until(5.6);
  r.slurm.silence_node("n1");
  r.order(ActionKind::fence_node, "", {"n1"});
  r.until(6.7);
  r.slurm.kill_controller(seconds(1));
  r.until(8);
  EXPECT_EQ(r.node().fence, failure::FenceState::off);
}

TEST(SlurmState, OrdersAfterTheLastSaveAreForgotten) {
  for (const bool saved : {true, false}) {
    Rig r;
    r.slurm.submit(4);
    r.until(1);
    r.slurm.requeue_job("1");
    r.until(5.6);
    EXPECT_TRUE(r.order(ActionKind::exclude_nodes, "1", {"n2"}));
    if (saved) r.until(11.2);
    r.slurm.kill_controller(seconds(1));
    r.until(13);
    EXPECT_EQ(r.job().avoids.size(), saved ? 1u : 0u);
  }
}

TEST(SlurmOrders, NodesOfJobsThatAreOverAreFree) {
  Rig r;
  r.slurm.submit(2);
  r.slurm.submit(2);
  r.until(1);
  r.slurm.finish_job("1");
  r.slurm.crash_job("2");
  r.until(2);
  EXPECT_EQ(r.job(0).phase, JobPhase::ended);
  EXPECT_EQ(r.job(1).phase, JobPhase::failed);
  r.slurm.submit(4);
  r.until(3);
  EXPECT_TRUE(r.slurm.is_running("3"));
}

TEST(SlurmOrders, OnlyWhatLivesCanEnd) {
  Rig r;
  r.slurm.submit(1);
  r.until(1);
  r.slurm.requeue_job("1");
  r.slurm.requeue_job("1");
  r.slurm.crash_job("1");
  r.until(2);
  EXPECT_EQ(r.job().phase, JobPhase::pending) << "it had left already";
  EXPECT_EQ(r.job().restarts, 1);
  r.slurm.finish_job("1");
  EXPECT_EQ(r.job().phase, JobPhase::pending) << "it does not run";
  EXPECT_EQ(r.slurm.jobs(), std::vector<std::string>{"1"});
}

TEST(SlurmOrders, AreRefusedWhereSlurmRefusesThem) {
  Rig r;
  r.slurm.submit(1);
  EXPECT_FALSE(r.order(ActionKind::requeue_job, "1")) << "it waits";
  EXPECT_TRUE(r.order(ActionKind::exclude_nodes, "1", {"n3"}));
  r.until(1);
  EXPECT_FALSE(r.order(ActionKind::exclude_nodes, "1", {"n1"})) << "it runs";
  EXPECT_FALSE(r.order(ActionKind::release_job, "1"));
  EXPECT_TRUE(r.order(ActionKind::requeue_job, "1"));
  EXPECT_EQ(r.job().phase, JobPhase::completing);
  EXPECT_FALSE(r.order(ActionKind::requeue_job, "1")) << "it leaves";
  r.until(2);
  EXPECT_TRUE(r.order(ActionKind::release_job, "1"));
  EXPECT_EQ(r.job().eligible, seconds(kEpoch + 2));
  r.until(3);
  r.slurm.crash_job("1");
  r.until(4);
  EXPECT_TRUE(r.order(ActionKind::requeue_job, "1")) << "one that failed may come again";
  EXPECT_EQ(r.job().restarts, 2);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_EQ(r.job().eligible, seconds(kEpoch + 4 + 121));
}

TEST(SlurmOrders, HoldsAnswersAndTheirLosses) {
  Rig r;
  r.slurm.submit(1);
  EXPECT_TRUE(r.order(ActionKind::hold_job, "1"));
  EXPECT_TRUE(r.job().held);
  r.until(3);
  EXPECT_TRUE(r.slurm.runs("1").empty());
  r.slurm.lose_answers(2);
  EXPECT_FALSE(r.order(ActionKind::drain_node, "", {"n1"}));
  EXPECT_FALSE(r.order(ActionKind::unhold_job, "1"));
  EXPECT_FALSE(r.job().held) << "it was done";
  EXPECT_TRUE(r.order(ActionKind::drain_node, "", {"n2"}));
  r.until(4);
  EXPECT_EQ(r.slurm.runs("1").at(0).nodes, std::vector<std::string>{"n3"}) << "two are drained";
}

TEST(SlurmOrders, NodesBreakComeBackAndStandBy) {
  Rig r;
  r.slurm.break_node("n1");
  EXPECT_TRUE(r.node(0).broken);
  EXPECT_TRUE(r.node(0).drained);
  r.slurm.silence_node("n2");
  r.slurm.fail_node("n3");
  EXPECT_TRUE(r.node(2).down);
  r.slurm.make_spare("n4");
  EXPECT_TRUE(r.node(3).spare);
  EXPECT_TRUE(r.node(3).drained);
  r.slurm.submit(1);
  r.until(1);
  EXPECT_TRUE(r.slurm.runs("1").empty()) << "nobody may take it";
  r.slurm.return_node("n2");
  EXPECT_FALSE(r.node(1).silent);
  r.until(2);
  EXPECT_EQ(r.slurm.runs("1").at(0).nodes, std::vector<std::string>{"n2"});
  r.slurm.return_node("n3");
  EXPECT_FALSE(r.node(2).down);
  r.slurm.repair_node("n1");
  EXPECT_FALSE(r.node(0).drained);
  EXPECT_FALSE(r.node(0).broken);
  EXPECT_TRUE(r.order(ActionKind::resume_spare, "", {"n4"}));
  EXPECT_FALSE(r.node(3).spare);
  EXPECT_FALSE(r.node(3).drained);
  r.slurm.submit(3);
  r.until(3);
  EXPECT_EQ(r.slurm.runs("2").at(0).nodes, (std::vector<std::string>{"n1", "n3", "n4"}));
}

TEST(SlurmOrders, ANodeThatMayStillRunAJobIsSeen) {
  Rig r;
  r.slurm.submit(1);
  r.slurm.submit(1);
  r.until(1);
  r.slurm.silence_node("n1");
  r.slurm.return_node("n1");
  r.slurm.finish_job("1");
  r.until(2);
  r.slurm.submit(1);
  r.until(3);
  EXPECT_EQ(r.slurm.overlaps(), std::vector<std::string>{"n1 still runs a job"});
}

TEST(SlurmOrders, AJobMayBeSentToNamedNodes) {
  Rig r;
  r.slurm.submit(1);
  r.slurm.place("1", {"n4", "n2"});
  r.until(1);
  EXPECT_EQ(r.slurm.runs("1").at(0).nodes, std::vector<std::string>{"n4"});
  r.slurm.flap_node("n4");
  EXPECT_FALSE(r.node(3).down);
  EXPECT_EQ(r.job().phase, JobPhase::completing);
  r.until(200);
  EXPECT_EQ(r.slurm.runs("1").at(1).nodes, std::vector<std::string>{"n1"}) << "once only";
}

}  // namespace
}  // namespace orrery::rehearse
