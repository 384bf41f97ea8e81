#include "layers/failure/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Seconds kStart = seconds(1e9);

ClusterLook fleet(int nodes, std::vector<JobView> jobs = {}) {
  ClusterLook view{.now = kStart, .jobs = std::move(jobs)};
  for (int i = 0; i < nodes; ++i) view.nodes.push_back({.name = "n" + std::to_string(i)});
  return view;
}

JobView running(std::vector<std::string> nodes) {
  return {.id = "7", .phase = JobPhase::running, .nodes = std::move(nodes)};
}

JobView waiting(int restarts) {
  return {.id = "7",
          .phase = JobPhase::pending,
          .restarts = restarts,
          .waits_for_time = true,
          .eligible = kStart + seconds(121)};
}

// One look of a driver that carries out nothing.
std::vector<std::string> look(const ClusterLook& view, RecoveryMemory& memory,
                              const RecoveryPolicy& policy = {}) {
  const Decision decision = decide(view, memory, policy);
  for (const RecoveryEvent& e : decision.events) apply(memory, e, policy.lemon.memory);
  std::vector<std::string> words;
  for (const RecoveryAction& a : decision.actions) {
    words.push_back(std::string(to_text(a.kind)) + " " + a.key);
  }
  return words;
}

void tell(RecoveryMemory& memory, Seconds at, const std::string& key, bool good) {
  apply(memory, {.kind = RecoveryEventKind::tried, .at = at, .key = key, .good = good}, days(30));
}

TEST(RecoveryPolicy, the_worked_example) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1", "n2"})});
  EXPECT_THAT(look(view, memory), IsEmpty());
  view.nodes[1].down = true;
  view.jobs[0].phase = JobPhase::completing;
  view.jobs[0].restarts = 1;
  EXPECT_THAT(look(view, memory), ElementsAre("drain_node drain/n1/1"));
  view.nodes[1].drained = true;
  EXPECT_THAT(look(view, memory), IsEmpty());  // it completes: a hold lifted now would come back
  view.jobs[0] = waiting(1);
  EXPECT_THAT(look(view, memory), ElementsAre("release_job release/7/0"));
  view.jobs[0] = running({"n2", "n3"});
  view.jobs[0].restarts = 1;
  view.now += seconds(2);
  EXPECT_THAT(look(view, memory), IsEmpty());
  EXPECT_FALSE(memory.jobs.at("7").loss);
}

TEST(RecoveryPolicy, an_action_that_is_refused_is_asked_for_ever_more_rarely) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1"})});
  look(view, memory);
  view.jobs[0] = waiting(1);
  look(view, memory);  // lost, cause unseen
  view.jobs[0].avoids = {"n1"};
  int asked = 0;
  for (int s = 0; s < 120; ++s) {
    view.now = kStart + seconds(s);
    view.jobs[0].eligible = view.now + seconds(121);
    for (const std::string& action : look(view, memory)) {
      if (!action.starts_with("release_job")) continue;
      ++asked;
      tell(memory, view.now, "release/7/0", false);
    }
  }
  EXPECT_EQ(asked, 7);  // at 0, 1, 3, 7, 15, 31 and 63 s
  EXPECT_TRUE(memory.alerted.contains("refused/release/7/0"));
}

// A release that the scheduler took and then undid: the job must not wait for a doubled pause.
TEST(RecoveryPolicy, an_action_that_was_taken_and_undone_is_asked_for_every_second) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1"})});
  look(view, memory);
  view.jobs[0] = waiting(1);
  look(view, memory);
  view.jobs[0].avoids = {"n1"};
  int asked = 0;
  for (int s = 0; s < 10; ++s) {
    view.now = kStart + seconds(s);
    for (const std::string& action : look(view, memory)) {
      if (!action.starts_with("release_job")) continue;
      ++asked;
      tell(memory, view.now, "release/7/0", true);
    }
  }
  EXPECT_EQ(asked, 10);
}

TEST(RecoveryPolicy, a_job_that_may_not_be_requeued_is_told_of_once) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1"})});
  view.jobs[0].requeueable = false;
  look(view, memory);
  view.nodes[1].drained = view.nodes[1].broken = true;
  EXPECT_THAT(look(view, memory), ElementsAre("alert no-requeue/7/0"));
  EXPECT_THAT(look(view, memory), IsEmpty());
}

// A node that is down while its job runs on is a job that asked for that (--no-kill).
TEST(RecoveryPolicy, a_job_that_runs_on_without_its_node_is_left_running) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1", "n2"})});
  look(view, memory);
  view.nodes[1].down = view.nodes[1].drained = true;
  EXPECT_THAT(look(view, memory), IsEmpty());
}

TEST(RecoveryPolicy, with_a_fence_a_job_waits_until_its_node_is_surely_off) {
  RecoveryPolicy policy;
  policy.fence = true;
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1"})});
  look(view, memory, policy);
  view.nodes[1].down = view.nodes[1].drained = true;
  view.jobs[0] = waiting(1);
  EXPECT_THAT(look(view, memory, policy), ElementsAre("fence_node fence/n1/1"));
  EXPECT_THAT(look(view, memory, policy), ElementsAre("fence_node fence/n1/1"));
  view.nodes[1].fence = FenceState::under_way;
  EXPECT_THAT(look(view, memory, policy), IsEmpty());
  view.nodes[1].fence = FenceState::off;
  EXPECT_THAT(look(view, memory, policy), ElementsAre("release_job release/7/0"));
}

TEST(RecoveryPolicy, a_small_fleet_may_lose_one_node_and_the_share_counts_what_is_out_already) {
  RecoveryMemory memory;
  ClusterLook view = fleet(5);
  look(view, memory);
  view.nodes[0].down = true;
  EXPECT_THAT(look(view, memory), ElementsAre("drain_node drain/n0/1"));
  view.nodes[0].drained = true;
  view.nodes[1].down = true;
  EXPECT_THAT(look(view, memory), ElementsAre("alert mass-failure/fleet/1"));
}

// What was out before anybody watched is somebody else's case: no drain, no weight as a failure.
TEST(RecoveryPolicy, nodes_that_were_out_before_are_left_alone) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8);
  view.nodes[3].down = true;
  EXPECT_THAT(look(view, memory), IsEmpty());
  EXPECT_EQ(memory.nodes.at("n3").weight.weight, 0);
}

TEST(RecoveryPolicy, decides_the_same_when_asked_twice) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1", "n2"})});
  look(view, memory);
  view.nodes[1].down = true;
  view.jobs[0] = waiting(1);
  EXPECT_EQ(decide(view, memory, {}), decide(view, memory, {}));
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
