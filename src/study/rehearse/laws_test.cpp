// Replays and stand-ins by hand: what a few jobs, pods and copies come to.
#include <gtest/gtest.h>

#include <map>

#include "study/rehearse/pod_replay.h"
#include "study/rehearse/rehearsal.h"
#include "study/rehearse/rewind.h"
#include "study/rehearse/simulated_places.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;
using storage::LifecycleActionKind;
using workload::JobRecord;

JobRecord a_job(double submit, double run, int gpus, int nodes = 1) {
  return {.submit = seconds(submit),
          .run = seconds(run),
          .limit = seconds(run),
          .gpus = gpus,
          .nodes = nodes};
}

// Eight GPUs: A takes all for 100 s; B (8) and C (4) come at 10 and 20 and wait for it.
TEST(TrialLaws, waits_slowdown_and_shares_by_hand) {
  std::vector<JobRecord> jobs = {a_job(0, 100, 8), a_job(10, 50, 8), a_job(20, 5, 4),
                                 a_job(30, 9, 16)};
  jobs[0].limit = seconds(1);  // a limit below the run is no limit
  const ReplayResult r =
      replay_jobs(jobs, NodePool({8}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_EQ(r.jobs, 4);
  EXPECT_EQ(r.rejected, 1) << "16 GPUs are never there";
  EXPECT_EQ(r.finished, 3);
  EXPECT_EQ(r.waits[0], seconds(0));
  EXPECT_EQ(r.waits[1], seconds(90));
  EXPECT_EQ(r.waits[2], seconds(130));
  EXPECT_LT(r.waits[3], seconds(0));
  EXPECT_NEAR(r.wait.mean_s, 220.0 / 3, 1e-9);
  EXPECT_EQ(r.wait.median_s, 90);
  EXPECT_EQ(r.wait.max_s, 130);
  EXPECT_NEAR(r.wait_wide.mean_s, 45, 1e-9) << "of those with eight and more";
  // (0+100)/100, (90+50)/50, (130+5)/10: a run below ten seconds counts as ten.
  EXPECT_NEAR(r.slowdown, (1 + 2.8 + 13.5) / 3, 1e-9);
  EXPECT_EQ(r.span, seconds(155));
  EXPECT_EQ(r.productive, 100 * 8 + 50 * 8 + 5 * 4);
  EXPECT_EQ(r.idle, 155 * 8 - r.productive);
  const ReplayWait spread = wait_of(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_EQ(spread.median_s, 3);
  EXPECT_EQ(spread.max_s, 5);
  EXPECT_GT(spread.p99_s, spread.p90_s);
  EXPECT_GT(spread.p90_s, spread.median_s);
}

// Four GPUs. A holds three for 100 s, though it asked for 10; B wants all four and waits for A. C
// ends at 52, before B can begin at 100, and passes.
TEST(TrialLaws, a_job_that_runs_past_its_limit_is_expected_to_its_end) {
  std::vector<JobRecord> jobs = {a_job(0, 100, 3), a_job(1, 10, 4), a_job(2, 50, 1)};
  jobs[0].limit = seconds(10);
  const ReplayResult r =
      replay_jobs(jobs, NodePool({4}), {.queue = {.backfill = BackfillVariant::easy}});
  EXPECT_EQ(r.waits[1], seconds(99));
  EXPECT_EQ(r.waits[2], seconds(0));
}

// A hundred pods of one GPU on four GPUs, at half the load: two are taken of them.
TEST(TrialLaws, of_a_trace_above_the_load_only_so_much_is_taken) {
  const std::vector<workload::PodRecord> pods(100,
                                              {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 1000});
  const std::vector<workload::PodNodeRecord> nodes(
      1, {.cpu_milli = 640'000, .memory_mib = 1000, .gpus = 4, .model = "a"});
  const PodReplayResult r = replay_pods(pods, nodes, {.load = 0.5});
  EXPECT_EQ(r.pods, 2);
  EXPECT_EQ(r.placed, 2);
  EXPECT_DOUBLE_EQ(r.allocated, 0.5);
}

TEST(TrialLaws, the_last_nodes_of_a_rehearsal_are_its_spares) {
  Rehearsal rehearsal({.nodes = 4, .spares = 2, .jobs = 0, .faults = 0});
  const auto view = rehearsal.port().look();
  ASSERT_TRUE(view);
  std::map<std::string, bool> spare;
  for (const failure::NodeView& n : view->nodes) spare[n.name] = n.spare;
  EXPECT_EQ(spare, (std::map<std::string, bool>{
                       {"n1", false}, {"n2", false}, {"n3", true}, {"n4", true}}));
}

// Two nodes of four: a job of eight on two nodes takes half of each, one of six on one nothing.
TEST(TrialLaws, jobs_are_spread_over_the_nodes_they_name) {
  const auto r = replay_jobs(std::vector<JobRecord>{a_job(0, 100, 4, 2), a_job(1, 100, 3)},
                             NodePool({4, 4}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_EQ(r.waits[1], seconds(99)) << "two on each: no node has three left";
}

TEST(TrialLaws, jobs_that_wait_are_asked_as_many_as_wanted) {
  std::vector<JobRecord> jobs = {a_job(0, 100, 8)};
  for (int i = 0; i < 5; ++i) jobs.push_back(a_job(1, 10, 8));
  const auto r = replay_jobs(jobs, NodePool({8}), {.ask_at = seconds(50), .ask_jobs = 3});
  EXPECT_EQ(r.waiting_when_asked, 5u);
  ASSERT_EQ(r.answers.size(), 3u);
  EXPECT_EQ(r.answers[0].job, 1u);
}

// A job on a node that fails keeps what it saved, and every GPU-second is one of four.
TEST(TrialLaws, failures_cost_what_was_not_saved_and_the_repair) {
  const std::vector<JobRecord> jobs = {a_job(0, 50'000, 16, 2)};
  ReplayOptions options{
      .node_mtbf = seconds(20'000), .repair = seconds(500), .checkpoint = seconds(100), .seed = 3};
  const ReplayResult saved = replay_jobs(jobs, NodePool({8, 8}), options);
  ASSERT_GT(saved.stops, 1);
  EXPECT_LE(saved.lost, saved.stops * 100.0 * 16) << "less than an interval each";
  EXPECT_NEAR(saved.productive, 50'000.0 * 16, 1e-6);
  EXPECT_NEAR(saved.span.base() * 16, saved.productive + saved.lost + saved.down + saved.idle,
              1e-3);
  // While it runs nothing is idle: idle is the node that stands by while the other is repaired.
  EXPECT_NEAR(saved.idle / saved.down, 1, 0.35);
  EXPECT_NEAR(saved.down / saved.node_failures / 8, 500, 350) << "a repair of eight GPUs";
  EXPECT_EQ(saved.waits[0], seconds(0)) << "to its first start";
  options.checkpoint = {};
  const ReplayResult lost = replay_jobs(jobs, NodePool({8, 8}), options);
  EXPECT_GT(lost.lost, 10 * saved.lost);
  EXPECT_NEAR(lost.span.base() * 16, lost.productive + lost.lost + lost.down + lost.idle, 1e-3);
}

TEST(TrialLaws, part_of_a_fleet_is_gpus_or_whole_nodes_and_never_none) {
  EXPECT_EQ(part_of(NodePool({100}), 0.9).gpus(), 90);
  EXPECT_EQ(part_of(NodePool({100}), 1).gpus(), 100);
  EXPECT_EQ(part_of(NodePool({2}), 0.1).gpus(), 1);
  NodePool ten = part_of(NodePool(std::vector<int>(10, 8)), 0.7);
  int up = 0;
  for (int n = 0; n < ten.nodes(); ++n) up += ten.is_up(n) ? 1 : 0;
  EXPECT_EQ(up, 7);
}

// Waits that are known: the model is always right in shape and half of what was recorded.
TEST(TrialLaws, a_rewind_scales_by_what_was_recorded) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 200; ++i) {
    jobs.push_back(a_job(i * 4000.0, 100, 8));
    jobs.push_back(a_job(i * 4000.0 + 10, 100, 8));  // waits 90 s for the first
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // Twice the wait in the first half; on odd days of the second a third more.
    const double truth = i % 2 == 0 ? 0 : 90;
    jobs[i].wait = seconds(2 * truth * (i >= 200 && i / 21 % 2 == 1 ? 1.5 : 1));
  }
  const auto r = rewind(jobs, NodePool({8}),
                        {.policies = {BackfillVariant::fifo},
                         .shares = {1},
                         .what_ifs = {{"twice", BackfillVariant::fifo, NodePool({16})},
                                      {"same", BackfillVariant::fifo, NodePool({8})}}});
  ASSERT_TRUE(r) << to_text(r.error());
  EXPECT_EQ(r->start_delay_s, 0);
  EXPECT_EQ(r->first.jobs, 200);
  EXPECT_EQ(r->second.jobs, 200);
  EXPECT_NEAR(r->first.simulated_s, 45, 1e-9);
  EXPECT_NEAR(r->first.recorded_s, 90, 1e-9);
  EXPECT_NEAR(r->first.error, 0.5, 1e-9) << "|45 - 90| of 90";
  EXPECT_NEAR(r->factor, r->second.recorded_s / 45, 1e-9);
  EXPECT_GT(r->factor, 2);
  EXPECT_LT(r->factor, 3);
  // Days are drawn again: the factor lies between that of the even and of the odd ones.
  EXPECT_LT(r->factor_low, r->factor);
  EXPECT_GT(r->factor_high, r->factor);
  EXPECT_GE(r->factor_low, 2 - 1e-9);
  EXPECT_LE(r->factor_high, 3 + 1e-9);
  EXPECT_NEAR(r->answers[0].simulated_s, 0, 1e-9) << "nobody waits on twice as much";
  EXPECT_NEAR(r->answers[1].mean_wait.value, 45 * r->factor, 1e-9);
  EXPECT_NEAR(r->answers[1].mean_wait.low, 45 * r->factor_low, 1e-9);
  EXPECT_NEAR(r->answers[1].mean_wait.high, 45 * r->factor_high, 1e-9);
  // Half a record is none: each half needs twenty.
  std::vector<JobRecord> half = jobs;
  for (std::size_t i = 200; i < half.size(); ++i) half[i].wait.reset();
  const auto none = rewind(half, NodePool({8}), {.policies = {BackfillVariant::fifo}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().code, "rewind.record");
  // A fleet on which jobs of the trace never fit is not the one that ran them.
  std::vector<JobRecord> wide = jobs;
  for (JobRecord& j : wide) j.wait = seconds(1000);  // as if far less had been there
  const auto kept =
      rewind(wide, NodePool({8}), {.policies = {BackfillVariant::fifo}, .shares = {1, 0.9}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->share, 1);
}

TEST(TrialLaws, pods_fill_a_fleet_to_the_load_that_is_asked_for) {
  // Two GPUs of four each for whole pods, and pods without any.
  const std::vector<workload::PodRecord> pods = {{.cpu_milli = 1000, .gpus = 2, .gpu_milli = 1000},
                                                 {.cpu_milli = 1000, .gpus = 0, .gpu_milli = 700}};
  const std::vector<workload::PodNodeRecord> nodes(
      5, {.cpu_milli = 640'000, .memory_mib = 1000, .gpus = 4, .model = "a"});
  const PodReplayResult half = replay_pods(pods, nodes, {.load = 0.5});
  EXPECT_DOUBLE_EQ(half.allocated, 0.5) << "10 of 20 GPUs";
  EXPECT_EQ(half.turned_away, 0);
  EXPECT_EQ(half.placed, half.pods);
  const PodReplayResult full = replay_pods(pods, nodes, {.load = 1});
  EXPECT_DOUBLE_EQ(full.allocated, 1);
  EXPECT_EQ(full.fragmented, 0);
  // Half a GPU of each is left, which no pod of two whole ones can use: all that is left is lost.
  const std::vector<workload::PodRecord> halves = {
      {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 600}};
  const PodReplayResult bits = replay_pods(halves, nodes, {.load = 1});
  EXPECT_DOUBLE_EQ(bits.allocated, 0.6) << "one to a GPU: 0.4 are left of each";
  EXPECT_DOUBLE_EQ(bits.fragmented, 1);
  EXPECT_GT(bits.turned_away, 0);
  // A pod that takes either of two models fits both; one that names another fits nothing.
  std::vector<workload::PodNodeRecord> two = {nodes[0], nodes[0]};
  two[1].model = "b";
  std::vector<workload::PodRecord> either = {pods[0]};
  either[0].models = {"b", "a"};
  EXPECT_EQ(replay_pods(either, two, {.load = 1}).turned_away, 0);
  either[0].models = {"c"};
  const PodReplayResult none = replay_pods(either, two, {.load = 1});
  EXPECT_EQ(none.turned_away, none.pods);
  EXPECT_EQ(none.placed, 0);
  EXPECT_GT(none.pods, 0);
}

// Nodes live for their mean and are repaired in theirs; of each stop half an interval is lost.
TEST(TrialLaws, lives_repairs_and_losses_have_their_means) {
  const std::vector<JobRecord> jobs = {a_job(0, 5e6, 1)};
  const ReplayResult r = replay_jobs(
      jobs, NodePool({8, 8}),
      {.node_mtbf = seconds(1000), .repair = seconds(100), .checkpoint = seconds(10), .seed = 2});
  ASSERT_GT(r.node_failures, 8000);
  EXPECT_NEAR(r.down / r.node_failures / 8, 100, 4);
  EXPECT_NEAR(2 * r.span.base() / r.node_failures, 1100, 35);
  EXPECT_NEAR(r.lost / r.stops, 5, 0.2);
}

// A GPU for one of two pods: whichever comes first has it, and either may.
TEST(TrialLaws, pods_come_in_any_order) {
  const std::vector<workload::PodRecord> pods = {{.cpu_milli = 1, .gpus = 1, .gpu_milli = 1000},
                                                 {.cpu_milli = 1, .gpus = 1, .gpu_milli = 600}};
  const std::vector<workload::PodNodeRecord> node = {
      {.cpu_milli = 1000, .memory_mib = 1000, .gpus = 1, .model = "a"}};
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const PodReplayResult r = replay_pods(pods, node, {.load = 1.6, .seed = seed});
    EXPECT_EQ(r.pods, 2);
    EXPECT_EQ(r.turned_away, 1);
    whole += r.allocated == 1 ? 1 : 0;
  }
  EXPECT_NEAR(whole, 200, 35);
}

class PlacesTest : public testing::Test {
 protected:
  PlacesTest() {
    places.begin("hot", "a", {.run = "r", .made = seconds(1), .size = gigabytes(1)});
    places.finish("hot", "a");
  }
  std::string stamp(const std::string& place) {
    return std::to_string(places.copy_at(place, "a")->stamp);
  }
  storage::LifecycleAction action(LifecycleActionKind kind, const std::string& place) {
    storage::LifecycleAction a{.kind = kind, .item = "a", .place = place};
    if (places.copy_at(place, "a")) a.stamp = stamp(place);
    if (kind == LifecycleActionKind::copy) {
      a.from = "hot";
      a.needs = {{"a", "hot", stamp("hot")}};
    }
    return a;
  }
  std::size_t seen() {
    return places.look()->items.empty() ? 0 : places.look()->items[0].copies.size();
  }

  SimulatedPlaces places{{"hot", "cold"}};
};

TEST_F(PlacesTest, faults_come_as_often_as_they_were_asked_for) {
  places.fail_next(1);
  EXPECT_FALSE(places.is_calm());
  EXPECT_FALSE(places.act(action(LifecycleActionKind::copy, "cold")));
  EXPECT_EQ(places.copy_at("cold", "a"), nullptr) << "without effect";
  places.tear_next(1);
  EXPECT_FALSE(places.act(action(LifecycleActionKind::copy, "cold")));
  ASSERT_NE(places.copy_at("cold", "a"), nullptr);
  EXPECT_FALSE(places.copy_at("cold", "a")->complete);
  EXPECT_FALSE(places.act(action(LifecycleActionKind::verify, "cold"))) << "nothing whole to read";
  places.spoil_next(1);
  EXPECT_TRUE(places.act(action(LifecycleActionKind::copy, "cold"))) << "reported as good";
  EXPECT_FALSE(places.is_good_at("cold", "a"));
  EXPECT_NE(places.act(action(LifecycleActionKind::verify, "cold"))->digest,
            places.act(action(LifecycleActionKind::verify, "hot"))->digest);
  places.lose_answers(1);
  EXPECT_FALSE(places.act(action(LifecycleActionKind::copy, "cold")));
  EXPECT_TRUE(places.is_good_at("cold", "a")) << "carried out all the same";
  EXPECT_TRUE(places.is_calm());
  places.lose_answers(1);
  EXPECT_FALSE(places.act(action(LifecycleActionKind::verify, "none"))) << "nothing to read there";
  EXPECT_FALSE(places.is_calm()) << "a refusal is told: no answer was lost yet";
  EXPECT_FALSE(places.act(action(LifecycleActionKind::verify, "cold")));
  EXPECT_TRUE(places.act(action(LifecycleActionKind::verify, "cold")));
  places.rot("cold", "a");
  EXPECT_FALSE(places.is_good_at("cold", "a"));
}

TEST_F(PlacesTest, what_is_away_or_hidden_is_not_listed_and_not_acted_on) {
  ASSERT_TRUE(places.act(action(LifecycleActionKind::copy, "cold")));
  EXPECT_EQ(seen(), 2u);
  places.hide("cold", "a", true);
  EXPECT_EQ(seen(), 1u);
  EXPECT_FALSE(places.is_calm());
  places.hide("cold", "a", false);
  places.set_away("cold", true);
  EXPECT_EQ(seen(), 1u);
  EXPECT_EQ(places.look()->away, std::vector<std::string>{"cold"});
  EXPECT_FALSE(places.act(action(LifecycleActionKind::verify, "cold")));
  auto removal = action(LifecycleActionKind::remove, "hot");
  removal.needs = {{"a", "cold", stamp("cold")}};
  EXPECT_FALSE(places.act(removal)) << "what it needs is not to be seen";
  places.set_away("cold", false);
  EXPECT_TRUE(places.is_calm());
  removal.needs[0].stamp = "another";
  EXPECT_FALSE(places.act(removal));
  removal.needs[0].stamp = stamp("cold");
  removal.stamp = "another";
  EXPECT_FALSE(places.act(removal));
  removal.stamp = stamp("hot");
  EXPECT_TRUE(places.act(removal));
  ASSERT_EQ(places.removals().size(), 1u);
  EXPECT_TRUE(places.removals()[0].was_good);
  EXPECT_EQ(places.removals()[0].good_left, std::vector<std::string>{"cold"});
}

// A driver that only watches.
struct Watcher final : RehearsalDriver {
  std::optional<Seconds> tick() override {
    ++ticks;
    return seconds(10);
  }
  void on_fault(const InjectedFault&) override {}
  int ticks = 0;
};

TEST(RehearsalLaws, faults_come_in_their_shares_within_nine_tenths_and_nodes_are_repaired) {
  Rehearsal rehearsal({.nodes = 100,
                       .spares = 4,
                       .jobs = 20,
                       .faults = 120,
                       .length = hours(4),
                       .repair = minutes(5),
                       .has_fence = true,
                       .seed = 11});
  Watcher watcher;
  const RehearsalResult r = rehearsal.run(watcher);
  EXPECT_TRUE(r.is_complete);
  EXPECT_EQ(watcher.ticks, 1441) << "every ten seconds, from the first to the last";
  ASSERT_EQ(r.faults.size(), 120u) << "repaired nodes are struck again";
  std::map<FaultKind, int> kinds;
  Seconds last;
  for (const InjectedFault& fault : r.faults) {
    ++kinds[fault.kind];
    last = max(last, fault.at);
    EXPECT_LE(std::stoi(fault.node.substr(1)), 96) << "a spare is not in service";
  }
  EXPECT_NEAR(kinds[FaultKind::dies], 60, 18);
  EXPECT_NEAR(kinds[FaultKind::flaps], 24, 14);
  EXPECT_NEAR(kinds[FaultKind::unfit], 24, 14);
  EXPECT_NEAR(kinds[FaultKind::silent], 12, 10);
  EXPECT_LE(last, hours(3.6));
  EXPECT_GT(last, hours(3.3));
  // Slurm's own hold of two minutes is the least that a job without help is away.
  for (const Seconds outage : r.outages) EXPECT_GE(outage, seconds(120));
}

}  // namespace
}  // namespace orrery::rehearse
