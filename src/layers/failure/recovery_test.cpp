#include "layers/failure/recovery.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/failure/interval.h"
#include "layers/failure/recovery_desk.h"
#include "layers/failure/recovery_memory.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

// One look by a driver that carries out nothing.
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

TEST(RecoveryPolicy, worked_example) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1", "n2"})});
  EXPECT_THAT(look(view, memory), IsEmpty());
  view.nodes[1].down = true;
  view.jobs[0].phase = JobPhase::completing;
  view.jobs[0].restarts = 1;
  EXPECT_THAT(look(view, memory), ElementsAre("drain_node drain/n1/1"));
  view.nodes[1].drained = true;
  // It is completing: a hold lifted now would come back.
  EXPECT_THAT(look(view, memory), IsEmpty());
  view.jobs[0] = waiting(1);
  EXPECT_THAT(look(view, memory), ElementsAre("release_job release/7/0"));
  view.jobs[0] = running({"n2", "n3"});
  view.jobs[0].restarts = 1;
  view.now += seconds(2);
  EXPECT_THAT(look(view, memory), IsEmpty());
  EXPECT_FALSE(memory.jobs.at("7").loss);
}

TEST(RecoveryPolicy, refused_action_is_repeated_ever_more_rarely) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1"})});
  look(view, memory);
  view.jobs[0] = waiting(1);
  look(view, memory);  // lost, cause unknown
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

// The scheduler accepted a release and then undid it: the job must not wait for a doubled pause.
TEST(RecoveryPolicy, undone_action_is_repeated_every_second) {
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

TEST(RecoveryPolicy, job_without_requeue_is_reported_once) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1"})});
  view.jobs[0].requeueable = false;
  look(view, memory);
  view.nodes[1].drained = view.nodes[1].broken = true;
  EXPECT_THAT(look(view, memory), ElementsAre("alert no-requeue/7/0"));
  EXPECT_THAT(look(view, memory), IsEmpty());
}

// If a node is down and its job keeps running, the job asked for that (--no-kill).
TEST(RecoveryPolicy, job_that_runs_on_without_its_node_is_left_running) {
  RecoveryMemory memory;
  ClusterLook view = fleet(8, {running({"n1", "n2"})});
  look(view, memory);
  view.nodes[1].down = view.nodes[1].drained = true;
  EXPECT_THAT(look(view, memory), IsEmpty());
}

TEST(RecoveryPolicy, fenced_job_waits_until_its_node_is_off) {
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

TEST(RecoveryPolicy, small_fleet_may_drain_one_node) {
  RecoveryMemory memory;
  ClusterLook view = fleet(5);
  look(view, memory);
  view.nodes[0].down = true;
  EXPECT_THAT(look(view, memory), ElementsAre("drain_node drain/n0/1"));
  view.nodes[0].drained = true;
  view.nodes[1].down = true;
  EXPECT_THAT(look(view, memory), ElementsAre("alert mass-failure/fleet/1"));
}

// Nodes out before observation began are others' responsibility: no drain, and no failure counted.
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

class RecoveryEdges : public testing::Test {
 protected:
  static constexpr Seconds kToday = seconds(2e9);

  RecoveryEdges() {
    for (int i = 0; i < 10; ++i) view.nodes.push_back({.name = fmt::format("n{}", i)});
    memory.since = kToday - hours(1);
  }
  NodeView& node(int i) { return view.nodes[static_cast<std::size_t>(i)]; }
  // A controller that was started `ago`, which is known.
  void controller(Seconds ago) { view.controller_since = memory.controller = kToday - ago; }
  JobView& job_with_loss(JobPhase phase, const JobLoss& loss) {
    memory.jobs["7"] = {.restarts = loss.restarts, .started = kToday - hours(1), .loss = loss};
    view.jobs = {{.id = "7", .phase = phase, .restarts = loss.restarts}};
    if (phase == JobPhase::pending) view.jobs[0].restarts += 1;
    return view.jobs[0];
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const RecoveryAction& a : decide(view, memory, policy).actions) all.push_back(a.key);
    return all;
  }
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const RecoveryEvent& e : decide(view, memory, policy).events) {
      all.push_back(
          fmt::format("{} {}{}{}", to_text(e.kind), e.node, e.job, e.good ? " good" : ""));
    }
    return all;
  }

  RecoveryPolicy policy;
  RecoveryMemory memory;
  ClusterLook view{.now = kToday};
};

// A drain that this controller has shown itself was not forgotten if it disappears.
TEST_F(RecoveryEdges, drain_forgotten_by_a_controller_or_lifted_by_a_person) {
  memory.nodes["n3"] = {.drain_seen = kToday - minutes(5), .drain_shown = true};
  controller(seconds(20));
  EXPECT_THAT(events(), ElementsAre("drain_lifted n3"));
  memory.nodes["n3"].drain_shown = false;
  EXPECT_THAT(events(), ElementsAre("node_forgotten n3 good"));
  controller(policy.rollback);
  EXPECT_THAT(events(), ElementsAre("node_forgotten n3 good"));
  controller(policy.rollback + seconds(1));
  EXPECT_THAT(events(), ElementsAre("drain_lifted n3"));
}

TEST_F(RecoveryEdges, hold_is_noted_when_first_seen_or_forgotten) {
  controller(seconds(20));
  JobView& job = job_with_loss(JobPhase::pending, {.at = kToday - minutes(1), .nodes = {"n3"}});
  memory.jobs["7"].blamed = true;
  memory.jobs["7"].losses_total = 1;
  memory.alerted = {"blamed/7/0"};
  EXPECT_THAT(events(), IsEmpty()) << "neither held nor seen so";
  job.held = true;
  EXPECT_THAT(events(), ElementsAre("job_held 7 good"));
  memory.jobs["7"].held_seen = true;
  EXPECT_THAT(events(), IsEmpty()) << "held, and seen so";
  job.held = false;
  EXPECT_THAT(events(), ElementsAre("job_held 7")) << "a new controller forgot it";
  controller(hours(1));
  EXPECT_THAT(events(), IsEmpty()) << "an operator released it";
}

// A node that is out but no longer listed: the job on it is not lost because of that.
TEST_F(RecoveryEdges, listed_out_node_takes_no_new_job) {
  controller(hours(1));
  memory.nodes["gone"] = {.out = true, .failures = 1};
  memory.jobs["7"] = {.restarts = 0, .started = kToday - hours(1), .nodes = {"gone"}};
  view.jobs = {{.id = "7", .phase = JobPhase::running, .nodes = {"gone"}}};
  EXPECT_THAT(events(), IsEmpty());
  memory.nodes["gone"].forgotten = kToday - seconds(10);
  EXPECT_THAT(events(), ElementsAre("job_lost 7"));
}

// Accepted: repeated after a second. Refused: after one, two, four ... seconds, at most a minute.
TEST_F(RecoveryEdges, action_is_repeated_after_its_pause) {
  node(5).spare = node(5).drained = true;
  memory.nodes["n5"] = {.stood_in_for = "n3"};
  const auto is_asked = [&](int count, bool good, double ago) {
    memory.attempts["resume/n5/n3"] = {.count = count, .last = kToday - seconds(ago), .good = good};
    return !keys().empty();
  };
  for (const int count : {1, 4}) {
    EXPECT_FALSE(is_asked(count, true, 0.5)) << count;
    EXPECT_TRUE(is_asked(count, true, 1)) << count;
  }
  EXPECT_FALSE(is_asked(1, false, 0.5));
  EXPECT_TRUE(is_asked(1, false, 1));
  EXPECT_FALSE(is_asked(3, false, 3.5));
  EXPECT_TRUE(is_asked(3, false, 4));
  EXPECT_FALSE(is_asked(9, false, 59));
  EXPECT_TRUE(is_asked(9, false, 60));
}

// It ran on n3 and n4, and neither failed: a node that is down elsewhere does not concern it.
TEST_F(RecoveryEdges, job_waits_only_for_its_own_nodes) {
  policy.fence = true;
  JobView& job =
      job_with_loss(JobPhase::pending, {.at = kToday - minutes(5), .ran_on = {"n3", "n4"}});
  job.avoids = {"n3", "n4"};
  job.waits_for_time = true;
  memory.nodes["n8"] = {.out = true, .out_shown = true, .failures = 1};
  node(8).down = true;
  EXPECT_THAT(keys(), ElementsAre("release/7/0"));
  memory.jobs["7"].loss->nodes = {"n8"};
  EXPECT_THAT(keys(), ElementsAre("fence/n8/1")) << "it may still run there";
  memory.jobs["7"].loss->nodes = {"sold"};
  EXPECT_THAT(keys(), ElementsAre("release/7/0")) << "one that is in no list is off";
}

TEST_F(RecoveryEdges, host_zero_can_be_a_spare) {
  RecoveryDesk desk(100);
  EXPECT_THAT(desk.host_down(sim::SimTime{}, 5, "", -1).spares, IsEmpty());
  EXPECT_THAT(desk.host_down(sim::SimTime{}, 6, "", 0).spares, ElementsAre(0));
}

}  // namespace
}  // namespace orrery::failure
