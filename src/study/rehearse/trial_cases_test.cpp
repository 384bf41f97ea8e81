// Rehearsals, replays and rewinds in their smallest cases, by hand; the simulated Slurm's clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "study/rehearse/rehearsal.h"
#include "study/rehearse/rewind.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;
using testing::ElementsAre;
using testing::IsEmpty;
using workload::JobRecord;

TEST(TrialCases, a_fault_in_words) {
  const auto text = [](FaultKind kind) { return to_text({.kind = kind, .node = "n3"}); };
  EXPECT_EQ(text(FaultKind::dies), "node n3 dies");
  EXPECT_EQ(text(FaultKind::flaps), "node n3 goes down and is back at once");
  EXPECT_EQ(text(FaultKind::unfit), "a health check drains node n3 as unfit");
  EXPECT_EQ(text(FaultKind::silent), "node n3 falls silent");
}

struct GivesUp final : RehearsalDriver {
  std::optional<Seconds> tick() override {
    return ++ticks < 3 ? std::optional(seconds(1)) : std::nullopt;
  }
  void on_fault(const InjectedFault&) override {}
  int ticks = 0;
};

TEST(TrialCases, a_driver_that_cannot_go_on_ends_the_run) {
  Rehearsal rehearsal({.nodes = 8, .jobs = 2, .faults = 20, .length = hours(10), .seed = 5});
  GivesUp driver;
  const RehearsalResult result = rehearsal.run(driver);
  EXPECT_EQ(driver.ticks, 3);
  EXPECT_FALSE(result.is_complete);
  EXPECT_THAT(result.faults, IsEmpty()) << "two seconds of ten hours";
  EXPECT_THAT(result.waiting, IsEmpty());
}

TEST(TrialCases, a_rehearsal_without_wishes) {
  const RehearsalOptions o;
  EXPECT_EQ(o.nodes, 64);
  EXPECT_EQ(o.spares, 0);
  EXPECT_EQ(o.jobs, 16);
  EXPECT_EQ(o.job_nodes, 2);
  EXPECT_EQ(o.faults, 10);
  EXPECT_EQ(o.length, hours(1));
  EXPECT_EQ(o.repair, minutes(10));
  EXPECT_FALSE(o.has_fence);
  EXPECT_EQ(o.seed, 1u);
}

JobRecord traced(double submit, double run, int gpus, double wait = -1) {
  JobRecord job{
      .submit = seconds(submit), .run = seconds(run), .limit = seconds(run), .gpus = gpus};
  if (wait >= 0) job.wait = seconds(wait);
  return job;
}

// 10 GPUs. A (8, 100 s) at 0; B (4, 50 s) at 10 waits 90 s; C (9, 5 s) at 20 until B has ended at
// 150: 130 s; D (11) is too large.
TEST(TrialCases, a_replay_by_hand) {
  const std::vector<JobRecord> jobs{traced(0, 100, 8), traced(10, 50, 4), traced(20, 5, 9),
                                    traced(30, 5, 11)};
  const ReplayResult r =
      replay_jobs(jobs, NodePool({10}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_EQ(r.jobs, 4);
  EXPECT_EQ(r.rejected, 1);
  EXPECT_EQ(r.finished, 3);
  EXPECT_EQ(r.node_failures + r.stops, 0);
  EXPECT_THAT(r.waits, ElementsAre(seconds(0), seconds(90), seconds(130), seconds(-1)));
  EXPECT_DOUBLE_EQ(r.span.base(), 155);
  EXPECT_DOUBLE_EQ(r.wait.mean_s, 220.0 / 3);
  EXPECT_DOUBLE_EQ(r.wait.median_s, 90);
  EXPECT_DOUBLE_EQ(r.wait.max_s, 130);
  EXPECT_DOUBLE_EQ(r.wait_wide.mean_s, 65) << "of those with eight and more";
  // 1, 140/50 and 135/10: five seconds count as ten.
  EXPECT_DOUBLE_EQ(r.slowdown, (1 + 2.8 + 13.5) / 3);
  EXPECT_DOUBLE_EQ(r.productive, 800 + 200 + 45);
  EXPECT_DOUBLE_EQ(r.idle, 1550 - 1045);
  EXPECT_EQ(r.lost + r.down, 0);
}

TEST(TrialCases, one_job_is_three_events) {
  const std::vector<JobRecord> one{traced(0, 100, 8)};
  EXPECT_EQ(replay_jobs(one, NodePool({8}), {}).events, 3u) << "it comes, starts and ends";
  EXPECT_EQ(replay_jobs({}, NodePool({8}), {}).finished, 0);
  const ReplayResult parts{.productive = 30, .lost = 5, .idle = 10, .down = 15};
  EXPECT_DOUBLE_EQ(parts.used_share(), 0.5);
}

// 101 waits of 0, 10, ... 1000 s.
TEST(TrialCases, waits_by_their_shares) {
  std::vector<double> waits;
  for (int i = 100; i >= 0; --i) waits.push_back(10.0 * i);
  const ReplayWait w = wait_of(waits);
  EXPECT_DOUBLE_EQ(w.mean_s, 500);
  EXPECT_DOUBLE_EQ(w.median_s, 500);
  EXPECT_DOUBLE_EQ(w.p90_s, 900);
  EXPECT_DOUBLE_EQ(w.p99_s, 990);
  EXPECT_DOUBLE_EQ(w.max_s, 1000);
  EXPECT_EQ(wait_of({}).max_s, 0);
}

// Asked at 40 s: B and C wait, and the first of them is told of.
TEST(TrialCases, those_who_wait_say_why) {
  const std::vector<JobRecord> jobs{traced(0, 100, 8), traced(10, 50, 4), traced(20, 5, 9)};
  ReplayOptions options{.queue = {.backfill = BackfillVariant::fifo}, .ask_at = seconds(40)};
  EXPECT_EQ(replay_jobs(jobs, NodePool({10}), options).answers.size(), 2u);
  options.ask_jobs = 1;
  const ReplayResult r = replay_jobs(jobs, NodePool({10}), options);
  EXPECT_EQ(r.waiting_when_asked, 2u);
  ASSERT_EQ(r.answers.size(), 1u);
  EXPECT_EQ(r.answers[0].job, 1u);
  EXPECT_EQ(r.answers[0].why.reason, cluster::WaitReason::resources);
  EXPECT_EQ(r.answers[0].why.gpus_short, 2);
  EXPECT_EQ(r.answers[0].why.earliest, sim::SimTime::from(seconds(100)));
  EXPECT_THAT(r.answers[0].text, testing::HasSubstr("2 more GPUs"));
  EXPECT_EQ(ReplayOptions{}.ask_jobs, 10);
  EXPECT_EQ(ReplayOptions{}.seed, 1u);
}

TEST(TrialCases, a_part_of_a_fleet) {
  EXPECT_EQ(part_of(NodePool({60}), 0.95).gpus(), 57);
  EXPECT_EQ(part_of(NodePool({60}), 0.009).gpus(), 1);
  EXPECT_EQ(part_of(NodePool({60}), 0.001).gpus(), 1);
  const NodePool part = part_of(NodePool({8, 8, 8, 8}), 0.7);
  EXPECT_EQ(part.gpus_up(), 24);
  EXPECT_FALSE(part.is_up(3));
  EXPECT_TRUE(part.is_up(2));
  EXPECT_EQ(part_of(NodePool({8, 8, 8, 8}), 0.6).gpus_up(), 16);
  EXPECT_EQ(part_of(NodePool({8, 8, 8, 8}), 0.01).gpus_up(), 8);
  EXPECT_EQ(part_of(NodePool({8, 8}), 1).gpus_up(), 16);
}

// Jobs that never wait on a fleet that has room for all, each recorded with a wait of so much.
std::vector<JobRecord> without_rush(int count, double apart, const auto& wait) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < count; ++i) jobs.push_back(traced(apart * i, 10, 8, wait(i)));
  return jobs;
}

// All fit at once under every policy and share: the first of equals is taken.
TEST(TrialCases, of_equals_the_first_policy_and_all_of_the_fleet) {
  const auto jobs = without_rush(60, 20, [](int) { return 0.0; });
  const auto r = rewind(jobs, NodePool({80}),
                        {.policies = {BackfillVariant::fifo, BackfillVariant::easy},
                         .what_ifs = {{"too small", BackfillVariant::easy, NodePool({4})}}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->policy, BackfillVariant::fifo);
  EXPECT_EQ(r->share, 1);
  EXPECT_EQ(r->first.error, 0);
  EXPECT_EQ(r->first.jobs, 30);
  EXPECT_EQ(r->second.jobs, 30);
  EXPECT_EQ(r->second.recorded_s, 0);
  EXPECT_EQ(r->factor, 1);
  ASSERT_EQ(r->answers.size(), 1u);
  EXPECT_EQ(r->answers[0].simulated_s, 0) << "nobody could run";
}

// Nobody waits in the model, so each is given the start delay: the lower 5 % of the first half's
// waits of 0, 1, ... 400 s, 20 s. All within one day: drawn again it is the same day.
TEST(TrialCases, a_start_delay_and_the_factor_of_one_day) {
  const auto jobs = without_rush(802, 20, [](int i) { return i < 401 ? double(400 - i) : 30.0; });
  const auto r = rewind(jobs, NodePool({80}), {.policies = {BackfillVariant::fifo}, .shares = {1}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->start_delay_s, 20);
  EXPECT_DOUBLE_EQ(r->first.recorded_s, 200);
  EXPECT_DOUBLE_EQ(r->first.simulated_s, 20);
  // Off by |20 - w|: 20 x 21 / 2 below and 380 x 381 / 2 above, of 400 x 401 / 2.
  EXPECT_NEAR(r->first.error, (210.0 + 72'390) / 80'200, 1e-12);
  EXPECT_DOUBLE_EQ(r->second.recorded_s, 30);
  EXPECT_NEAR(r->second.error, 0.5 * 2 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(r->factor, 1.5);
  EXPECT_NEAR(r->factor_low, 1.5, 1e-12);
  EXPECT_NEAR(r->factor_high, 1.5, 1e-12);
}

TEST(TrialCases, a_rewind_without_wishes) {
  EXPECT_THAT(RewindOptions{}.shares, ElementsAre(1, 0.95, 0.9, 0.8, 0.7));
  const RewindResult none;
  EXPECT_EQ(none.share, 1);
  EXPECT_EQ(none.factor, 1);
  EXPECT_EQ(none.factor_low, 1);
  EXPECT_EQ(none.factor_high, 1);
  EXPECT_EQ(none.start_delay_s, 0);
  EXPECT_EQ(none.first.jobs, 0);
}

// Twenty of each half are enough, nineteen are not.
TEST(TrialCases, a_half_needs_twenty_recorded_waits) {
  for (const int without : {0, 1}) {
    auto jobs = without_rush(40, 20, [](int) { return 5.0; });
    if (without == 1) jobs[30].wait.reset();
    EXPECT_EQ(rewind(jobs, NodePool({80}), {.policies = {BackfillVariant::fifo}}).has_value(),
              without == 0);
  }
}

struct SlurmCase {
  sim::Kernel kernel;
  SimulatedSlurm slurm{kernel, {.nodes = 4}};
  void until(double s) { kernel.run(sim::SimTime::from(seconds(s))); }
  failure::JobView job() { return slurm.look()->jobs.at(0); }
};

TEST(SlurmClock, a_start_takes_a_tenth_and_an_end_three) {
  SlurmCase c;
  const std::string id = c.slurm.submit(1);
  c.until(0.099);
  EXPECT_EQ(c.job().phase, failure::JobPhase::starting);
  c.until(0.1);
  EXPECT_EQ(c.job().phase, failure::JobPhase::running);
  c.until(1);
  c.slurm.requeue_job(id);
  c.until(1.299);
  EXPECT_EQ(c.job().phase, failure::JobPhase::completing);
  EXPECT_EQ(c.job().restarts, 1);
  c.until(1.3);
  EXPECT_EQ(c.job().phase, failure::JobPhase::pending);
  EXPECT_TRUE(c.job().waits_for_time) << "before the scheduler has looked";
  EXPECT_NEAR((c.job().eligible - seconds(1'700'000'000)).base(), 122.3, 1e-6);
  EXPECT_THAT(c.job().nodes, IsEmpty());
  EXPECT_EQ(c.job().ended, Seconds());
  c.until(122.2);
  EXPECT_FALSE(c.slurm.is_running(id));
  c.until(122.6);
  EXPECT_TRUE(c.slurm.is_running(id));
}

// Started and not saved: the controller that is back at 2.5 s has forgotten the run, which is being
// killed until 4.5 s. A launch beside it fails and holds the job; at 4.5 s it is over.
TEST(SlurmClock, a_launch_beside_a_forgotten_run_fails) {
  SlurmCase c;
  const std::string id = c.slurm.submit(1);
  c.until(1.5);
  ASSERT_TRUE(c.slurm.is_running(id));
  c.slurm.kill_controller(seconds(1));
  c.until(1.6);
  EXPECT_FALSE(c.slurm.look());
  c.until(2.6);
  EXPECT_EQ(c.job().phase, failure::JobPhase::pending);
  EXPECT_TRUE(c.job().held && c.job().launch_failed);
  EXPECT_EQ(c.job().restarts, 1);
  EXPECT_NEAR((c.job().eligible - seconds(1'700'000'000)).base(), 2.5 + 121, 1e-6);
  ASSERT_EQ(c.slurm.runs(id).size(), 1u);
  EXPECT_NEAR((c.slurm.runs(id)[0].end - seconds(1'700'000'000)).base(), 2.5, 1e-6);
  const auto seen = c.slurm.look();
  for (const failure::NodeView& node : seen->nodes) {
    EXPECT_FALSE(node.silent || node.down) << node.name;
  }
  c.until(4.2);
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::unhold_job, .job = id}));
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::release_job, .job = id}));
  c.until(4.7);
  EXPECT_TRUE(c.slurm.is_running(id));
  EXPECT_EQ(c.job().restarts, 1);
  EXPECT_THAT(c.slurm.overlaps(), IsEmpty());
}

// A node that died while the controller was away is silent when it is back, and down a minute on.
TEST(SlurmClock, a_node_that_died_unseen_is_silent_and_then_down) {
  SlurmCase c;
  const std::string id = c.slurm.submit(1);
  c.until(5.2);  // saved as running
  c.slurm.kill_controller(seconds(1));
  c.slurm.fail_node("n1");
  c.until(6.3);
  const auto view = c.slurm.look();
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->nodes[0].silent && !view->nodes[0].down);
  EXPECT_FALSE(view->nodes[1].silent);
  EXPECT_EQ(c.job().phase, failure::JobPhase::running) << "as it was saved";
  c.until(66.1);
  EXPECT_FALSE(c.slurm.look()->nodes[0].down);
  c.until(66.3);
  EXPECT_TRUE(c.slurm.look()->nodes[0].down);
  EXPECT_FALSE(c.slurm.look()->nodes[0].silent);
  EXPECT_FALSE(c.slurm.look()->nodes[1].down);
  EXPECT_EQ(c.job().phase, failure::JobPhase::completing);
}

// Saved at 5 s as it completes on a node that is down: nobody has to answer for that.
TEST(SlurmClock, an_end_on_a_node_that_was_saved_as_down_goes_on) {
  SlurmCase c;
  (void)c.slurm.submit(1);
  c.until(4.9);
  c.slurm.fail_node("n1");
  c.until(5.1);
  c.slurm.kill_controller(seconds(1));
  c.until(6.2);
  EXPECT_EQ(c.job().phase, failure::JobPhase::completing);
  EXPECT_TRUE(c.slurm.look()->nodes[0].down);
  c.until(6.45);
  EXPECT_EQ(c.job().phase, failure::JobPhase::pending);
}

TEST(SlurmClock, a_node_that_was_fenced_does_not_answer_a_new_controller) {
  SlurmCase c;
  c.until(1);
  EXPECT_TRUE(c.slurm.act({.kind = failure::ActionKind::fence_node, .nodes = {"n2"}}));
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::under_way);
  c.until(1.99);
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::under_way);
  c.until(2);
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::off);
  c.slurm.kill_controller(seconds(1));
  c.until(3.1);
  EXPECT_TRUE(c.slurm.look()->nodes[1].silent);
  EXPECT_FALSE(c.slurm.look()->nodes[0].silent);
  EXPECT_EQ(c.slurm.look()->nodes[1].fence, failure::FenceState::off) << "not the controller's";
}

}  // namespace
}  // namespace orrery::rehearse
