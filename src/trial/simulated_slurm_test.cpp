#include "trial/simulated_slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::trial {
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
  const std::string job = c.slurm.submit(1);
  c.advance(seconds(1));
  c.slurm.silence_node("n1");
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::down_node, .nodes = {"n1"}}));
  EXPECT_THAT(c.slurm.overlaps(), IsEmpty());
  c.advance(minutes(3));
  EXPECT_THAT(c.slurm.overlaps(), ElementsAre("job 1 may still run on n1"));
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

}  // namespace
}  // namespace orrery::trial
