// Every action of the recovery policy with its nodes, job and key, each in a situation set up
// directly in the memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/failure/recovery.h"
#include "layers/failure/recovery_memory.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecoveryWords : public testing::Test {
 protected:
  static constexpr Seconds kNow = seconds(1e9);

  RecoveryWords() {
    for (int i = 0; i < 10; ++i) view.nodes.push_back({.name = fmt::format("n{}", i)});
    memory.since = kNow - hours(1);
  }
  NodeView& node(int i) { return view.nodes[static_cast<std::size_t>(i)]; }
  // A job that ran on n3 and n4 for the first time and lost that run.
  JobView& lost_job(JobPhase phase, std::vector<std::string> blamed) {
    memory.jobs["7"] = {.restarts = 0,
                        .started = kNow - minutes(30),
                        .nodes = {"n3", "n4"},
                        .loss = JobLoss{.at = kNow - minutes(1),
                                        .restarts = 0,
                                        .nodes = std::move(blamed),
                                        .ran_on = {"n3", "n4"}}};
    view.jobs = {{.id = "7", .phase = phase, .restarts = 0}};
    if (phase == JobPhase::pending) view.jobs[0].restarts = 1;
    return view.jobs[0];
  }
  // The decided actions, without their explanations.
  std::vector<RecoveryAction> actions() const {
    std::vector<RecoveryAction> all = decide(view, memory, policy).actions;
    for (RecoveryAction& a : all) a.why.clear();
    return all;
  }

  RecoveryPolicy policy;
  RecoveryMemory memory;
  ClusterLook view{.now = kNow};
};

TEST_F(RecoveryWords, down_or_unfit_node_is_drained) {
  const auto drained = [&](int failure) {
    return RecoveryAction{.kind = ActionKind::drain_node,
                          .nodes = {"n3"},
                          .key = fmt::format("drain/n3/{}", failure)};
  };
  node(3).down = true;
  EXPECT_THAT(actions(), ElementsAre(drained(1)));
  node(3).broken = true;
  EXPECT_THAT(actions(), ElementsAre(drained(1)));
  node(3).down = node(3).broken = false;
  memory.nodes["n3"] = {.out = true, .wants_drain = true, .failures = 3};
  EXPECT_THAT(actions(), ElementsAre(drained(3)));
  memory.nodes["n3"].wants_drain = false;
  EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(RecoveryWords, lemon_is_drained) {
  memory.nodes["n3"] = {
      .wants_drain = true, .lemon = true, .failures = 4, .weight = {.weight = 4, .at = kNow}};
  memory.all = {.weight = 5, .at = kNow};
  EXPECT_THAT(actions(),
              ElementsAre(RecoveryAction{
                  .kind = ActionKind::drain_node, .nodes = {"n3"}, .key = "drain/n3/4"}));
}

TEST_F(RecoveryWords, spare_is_resumed_for_a_failed_node) {
  node(5).spare = node(5).drained = true;
  memory.nodes["n5"] = {.stood_in_for = "n3"};
  EXPECT_THAT(actions(),
              ElementsAre(RecoveryAction{
                  .kind = ActionKind::resume_spare, .nodes = {"n5"}, .key = "resume/n5/n3"}));
}

TEST_F(RecoveryWords, silent_node_is_reported_fenced_or_taken_down) {
  node(3).silent = true;
  memory.nodes["n3"] = {.silent_since = kNow - policy.silence, .failures = 2};
  EXPECT_THAT(actions(),
              ElementsAre(RecoveryAction{.kind = ActionKind::alert, .key = "silent/n3/2"}));
  policy.fence = true;
  EXPECT_THAT(actions(),
              ElementsAre(RecoveryAction{
                  .kind = ActionKind::fence_node, .nodes = {"n3"}, .key = "fence/n3/2"}));
  memory.nodes["n3"].fenced = true;
  EXPECT_THAT(actions(), ElementsAre(RecoveryAction{
                             .kind = ActionKind::down_node, .nodes = {"n3"}, .key = "down/n3/2"}));
  memory.nodes["n3"].silent_since = kNow - policy.silence + seconds(0.5);
  EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(RecoveryWords, failed_job_is_requeued) {
  lost_job(JobPhase::failed, {"n3", "n4"});
  RecoveryAction requeue{.kind = ActionKind::requeue_job, .job = "7", .key = "requeue/7/0"};
  EXPECT_THAT(actions(), ElementsAre(requeue));
  lost_job(JobPhase::failed, {});
  EXPECT_THAT(actions(), ElementsAre(requeue));
  lost_job(JobPhase::failed, {"n3"}).requeueable = false;
  EXPECT_THAT(actions(), ElementsAre(RecoveryAction{
                             .kind = ActionKind::alert, .job = "7", .key = "no-requeue/7/0"}));
}

// It avoids failed nodes that are not drained, or all of its nodes if no failure was seen.
TEST_F(RecoveryWords, waiting_job_avoids_its_failed_nodes_and_is_released) {
  RecoveryAction exclude{
      .kind = ActionKind::exclude_nodes, .job = "7", .nodes = {"n3"}, .key = "exclude/7/0"};
  const RecoveryAction release{.kind = ActionKind::release_job, .job = "7", .key = "release/7/0"};
  JobView& job = lost_job(JobPhase::pending, {"n3"});
  job.waits_for_time = true;
  EXPECT_THAT(actions(), ElementsAre(exclude));
  job.avoids = {"n3"};
  EXPECT_THAT(actions(), ElementsAre(release));
  memory.jobs["7"].loss->nodes.clear();
  exclude.nodes = {"n3", "n4"};
  EXPECT_THAT(actions(), ElementsAre(exclude));
  job.avoids = {"n4", "n3"};
  EXPECT_THAT(actions(), ElementsAre(release));
  // Refused five times: a suspect node is better than none.
  job.avoids = {};
  memory.attempts["exclude/7/0"] = {.count = 4, .last = kNow - hours(1)};
  EXPECT_THAT(actions(), ElementsAre(exclude));
  memory.attempts["exclude/7/0"].count = 5;
  EXPECT_THAT(
      actions(),
      ElementsAre(exclude, RecoveryAction{.kind = ActionKind::alert, .key = "refused/exclude/7/0"},
                  release));
}

// Two of nine nodes in service are within a quarter, two of seven are not; a drained node is out of
// service.
TEST_F(RecoveryWords, job_avoids_all_its_nodes_only_if_they_are_few) {
  JobView& job = lost_job(JobPhase::pending, {});
  job.waits_for_time = true;
  node(0).drained = node(1).drained = true;
  ASSERT_EQ(actions().size(), 1U) << "two of eight";
  EXPECT_EQ(actions()[0].kind, ActionKind::exclude_nodes);
  node(2).drained = true;
  ASSERT_EQ(actions().size(), 1U) << "two of seven";
  EXPECT_EQ(actions()[0].kind, ActionKind::release_job);
  view.well = 1;
  EXPECT_EQ(actions()[0].kind, ActionKind::exclude_nodes) << "two of eight again";
  node(9).spare = true;
  EXPECT_EQ(actions()[0].kind, ActionKind::release_job) << "a spare is no part of the fleet";
}

TEST_F(RecoveryWords, job_held_by_a_restarted_controller_is_released) {
  JobView& job = lost_job(JobPhase::pending, {});
  job.held = job.launch_failed = true;
  view.controller_since = kNow - minutes(2);
  memory.controller = view.controller_since;
  memory.jobs["7"].loss->at = view.controller_since + policy.rollback;
  const RecoveryAction unhold{.kind = ActionKind::unhold_job, .job = "7", .key = "unhold/7/0"};
  const RecoveryAction release{.kind = ActionKind::release_job, .job = "7", .key = "release/7/0"};
  EXPECT_THAT(actions(), ElementsAre(unhold, release));
  memory.jobs["7"].loss->at += seconds(1);
  EXPECT_THAT(actions(), IsEmpty()) << "lost later, for another reason";
  memory.jobs["7"].loss->at -= seconds(1);
  job.launch_failed = false;
  EXPECT_THAT(actions(), IsEmpty()) << "held by an operator";
  job.launch_failed = true;
  memory.since = view.controller_since;
  EXPECT_THAT(actions(), IsEmpty()) << "it came back before observation began";
}

TEST_F(RecoveryWords, node_forgotten_by_the_controller_is_taken_down_again) {
  JobView& job = lost_job(JobPhase::completing, {"n3"});
  job.nodes = {"n3", "n4"};
  view.controller_since = kNow - seconds(5);
  memory.controller = view.controller_since;
  memory.nodes["n3"] = {.out = true, .failures = 2};
  EXPECT_THAT(actions(), ElementsAre(RecoveryAction{
                             .kind = ActionKind::down_node, .nodes = {"n3"}, .key = "down/n3/2"}));
  memory.nodes["n3"].out = false;
  EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(RecoveryWords, blamed_job_is_held_and_reported) {
  JobView& job = lost_job(JobPhase::pending, {"n3"});
  memory.jobs["7"].blamed = true;
  memory.jobs["7"].losses_total = 6;
  const RecoveryAction alert{.kind = ActionKind::alert, .job = "7", .key = "blamed/7/0"};
  const RecoveryAction hold{.kind = ActionKind::hold_job, .job = "7", .key = "hold/7/0"};
  EXPECT_THAT(actions(), ElementsAre(alert, hold));
  memory.jobs["7"].held_seen = true;
  EXPECT_THAT(actions(), ElementsAre(alert)) << "an operator released it";
  memory.jobs["7"].held_seen = false;
  job.held = true;
  EXPECT_THAT(actions(), ElementsAre(alert));
  job.held = false;
  job.phase = JobPhase::completing;
  EXPECT_THAT(actions(), ElementsAre(alert)) << "a hold waits until it is off its nodes";
  memory.alerted = {"blamed/7/0"};
  EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(RecoveryWords, mass_failure_raises_one_alert) {
  view.well = 20;
  node(0).drained = node(1).silent = true;
  node(2).down = node(3).down = true;
  const RecoveryAction alert{.kind = ActionKind::alert, .key = "mass-failure/fleet/3"};
  EXPECT_THAT(actions(), ElementsAre(alert));
}

// The user chose a begin time, or the controller has just been started: the job waits.
TEST_F(RecoveryWords, job_waits_for_its_begin_time_or_a_young_controller) {
  JobView& job = lost_job(JobPhase::pending, {"n3"});
  job.avoids = {"n3"};
  job.eligible = kNow + policy.hold_max;
  EXPECT_EQ(actions().size(), 1U);
  job.eligible += seconds(1);
  EXPECT_THAT(actions(), IsEmpty());
  job.eligible = kNow + seconds(1);
  view.controller_since = kNow - policy.registering + seconds(0.5);
  EXPECT_THAT(actions(), IsEmpty());
  view.controller_since = kNow - policy.registering;
  EXPECT_EQ(actions().size(), 1U);
  job.eligible = kNow;
  EXPECT_THAT(actions(), IsEmpty()) << "it may start by itself";
}

}  // namespace
}  // namespace orrery::failure
