#include <gmock/gmock.h>

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"
#include "study/rehearse/slurm_fixture.h"

namespace orrery::rehearse {
namespace {

using failure::ActionKind;
using failure::JobPhase;
using testing::ElementsAre;

struct OddRig {
  explicit OddRig(const SimulatedOptions& options = {.nodes = 4}) : slurm(kernel, options) {}
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  failure::JobView job() { return slurm.look()->jobs.at(0); }
  sim::Kernel kernel;
  SimulatedSlurm slurm;
};

// A restarted controller that is lost again only becomes unreachable; jobs still start.
TEST(SimulatedSlurmOrders, losing_a_restored_controller_does_no_harm) {
  OddRig r;
  r.until(1);
  r.slurm.kill_controller(seconds(2));
  r.until(4);
  r.slurm.lose_controller(seconds(10));
  r.slurm.submit(1);
  r.until(6);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_FALSE(r.slurm.look());
  r.slurm.fail_node("n1");
  r.until(13.9);
  EXPECT_FALSE(r.slurm.look());
  r.until(14);
  EXPECT_TRUE(r.slurm.look()->nodes[0].down);
}

// Saved at 5 s while starting; back at 7 s it restarts beside the existing run.
TEST(SimulatedSlurmOrders, a_run_saved_at_its_start_is_known) {
  OddRig r({.nodes = 4, .starting = seconds(10)});
  r.slurm.submit(1);
  r.until(6);
  EXPECT_EQ(r.job().phase, JobPhase::starting);
  r.slurm.kill_controller(seconds(1));
  r.until(16.9);
  EXPECT_EQ(r.job().phase, JobPhase::starting);
  r.until(17);
  EXPECT_EQ(r.job().phase, JobPhase::running);
  ASSERT_EQ(r.slurm.runs("1").size(), 1U);
  EXPECT_EQ(r.slurm.runs("1")[0].end, Seconds());
  EXPECT_EQ(r.job().restarts, 0);
}

// Its node died and is back before the controller is: all nodes answer, and none has the run.
TEST(SimulatedSlurmOrders, an_unknown_run_is_requeued) {
  OddRig r;
  r.slurm.submit(1);
  r.until(5.2);
  r.slurm.kill_controller(seconds(2));
  r.slurm.fail_node("n1");
  r.until(6);
  r.slurm.return_node("n1");
  r.until(7.3);
  EXPECT_EQ(r.job().phase, JobPhase::completing);
  EXPECT_EQ(r.job().restarts, 1);
  EXPECT_NEAR(r.slurm.runs("1")[0].end.base(), 1'700'000'005.2, 1e-6);
  r.until(7.6);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_FALSE(r.slurm.look()->nodes[0].silent);
  r.until(200);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_EQ(r.slurm.runs("1").size(), 2U);
}

struct RefusalRig {
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  std::string said(ActionKind kind, const std::string& job, std::vector<std::string> nodes = {}) {
    const auto done = slurm.act({.kind = kind, .job = job, .nodes = std::move(nodes)});
    if (done) return "";
    return done.error().front().code;
  }
  sim::Kernel kernel;
  SimulatedSlurm slurm{kernel, {.nodes = 3}};
};

TEST(SimulatedSlurmOrders, refused_orders_have_a_reason) {
  RefusalRig r;
  r.slurm.submit(1);
  EXPECT_EQ(r.said(ActionKind::requeue_job, "1"), "slurm.refused");
  EXPECT_EQ(r.said(ActionKind::hold_job, "2"), "slurm.refused");
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n4"}), "slurm.refused");
  EXPECT_EQ(r.said(ActionKind::drain_node, ""), "");
  r.until(1);
  EXPECT_EQ(r.said(ActionKind::exclude_nodes, "1", {"n1"}), "slurm.refused");
  EXPECT_EQ(r.said(ActionKind::release_job, "1"), "slurm.refused");
  r.slurm.lose_answers(1);
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n2"}), "slurm.refused");
  r.slurm.lose_controller(seconds(2));
  r.until(2.999);
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n3"}), "slurm.refused");
  EXPECT_TRUE(r.slurm.is_running("1"));
  r.until(3);
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n3"}), "");
  const auto seen = r.slurm.look();
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->nodes[0].drained);
  EXPECT_TRUE(seen->nodes[1].drained && seen->nodes[2].drained);
}

// Orders about a node that make no sense for nodes, and the same for jobs.
TEST(SimulatedSlurmOrders, orders_for_nodes_and_jobs_are_distinct) {
  RefusalRig r;
  r.slurm.submit(1);
  EXPECT_EQ(r.said(ActionKind::hold_job, "", {"n1"}), "");
  EXPECT_EQ(r.said(ActionKind::drain_node, "1", {"n1"}), "");
  r.until(1);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_FALSE(r.slurm.look()->nodes[0].drained);
  EXPECT_FALSE(r.slurm.look()->jobs[0].held);
}

// A fence that hangs never ends; the next order for the node is carried out.
TEST(SimulatedSlurmOrders, a_fence_hangs_once) {
  RefusalRig r;
  r.slurm.hang_fence("n2");
  EXPECT_EQ(r.said(ActionKind::fence_node, "", {"n2"}), "");
  r.until(100);
  EXPECT_EQ(r.slurm.look()->nodes[1].fence, failure::FenceState::under_way);
  EXPECT_EQ(r.said(ActionKind::fence_node, "", {"n2"}), "");
  r.until(102);
  EXPECT_EQ(r.slurm.look()->nodes[1].fence, failure::FenceState::off);
  EXPECT_EQ(r.slurm.look()->nodes[0].fence, failure::FenceState::none);
}

// While the controller is dead nothing is scheduled, and a node that dies is not seen.
TEST(SimulatedSlurmOrders, a_dead_controller_schedules_nothing) {
  for (const bool is_killed : {true, false}) {
    RefusalRig r;
    r.until(1);
    is_killed ? r.slurm.kill_controller(seconds(10)) : r.slurm.lose_controller(seconds(10));
    r.slurm.submit(1);
    r.slurm.fail_node("n3");
    r.until(5);
    EXPECT_EQ(r.slurm.runs("1").size(), is_killed ? 0U : 1U);
    r.until(10.9);
    EXPECT_EQ(r.slurm.runs("1").size(), is_killed ? 0U : 1U);
    r.until(11.7);
    EXPECT_TRUE(r.slurm.is_running("1"));
    EXPECT_EQ(r.slurm.look()->nodes[2].down, !is_killed);
    EXPECT_EQ(r.slurm.look()->nodes[2].silent, is_killed);
    EXPECT_TRUE(r.slurm.knows("1"));
    EXPECT_FALSE(r.slurm.knows("2"));
  }
}

TEST(SimulatedSlurmOrders, jobs_are_listed_in_submission_order) {
  RefusalRig r;
  for (int i = 0; i < 11; ++i) r.slurm.submit(1);
  EXPECT_THAT(r.slurm.jobs(), ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"));
}

TEST(SimulatedSlurmOrders, known_runs_survive_a_controller_restart) {
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

// It had left its nodes to run again, ran, and finished; the save knows that it leaves them.
TEST(SimulatedSlurmOrders, requeue_settings_are_saved) {
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

TEST(SimulatedSlurmOrders, fences_survive_the_controller) {
  Rig r;
  r.until(5.6);
  r.slurm.silence_node("n1");
  r.order(ActionKind::fence_node, "", {"n1"});
  r.until(6.7);
  r.slurm.kill_controller(seconds(1));
  r.until(8);
  EXPECT_EQ(r.node().fence, failure::FenceState::off);
}

TEST(SimulatedSlurmOrders, orders_after_the_last_save_are_lost) {
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

TEST(SimulatedSlurmOrders, nodes_of_finished_jobs_are_free) {
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

TEST(SimulatedSlurmOrders, only_live_jobs_can_end) {
  Rig r;
  r.slurm.submit(1);
  r.until(1);
  r.slurm.requeue_job("1");
  r.slurm.requeue_job("1");
  r.slurm.crash_job("1");
  r.until(2);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_EQ(r.job().restarts, 1);
  r.slurm.finish_job("1");
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_EQ(r.slurm.jobs(), std::vector<std::string>{"1"});
}

TEST(SimulatedSlurmOrders, invalid_orders_are_refused) {
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
  EXPECT_TRUE(r.order(ActionKind::requeue_job, "1"));
  EXPECT_EQ(r.job().restarts, 2);
  EXPECT_EQ(r.job().phase, JobPhase::pending);
  EXPECT_EQ(r.job().eligible, seconds(kEpoch + 4 + 121));
}

TEST(SimulatedSlurmOrders, held_answers_can_be_lost) {
  Rig r;
  r.slurm.submit(1);
  EXPECT_TRUE(r.order(ActionKind::hold_job, "1"));
  EXPECT_TRUE(r.job().held);
  r.until(3);
  EXPECT_TRUE(r.slurm.runs("1").empty());
  r.slurm.lose_answers(2);
  EXPECT_FALSE(r.order(ActionKind::drain_node, "", {"n1"}));
  EXPECT_FALSE(r.order(ActionKind::unhold_job, "1"));
  EXPECT_FALSE(r.job().held);
  EXPECT_TRUE(r.order(ActionKind::drain_node, "", {"n2"}));
  r.until(4);
  EXPECT_EQ(r.slurm.runs("1").at(0).nodes, std::vector<std::string>{"n3"});
}

TEST(SimulatedSlurmOrders, nodes_fail_return_and_stand_by) {
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
  EXPECT_TRUE(r.slurm.runs("1").empty());
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

TEST(SimulatedSlurmOrders, a_possible_double_run_is_detected) {
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

TEST(SimulatedSlurmOrders, a_job_may_name_its_nodes) {
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
