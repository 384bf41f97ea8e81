// Edges of recovery and of stragglers: what a new controller may have forgotten and what a person
// did, when an action is due again, nodes that nobody lists; and who is named for a slow group.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/failure/interval.h"
#include "layers/failure/recovery.h"
#include "layers/failure/recovery_desk.h"
#include "layers/failure/save_cycle.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecoveryEdges : public testing::Test {
 protected:
  static constexpr Seconds kToday = seconds(2e9);

  RecoveryEdges() {
    for (int i = 0; i < 10; ++i) view.nodes.push_back({.name = fmt::format("n{}", i)});
    memory.since = kToday - hours(1);
  }
  NodeView& node(int i) { return view.nodes[static_cast<std::size_t>(i)]; }
  // A controller that was started so long ago, and is known.
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

// A drain that this controller has shown itself was not forgotten when it is gone.
TEST_F(RecoveryEdges, a_drain_is_forgotten_by_a_new_controller_and_lifted_by_a_person) {
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

TEST_F(RecoveryEdges, a_hold_is_noted_when_it_is_first_seen_or_forgotten) {
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
  EXPECT_THAT(events(), IsEmpty()) << "a person let it go";
}

// Out, but in no list any more: what it has is not lost for that.
TEST_F(RecoveryEdges, a_node_that_is_out_and_was_not_forgotten_takes_nothing_new) {
  controller(hours(1));
  memory.nodes["gone"] = {.out = true, .failures = 1};
  memory.jobs["7"] = {.restarts = 0, .started = kToday - hours(1), .nodes = {"gone"}};
  view.jobs = {{.id = "7", .phase = JobPhase::running, .nodes = {"gone"}}};
  EXPECT_THAT(events(), IsEmpty());
  memory.nodes["gone"].forgotten = kToday - seconds(10);
  EXPECT_THAT(events(), ElementsAre("job_lost 7"));
}

// Taken: again after a second. Refused: after one, two, four ... and a minute at the most.
TEST_F(RecoveryEdges, an_action_is_due_again_after_its_pause) {
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

// It ran on n3 and n4, and neither failed: a node that is down elsewhere is no concern of it.
TEST_F(RecoveryEdges, a_job_that_was_seen_running_waits_for_its_own_nodes_alone) {
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

TEST_F(RecoveryEdges, host_zero_can_stand_in) {
  RecoveryDesk desk(100);
  EXPECT_THAT(desk.host_down(sim::SimTime{}, 5, "", -1).spares, IsEmpty());
  EXPECT_THAT(desk.host_down(sim::SimTime{}, 6, "", 0).spares, ElementsAre(0));
}

StepTimes sixteen_ranks(const std::map<int, double>& slow) {
  StepTimes times;
  for (int r = 0; r < 16; ++r) times.ranks.push_back({.rank = r});
  for (int s = 0; s < 60; ++s) {
    std::vector<double> row(16, 1.0);
    for (const auto& [rank, seconds] : slow) row[static_cast<std::size_t>(rank)] = seconds;
    times.steps.push_back(row);
  }
  return times;
}

// Ranks 0 to 2 share a leaf; 2 to 5 a host, of which 3 to 5 are left to explain: three quarters.
TEST(StragglerEdges, a_rank_is_named_with_the_widest_group_alone) {
  StepTimes times = sixteen_ranks({{0, 1.3}, {1, 1.3}, {2, 1.3}, {3, 1.3}, {4, 1.3}, {5, 1.3}});
  for (const std::size_t r : {0U, 1U, 2U}) times.ranks[r].leaf = "a";
  for (const std::size_t r : {2U, 3U, 4U, 5U}) times.ranks[r].host = "h";
  const StragglerReport report = find_stragglers(times);
  ASSERT_EQ(report.slow.size(), 6U);
  for (const Straggler& s : report.slow) {
    EXPECT_EQ(s.shared, s.place.rank <= 2 ? "leaf a" : "host h") << s.place.rank;
    EXPECT_EQ(s.layer, s.place.rank <= 2 ? SlowLayer::fabric : SlowLayer::host_input);
  }
}

TEST(StragglerEdges, the_slowest_come_first) {
  const StragglerReport report = find_stragglers(sixteen_ranks({{2, 1.05}, {9, 1.3}, {12, 1.1}}));
  ASSERT_EQ(report.slow.size(), 3U);
  EXPECT_EQ(report.slow[0].place.rank, 9);
  EXPECT_EQ(report.slow[1].place.rank, 12);
  EXPECT_EQ(report.slow[2].place.rank, 2);
}

// Half as long again, where half is what a burst needs.
TEST(StragglerEdges, a_burst_that_just_reaches_its_bound_is_one) {
  StepTimes times = sixteen_ranks({});
  for (std::size_t s = 0; s < times.steps.size(); s += 3) times.steps[s][4] = 1.5;
  const StragglerReport report = find_stragglers(times, {.spike_min = 0.5});
  ASSERT_EQ(report.slow.size(), 1U);
  EXPECT_EQ(report.slow[0].pattern, SlowPattern::bursts);
  EXPECT_DOUBLE_EQ(report.slow[0].excess, 0.5);
}

TEST(SaveEdges, limits_of_an_interval_have_words) {
  EXPECT_STREQ(to_text(IntervalLimit::drain), "drain");
  EXPECT_STREQ(to_text(IntervalLimit::optimum), "optimum");
}

// Without saves there is no drain to work beside.
TEST(SaveEdges, who_never_saves_works_at_full_speed) {
  const SaveCycle c{.interval_ns = 0, .drain_ns = 400, .speed = 1, .drain_speed = 0.5};
  EXPECT_EQ(wall_for(c, 1000), 1000);
  EXPECT_EQ(progress_after(c, 1000).work_ns, 1000);
}

}  // namespace
}  // namespace orrery::failure
