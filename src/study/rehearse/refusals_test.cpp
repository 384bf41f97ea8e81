// What trials say when they refuse, word for word, and what they make of empty and odd inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/rehearse/pod_replay.h"
#include "study/rehearse/rehearsal.h"
#include "study/rehearse/rewind.h"
#include "study/rehearse/simulated_places.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;
using failure::ActionKind;
using storage::LifecycleActionKind;
using testing::ElementsAre;
using workload::JobRecord;

struct RefusalRig {
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  std::string said(ActionKind kind, const std::string& job, std::vector<std::string> nodes = {}) {
    const auto done = slurm.act({.kind = kind, .job = job, .nodes = std::move(nodes)});
    if (done) return "";
    return done.error().front().code + ": " + done.error().front().what;
  }
  sim::Kernel kernel;
  SimulatedSlurm slurm{kernel, {.nodes = 3}};
};

TEST(Refusals, slurm_says_why_it_refuses_an_order) {
  RefusalRig r;
  r.slurm.submit(1);
  EXPECT_EQ(r.said(ActionKind::requeue_job, "1"), "slurm.refused: job is not running");
  EXPECT_EQ(r.said(ActionKind::hold_job, "2"), "slurm.refused: no such job");
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n4"}), "slurm.refused: no such node");
  EXPECT_EQ(r.said(ActionKind::drain_node, ""), "") << "of no node: nothing to do";
  r.until(1);
  EXPECT_EQ(r.said(ActionKind::exclude_nodes, "1", {"n1"}), "slurm.refused: no longer pending");
  EXPECT_EQ(r.said(ActionKind::release_job, "1"), "slurm.refused: no longer pending");
  r.slurm.lose_answers(1);
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n2"}), "slurm.refused: the answer was lost");
  r.slurm.lose_controller(seconds(2));
  r.until(2.999);
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n3"}), "slurm.refused: no answer in time");
  EXPECT_EQ(r.slurm.look().error().front().what, "no answer in time");
  EXPECT_TRUE(r.slurm.is_running("1")) << "jobs run on";
  r.until(3);
  EXPECT_EQ(r.said(ActionKind::drain_node, "", {"n3"}), "");
  const auto seen = r.slurm.look();
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->nodes[0].drained);
  EXPECT_TRUE(seen->nodes[1].drained && seen->nodes[2].drained);
}

// An order about a node that means nothing for nodes, and one about a job likewise.
TEST(Refusals, an_order_of_the_other_kind_does_nothing) {
  RefusalRig r;
  r.slurm.submit(1);
  EXPECT_EQ(r.said(ActionKind::hold_job, "", {"n1"}), "");
  EXPECT_EQ(r.said(ActionKind::drain_node, "1", {"n1"}), "");
  r.until(1);
  EXPECT_TRUE(r.slurm.is_running("1"));
  EXPECT_FALSE(r.slurm.look()->nodes[0].drained);
  EXPECT_FALSE(r.slurm.look()->jobs[0].held);
}

// A fence that hangs is under way for ever; the next order for the node is carried out.
TEST(Refusals, a_fence_hangs_once) {
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
TEST(Refusals, a_dead_controller_schedules_nothing_and_a_lost_one_does) {
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
    EXPECT_TRUE(r.slurm.is_running("1")) << "a submission is not forgotten";
    EXPECT_EQ(r.slurm.look()->nodes[2].down, !is_killed);
    EXPECT_EQ(r.slurm.look()->nodes[2].silent, is_killed);
    EXPECT_TRUE(r.slurm.knows("1"));
    EXPECT_FALSE(r.slurm.knows("2"));
  }
}

TEST(Refusals, jobs_are_listed_in_the_order_they_came) {
  RefusalRig r;
  for (int i = 0; i < 11; ++i) r.slurm.submit(1);
  EXPECT_THAT(r.slurm.jobs(), ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"));
}

TEST(Refusals, places_say_why_they_refuse_an_action) {
  SimulatedPlaces places{{"near", "far"}};
  places.begin("near", "a", {.run = "r"});
  const auto said = [&](const storage::LifecycleAction& action) {
    const auto done = places.act(action);
    if (done) return std::string();
    EXPECT_EQ(done.error().front().code, "lifecycle.refused");
    return done.error().front().what;
  };
  const storage::LifecycleAction verify{
      .kind = LifecycleActionKind::verify, .item = "a", .place = "near"};
  const storage::LifecycleAction copy{
      .kind = LifecycleActionKind::copy, .item = "a", .place = "far", .from = "near"};
  EXPECT_EQ(said(verify), "there is no whole copy");
  places.finish("near", "a");
  EXPECT_EQ(said(verify), "");
  places.fail_next(1);
  EXPECT_EQ(said(verify), "injected");
  places.lose_answers(1);
  EXPECT_EQ(said(verify), "the answer was lost");
  places.tear_next(1);
  EXPECT_EQ(said(copy), "cut short");
  places.set_away("near", true);
  EXPECT_EQ(said(copy), "a place or a copy it needs is not there") << "where it comes from";
  places.set_away("near", false);
  places.set_away("far", true);
  EXPECT_EQ(said(copy), "a place or a copy it needs is not there") << "where it goes";
  places.set_away("far", false);
  EXPECT_EQ(said(copy), "");
  places.rewrite("far", "a");
  EXPECT_EQ(said(copy), "a good copy is there");
  EXPECT_EQ(said({.kind = LifecycleActionKind::remove, .item = "a", .place = "near"}),
            "it is another copy now");
}

// A need is met by a whole copy of that stamp at a place that answers.
TEST(Refusals, what_an_action_needs_must_be_whole) {
  SimulatedPlaces places{{"near", "far"}};
  places.begin("near", "a", {.run = "r"});
  const auto verify = [&](const std::string& stamp) {
    return places
        .act({.kind = LifecycleActionKind::verify,
              .item = "b",
              .place = "far",
              .needs = {{"a", "near", stamp}}})
        .error()
        .front()
        .what;
  };
  EXPECT_EQ(verify("1"), "a place or a copy it needs is not there") << "begun and not finished";
  places.finish("near", "a");
  EXPECT_EQ(verify("1"), "a place or a copy it needs is not there") << "the stamp is 2 now";
  EXPECT_EQ(verify("2"), "there is no whole copy") << "the need is met";
}

TEST(Refusals, a_rewind_says_what_it_lacks) {
  std::vector<JobRecord> jobs(60, {.run = seconds(10), .limit = seconds(10), .gpus = 1});
  const auto none = rewind(jobs, NodePool({80}), {.policies = {BackfillVariant::fifo}});
  ASSERT_FALSE(none);
  const Diagnostic& d = none.error().front();
  EXPECT_EQ(d.code, "rewind.record");
  EXPECT_EQ(d.what, "too few jobs have a recorded wait to compare with");
  EXPECT_EQ(d.why, "each half of the trace needs 20");
  EXPECT_EQ(d.fix, "sacct with Submit and Start, or a CSV with a column wait");
}

// Nodes without GPUs: what is asked for beyond the trace is a hundred pods for each of it.
TEST(Refusals, pods_without_gpus_fill_what_there_is_of_cores) {
  const std::vector<workload::PodRecord> pods(1, {.cpu_milli = 1000, .memory_mib = 1});
  const std::vector<workload::PodNodeRecord> nodes(
      1, {.cpu_milli = 50'000, .memory_mib = 1000, .gpus = 0, .model = ""});
  const PodReplayResult r = replay_pods(pods, nodes, {});
  EXPECT_EQ(r.pods, 101);
  EXPECT_EQ(r.placed, 50);
  EXPECT_EQ(r.turned_away, 51);
  EXPECT_EQ(r.allocated, 0);
  EXPECT_EQ(r.fragmented, 0);
}

// Two halves of a GPU: one is used, the other is of no use to who wants 0.6 of one.
TEST(Refusals, what_is_left_of_gpus_is_of_use_to_some) {
  const std::vector<workload::PodRecord> pods{{.cpu_milli = 1, .gpus = 1, .gpu_milli = 600}};
  const std::vector<workload::PodNodeRecord> nodes(
      1, {.cpu_milli = 1000, .memory_mib = 1000, .gpus = 2, .model = "a"});
  const PodReplayResult one = replay_pods(pods, nodes, {.load = 0.3});
  EXPECT_EQ(one.pods, 1);
  EXPECT_DOUBLE_EQ(one.allocated, 0.3);
  EXPECT_DOUBLE_EQ(one.fragmented, 400.0 / 1400) << "the other GPU is whole";
  EXPECT_EQ(replay_pods(pods, nodes, {.load = 0.29}).pods, 0);
}

// The clock of a rehearsal begins at a midnight; a driver that ends at once has seen no fault.
TEST(Refusals, a_rehearsal_begins_at_midnight) {
  Rehearsal rehearsal({.nodes = 3, .spares = 1, .jobs = 2, .job_nodes = 1, .faults = 0});
  EXPECT_EQ(rehearsal.port().now(), seconds(1'700'006'400));
  struct Minute final : RehearsalDriver {
    std::optional<Seconds> tick() override {
      ++ticks;
      return minutes(30);
    }
    void on_fault(const InjectedFault&) override { ADD_FAILURE() << "none was asked for"; }
    int ticks = 0;
  } driver;
  const RehearsalResult r = rehearsal.run(driver);
  EXPECT_EQ(driver.ticks, 3) << "at the beginning, after half an hour and at the end";
  EXPECT_TRUE(r.is_complete);
  EXPECT_TRUE(r.waiting.empty());
  EXPECT_TRUE(r.outages.empty());
  EXPECT_EQ(rehearsal.port().now(), seconds(1'700'006'400 + 3600));
}

// Two jobs on two nodes and a third that finds none.
TEST(Refusals, who_waits_at_the_end_of_a_rehearsal_is_named) {
  Rehearsal rehearsal({.nodes = 3, .spares = 1, .jobs = 3, .job_nodes = 1, .faults = 0});
  struct Once final : RehearsalDriver {
    std::optional<Seconds> tick() override { return hours(2); }
    void on_fault(const InjectedFault&) override {}
  } driver;
  EXPECT_THAT(rehearsal.run(driver).waiting, ElementsAre("3"));
}

}  // namespace
}  // namespace orrery::rehearse
