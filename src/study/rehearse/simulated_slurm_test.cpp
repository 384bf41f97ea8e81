#include "study/rehearse/simulated_slurm.h"

#include <gmock/gmock.h>

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/simulated_places.h"

namespace orrery::rehearse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Cluster {
  sim::Kernel kernel;
  SimulatedSlurm slurm{kernel, {.nodes = 4}};
  void advance(Seconds span) { kernel.run(kernel.now().after(span)); }
  failure::JobPhase phase(std::size_t job) { return slurm.look()->jobs.at(job).phase; }
};

TEST(SimulatedSlurm, a_job_whose_node_dies_waits_two_minutes) {
  Cluster c;
  const std::string job = c.slurm.submit(2);
  c.advance(seconds(1));
  ASSERT_TRUE(c.slurm.is_running(job));
  c.slurm.fail_node("n1");
  EXPECT_EQ(c.phase(0), failure::JobPhase::completing);
  c.advance(seconds(1));
  EXPECT_EQ(c.phase(0), failure::JobPhase::pending);
  EXPECT_TRUE(c.slurm.look()->jobs[0].waits_for_time);
  c.advance(seconds(119));
  EXPECT_FALSE(c.slurm.is_running(job));
  c.advance(seconds(3));
  EXPECT_TRUE(c.slurm.is_running(job));
  ASSERT_THAT(c.slurm.runs(job), SizeIs(2));
  EXPECT_THAT(c.slurm.runs(job)[1].nodes, ElementsAre("n2", "n3"));
}

// The moment matters: a release while the job completes is taken and then overwritten.
TEST(SimulatedSlurm, a_release_before_the_job_has_left_its_nodes_is_lost) {
  for (const bool early : {true, false}) {
    Cluster c;
    const std::string job = c.slurm.submit(1);
    c.advance(seconds(1));
    c.slurm.fail_node("n1");
    if (!early) c.advance(seconds(0.4));
    EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::release_job, .job = job}));
    c.advance(seconds(2));
    EXPECT_EQ(c.slurm.is_running(job), !early);
  }
}

TEST(SimulatedSlurm, a_job_started_while_a_silent_node_may_run_it_is_an_overlap) {
  Cluster c;
  (void)c.slurm.submit(1);
  c.advance(seconds(1));
  c.slurm.silence_node("n1");
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::down_node, .nodes = {"n1"}}));
  EXPECT_THAT(c.slurm.overlaps(), IsEmpty());
  c.advance(minutes(3));
  EXPECT_THAT(c.slurm.overlaps(),
              ElementsAre(testing::AllOf(testing::HasSubstr("job 1"), testing::HasSubstr("n1"))));
}

TEST(SimulatedSlurm, what_is_away_answers_nothing_and_what_is_lost_was_done) {
  Cluster c;
  c.slurm.lose_controller(seconds(5));
  EXPECT_FALSE(c.slurm.look());
  EXPECT_FALSE(c.slurm.act({.kind = failure::ActionKind::drain_node, .nodes = {"n1"}}));
  c.advance(seconds(5));
  ASSERT_TRUE(c.slurm.look());
  EXPECT_FALSE(c.slurm.look()->nodes[0].drained);
  c.slurm.lose_answers(1);
  EXPECT_FALSE(c.slurm.act({.kind = failure::ActionKind::drain_node, .nodes = {"n1"}}));
  EXPECT_TRUE(c.slurm.look()->nodes[0].drained);
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::drain_node, .nodes = {"n1"}}));
}

TEST(SimulatedSlurm, names_that_it_does_not_know_are_refused) {
  Cluster c;
  EXPECT_FALSE(c.slurm.act({.kind = failure::ActionKind::drain_node, .nodes = {"n9"}}));
  EXPECT_FALSE(c.slurm.act({.kind = failure::ActionKind::hold_job, .job = "7"}));
}

// A job starts where as many nodes as it wants are whole, answer, are free and are not avoided.
TEST(SimulatedSlurm, a_job_takes_only_nodes_that_it_may_have) {
  Cluster c;
  c.slurm.silence_node("n1");
  const std::string two = c.slurm.submit(2);
  const std::string four = c.slurm.submit(4);
  c.advance(seconds(1));
  EXPECT_THAT(c.slurm.runs(two).at(0).nodes, ElementsAre("n2", "n3"));
  EXPECT_THAT(c.slurm.runs(four), IsEmpty());
  c.slurm.requeue_job(two);
  c.advance(seconds(1));
  EXPECT_TRUE(
      c.slurm.act({.kind = failure::ActionKind::exclude_nodes, .job = two, .nodes = {"n2"}}));
  c.advance(minutes(3));
  EXPECT_THAT(c.slurm.runs(two).at(1).nodes, ElementsAre("n3", "n4"));
  EXPECT_EQ(c.slurm.runs(two).at(0).restarts, 0);
  EXPECT_EQ(c.slurm.runs(two).at(1).restarts, 1);
}

TEST(SimulatedSlurm, a_held_job_waits_and_a_crash_is_a_failure) {
  Cluster c;
  const std::string held = c.slurm.submit(1);
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::hold_job, .job = held}));
  c.advance(minutes(5));
  EXPECT_THAT(c.slurm.runs(held), IsEmpty());
  const std::string crashing = c.slurm.submit(1);
  const std::string done = c.slurm.submit(1);
  c.advance(seconds(1));
  c.slurm.crash_job(crashing);
  c.slurm.finish_job(done);
  c.advance(seconds(1));
  EXPECT_EQ(c.phase(1), failure::JobPhase::failed);
  EXPECT_EQ(c.phase(2), failure::JobPhase::ended);
}

// Its state is saved every five seconds: orders after the last save are undone when it is killed,
// orders before it remain.
TEST(SimulatedSlurm, a_killed_controller_is_back_with_its_last_save) {
  for (const bool saved : {true, false}) {
    Cluster c;
    c.advance(seconds(5.6));
    EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::drain_node, .nodes = {"n4"}}));
    if (saved) c.advance(seconds(5.6));
    c.slurm.kill_controller(seconds(3));
    EXPECT_FALSE(c.slurm.look());
    c.advance(seconds(4));
    ASSERT_TRUE(c.slurm.look());
    EXPECT_EQ(c.slurm.look()->nodes.at(3).drained, saved);
  }
}

// A run that began after the last save is forgotten with its job: it is killed, and for the two
// seconds of the killing its nodes take no other run; a launch there fails and holds the job.
TEST(SimulatedSlurm, a_forgotten_run_is_killed_before_its_nodes_are_free) {
  Cluster c;
  c.advance(seconds(5.6));
  const std::string job = c.slurm.submit(4);
  c.advance(seconds(1));
  ASSERT_TRUE(c.slurm.is_running(job));
  c.slurm.kill_controller(seconds(1));
  c.advance(seconds(10));
  ASSERT_THAT(c.slurm.runs(job), SizeIs(1));
  EXPECT_GT(c.slurm.runs(job)[0].end, Seconds(0)) << "killed";
  EXPECT_THAT(c.slurm.overlaps(), IsEmpty());
  EXPECT_TRUE(c.slurm.look()->jobs.at(0).launch_failed);
  EXPECT_TRUE(c.slurm.look()->jobs.at(0).held);
}

// Saved at 5 s during its first run; the second runs from 8.5 s. The controller comes back and
// knows only the first: the second is killed, and the job waits again.
TEST(SimulatedSlurm, a_newer_run_than_the_one_it_remembers_is_killed_too) {
  sim::Kernel kernel;
  SimulatedSlurm slurm(kernel, {.nodes = 4, .hold = seconds(1)});
  const auto advance = [&](double span) { kernel.run(kernel.now().after(seconds(span))); };
  const std::string job = slurm.submit(1);
  advance(5.6);
  slurm.requeue_job(job);
  advance(2.9);
  ASSERT_THAT(slurm.runs(job), SizeIs(2));
  ASSERT_EQ(slurm.runs(job)[1].end, Seconds());
  slurm.kill_controller(seconds(1));
  advance(1.2);
  EXPECT_GT(slurm.runs(job)[1].end, Seconds());
  EXPECT_EQ(slurm.look()->jobs.at(0).phase, failure::JobPhase::completing);
  EXPECT_THAT(slurm.overlaps(), IsEmpty());
}

// A job that was leaving its nodes when one of them died unseen leaves them when that one is marked
// down: 60 s after the controller's return, plus the ten that leaving takes.
TEST(SimulatedSlurm, a_job_that_leaves_a_dead_node_waits_until_it_is_called_down) {
  sim::Kernel kernel;
  SimulatedSlurm slurm(kernel, {.nodes = 4, .completing = seconds(10)});
  const auto advance = [&](double span) { kernel.run(kernel.now().after(seconds(span))); };
  slurm.submit(1);
  advance(9.8);
  slurm.requeue_job("1");
  advance(0.8);
  slurm.kill_controller(seconds(5));
  slurm.fail_node("n1");
  advance(30);
  EXPECT_EQ(slurm.look()->jobs.at(0).phase, failure::JobPhase::completing);
  advance(60);
  EXPECT_EQ(slurm.look()->jobs.at(0).phase, failure::JobPhase::pending);
}

// A node that dies while the controller is away takes its run with it at once; it is marked down
// when it has not answered for the timeout.
TEST(SimulatedSlurm, node_that_dies_unseen_is_down_after_the_timeout) {
  Cluster c;
  const std::string job = c.slurm.submit(1);
  c.advance(seconds(10));
  ASSERT_TRUE(c.slurm.is_running(job));
  c.slurm.kill_controller(seconds(5));
  c.slurm.fail_node("n1");
  EXPECT_GT(c.slurm.runs(job)[0].end, Seconds(0));
  c.advance(seconds(6));
  EXPECT_FALSE(c.slurm.look()->nodes.at(0).down);
  EXPECT_TRUE(c.slurm.look()->nodes.at(0).silent);
  EXPECT_TRUE(c.slurm.is_running(job));
  c.advance(minutes(1));
  EXPECT_TRUE(c.slurm.look()->nodes.at(0).down);
  EXPECT_FALSE(c.slurm.is_running(job));
}

TEST(SimulatedSlurm, a_fence_that_hangs_never_ends_and_the_next_one_does) {
  Cluster c;
  c.slurm.silence_node("n1");
  c.slurm.hang_fence("n1");
  c.slurm.act({.kind = failure::ActionKind::fence_node, .nodes = {"n1"}});
  c.advance(minutes(5));
  EXPECT_NE(c.slurm.look()->nodes.at(0).fence, failure::FenceState::off);
  c.slurm.silence_node("n2");
  c.slurm.act({.kind = failure::ActionKind::fence_node, .nodes = {"n2"}});
  c.advance(seconds(2));
  EXPECT_EQ(c.slurm.look()->nodes.at(1).fence, failure::FenceState::off);
}

}  // namespace
}  // namespace orrery::rehearse
