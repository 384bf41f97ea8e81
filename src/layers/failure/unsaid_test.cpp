// What holds where nobody says otherwise: the defaults of rates, detectors and recovery.
#include <gtest/gtest.h>

#include <vector>

#include "layers/failure/causes.h"
#include "layers/failure/effective_time.h"
#include "layers/failure/interval.h"
#include "layers/failure/lemon.h"
#include "layers/failure/rates.h"
#include "layers/failure/recovery.h"
#include "layers/failure/recovery_desk.h"
#include "layers/failure/recovery_memory.h"
#include "layers/failure/save_cycle.h"
#include "layers/failure/setbacks.h"
#include "layers/failure/spares.h"
#include "layers/failure/straggler.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

using Plain = std::vector<double>;

template <class... Values>
Plain plain(Values... values) {
  return {static_cast<double>(values)...};
}

TEST(Unsaid, of_causes) {
  const FaultCause fault_cause{};
  EXPECT_EQ(plain(fault_cause.share, fault_cause.keeps_disk), (Plain{0, 1}));
  EXPECT_EQ(fault_cause.group, FaultGroup::accelerator);
  EXPECT_EQ(fault_cause.scope, FaultScope::host);
  EXPECT_EQ(fault_cause.sight, FaultSight::health);
}

TEST(Unsaid, of_effective_time) {
  const TimeShares time_shares{};
  EXPECT_EQ(plain(time_shares.productive, time_shares.saving, time_shares.lost_work,
                  time_shares.restarting),
            (Plain{0, 0, 0, 0}));
}

TEST(Unsaid, of_interval) {
  const IntervalChoice interval_choice{};
  EXPECT_EQ(plain(interval_choice.efficiency), (Plain{0}));
  EXPECT_EQ(interval_choice.limit, IntervalLimit::optimum);
}

TEST(Unsaid, of_lemon) {
  const FadingCount fading_count{};
  EXPECT_EQ(plain(fading_count.weight), (Plain{0}));
  const LemonPrior lemon_prior{};
  EXPECT_EQ(plain(lemon_prior.rate_failures, lemon_prior.odds_bound), (Plain{2, 10}));
  EXPECT_EQ(plain(lemon_prior.mix.share, lemon_prior.mix.multiplier), (Plain{0.015, 10}));
  EXPECT_EQ(lemon_prior.rate, per_1000_node_days(6.5));
  EXPECT_EQ(lemon_prior.memory, days(30));
  const LemonEvidence lemon_evidence{};
  EXPECT_EQ(
      plain(lemon_evidence.node_weight, lemon_evidence.other_weight, lemon_evidence.other_nodes),
      (Plain{0, 0, 0}));
}

TEST(Unsaid, of_rates) {
  const NodeFailureRate node_failure_rate{};
  EXPECT_EQ(plain(node_failure_rate.gpus_per_node, node_failure_rate.nodes,
                  node_failure_rate.interruptions),
            (Plain{8, 1, 0}));
  const PublishedRate published_rate{};
  EXPECT_EQ(plain(published_rate.factor, published_rate.fleets, published_rate.apart),
            (Plain{1, 0, 1}));
  const LemonMix lemon_mix{};
  EXPECT_EQ(plain(lemon_mix.share, lemon_mix.multiplier), (Plain{0, 1}));
  const Weibull weibull{};
  EXPECT_EQ(plain(weibull.shape), (Plain{1}));
}

TEST(Unsaid, of_recovery) {
  const JobView job_view{};
  EXPECT_EQ(plain(job_view.restarts, job_view.requeueable, job_view.held, job_view.launch_failed,
                  job_view.waits_for_time),
            (Plain{0, 1, 0, 0, 0}));
  EXPECT_EQ(job_view.phase, JobPhase::pending);
  const NodeView node_view{};
  EXPECT_EQ(
      plain(node_view.down, node_view.silent, node_view.drained, node_view.broken, node_view.spare),
      (Plain{0, 0, 0, 0, 0}));
  EXPECT_EQ(node_view.fence, FenceState::none);
  const ClusterLook cluster_look{};
  EXPECT_EQ(plain(cluster_look.well), (Plain{0}));
  const RecoveryPolicy recovery_policy{};
  EXPECT_EQ(
      plain(recovery_policy.out_share_max, recovery_policy.fence, recovery_policy.avoid_share_max,
            recovery_policy.crash_loop, recovery_policy.losses_max),
      (Plain{0.1, 0, 0.25, 4, 50}));
  EXPECT_EQ(recovery_policy.silence, seconds(10));
  EXPECT_EQ(recovery_policy.hold_max, seconds(300));
  EXPECT_EQ(recovery_policy.blame, seconds(60));
  EXPECT_EQ(recovery_policy.crash_run, minutes(10));
  EXPECT_EQ(recovery_policy.rollback, seconds(30));
  EXPECT_EQ(recovery_policy.registering, seconds(3));
  EXPECT_EQ(recovery_policy.settle, seconds(1));
  EXPECT_EQ(recovery_policy.settle_max, seconds(60));
  const RecoveryAction recovery_action{};
  EXPECT_EQ(recovery_action.kind, ActionKind::alert);
}

TEST(Unsaid, of_recovery_desk) {
  const RecoveryDesk::Call call{};
  EXPECT_EQ(plain(call.is_released), (Plain{1}));
}

TEST(Unsaid, of_recovery_memory) {
  const RecoveryEvent recovery_event{};
  EXPECT_EQ(plain(recovery_event.restarts, recovery_event.weight, recovery_event.good),
            (Plain{0, 0, 0}));
  EXPECT_EQ(recovery_event.kind, RecoveryEventKind::watch_began);
  const NodeMemory node_memory{};
  EXPECT_EQ(plain(node_memory.out, node_memory.wants_drain, node_memory.lemon, node_memory.fenced,
                  node_memory.out_shown, node_memory.drain_shown, node_memory.failures),
            (Plain{0, 0, 0, 0, 0, 0, 0}));
  const JobLoss job_loss{};
  EXPECT_EQ(plain(job_loss.restarts), (Plain{0}));
  const JobMemory job_memory{};
  EXPECT_EQ(
      plain(job_memory.restarts, job_memory.losses_total, job_memory.blamed, job_memory.held_seen),
      (Plain{-1, 0, 0, 0}));
  const Attempt attempt{};
  EXPECT_EQ(plain(attempt.count, attempt.good), (Plain{0, 0}));
}

TEST(Unsaid, of_save_cycle) {
  const SaveCycle save_cycle{};
  EXPECT_EQ(plain(save_cycle.interval_ns, save_cycle.stall_ns, save_cycle.drain_ns,
                  save_cycle.local_ns, save_cycle.speed, save_cycle.drain_speed),
            (Plain{0, 0, 0, 0, 1, 1}));
  const Progress progress{};
  EXPECT_EQ(plain(progress.steps_ns, progress.stall_ns, progress.work_ns, progress.saves,
                  progress.safe_work_ns, progress.local_work_ns),
            (Plain{0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, of_setbacks) {
  const Setback setback{};
  EXPECT_EQ(plain(setback.from_ns, setback.to_ns, setback.share, setback.cause),
            (Plain{0, 0, 0, 0}));
}

TEST(Unsaid, of_spares) {
  const SpareProblem spare_problem{};
  EXPECT_EQ(plain(spare_problem.nodes, spare_problem.shortfall), (Plain{0, 0.01}));
  const Spares spares{};
  EXPECT_EQ(plain(spares.count, spares.mean_in_repair, spares.shortfall), (Plain{0, 0, 0}));
  const RepairPipeline repair_pipeline{};
  EXPECT_EQ(plain(repair_pipeline.hands_share), (Plain{0.2}));
  EXPECT_EQ(repair_pipeline.reset, minutes(30));
  EXPECT_EQ(repair_pipeline.hands, days(1));
}

TEST(Unsaid, of_straggler) {
  const StepSpread step_spread{};
  EXPECT_EQ(plain(step_spread.ranks, step_spread.deviation, step_spread.slow_share,
                  step_spread.slow_factor),
            (Plain{1, 0, 0, 1}));
}

TEST(Unsaid, of_straggler_detector) {
  const RankPlace rank_place{};
  EXPECT_EQ(plain(rank_place.rank), (Plain{0}));
  const StragglerTest straggler_test{};
  EXPECT_EQ(plain(straggler_test.false_positives, straggler_test.slow_min, straggler_test.spike_min,
                  straggler_test.steps_min),
            (Plain{0.01, 0.02, 0.1, 5}));
  const Straggler straggler{};
  EXPECT_EQ(plain(straggler.excess, straggler.step_share, straggler.confidence), (Plain{0, 1, 0}));
  EXPECT_EQ(straggler.pattern, SlowPattern::steady);
  EXPECT_EQ(straggler.layer, SlowLayer::gpu_clock);
  const StragglerReport straggler_report{};
  EXPECT_EQ(plain(straggler_report.ranks, straggler_report.steps, straggler_report.steps_effective,
                  straggler_report.step_cost),
            (Plain{0, 0, 0, 0}));
}

}  // namespace
}  // namespace orrery::failure
