// What holds where nobody says otherwise: the defaults of rehearsals, replays and simulated
// schedulers.
#include <gtest/gtest.h>

#include <vector>

#include "study/rehearse/pod_replay.h"
#include "study/rehearse/rehearsal.h"
#include "study/rehearse/replay.h"
#include "study/rehearse/rewind.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {
namespace {

using Plain = std::vector<double>;

template <class... Values>
Plain plain(Values... values) {
  return {static_cast<double>(values)...};
}

TEST(Unsaid, of_pod_replay) {
  const PodReplayOptions pod_replay_options{};
  EXPECT_EQ(plain(pod_replay_options.load, pod_replay_options.seed), (Plain{1.3, 1}));
  EXPECT_EQ(pod_replay_options.rule, cluster::PodRule::fgd);
  const PodReplayResult pod_replay_result{};
  EXPECT_EQ(plain(pod_replay_result.pods, pod_replay_result.placed, pod_replay_result.turned_away,
                  pod_replay_result.allocated, pod_replay_result.fragmented),
            (Plain{0, 0, 0, 0, 0}));
}

TEST(Unsaid, of_rehearsal) {
  const RehearsalOptions rehearsal_options{};
  EXPECT_EQ(plain(rehearsal_options.nodes, rehearsal_options.spares, rehearsal_options.jobs,
                  rehearsal_options.job_nodes, rehearsal_options.faults,
                  rehearsal_options.has_fence, rehearsal_options.seed),
            (Plain{64, 0, 16, 2, 10, 0, 1}));
  EXPECT_EQ(rehearsal_options.length, hours(1));
  EXPECT_EQ(rehearsal_options.repair, minutes(10));
  const InjectedFault injected_fault{};
  EXPECT_EQ(injected_fault.kind, FaultKind::dies);
  const RehearsalResult rehearsal_result{};
  EXPECT_EQ(plain(rehearsal_result.is_complete), (Plain{0}));
}

TEST(Unsaid, of_replay) {
  const ReplayOptions replay_options{};
  EXPECT_EQ(plain(replay_options.seed, replay_options.ask_jobs), (Plain{1, 10}));
  const ReplayAnswer replay_answer{};
  EXPECT_EQ(plain(replay_answer.job), (Plain{0}));
  const ReplayWait replay_wait{};
  EXPECT_EQ(plain(replay_wait.mean_s, replay_wait.median_s, replay_wait.p90_s, replay_wait.p99_s,
                  replay_wait.max_s),
            (Plain{0, 0, 0, 0, 0}));
  const ReplayResult replay_result{};
  EXPECT_EQ(plain(replay_result.jobs, replay_result.rejected, replay_result.finished,
                  replay_result.node_failures, replay_result.stops, replay_result.events,
                  replay_result.slowdown, replay_result.productive, replay_result.lost,
                  replay_result.idle, replay_result.down, replay_result.waiting_when_asked),
            (Plain{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Unsaid, of_rewind) {
  const WhatIf what_if{};
  EXPECT_EQ(what_if.policy, cluster::BackfillVariant::easy);
  const RewindOptions rewind_options{};
  EXPECT_EQ(rewind_options.shares, (Plain{1, 0.95, 0.9, 0.8, 0.7}));
  const RewindHalf rewind_half{};
  EXPECT_EQ(
      plain(rewind_half.jobs, rewind_half.recorded_s, rewind_half.simulated_s, rewind_half.error),
      (Plain{0, 0, 0, 0}));
  const WhatIfAnswer what_if_answer{};
  EXPECT_EQ(plain(what_if_answer.simulated_s), (Plain{0}));
  const RewindResult rewind_result{};
  EXPECT_EQ(plain(rewind_result.share, rewind_result.start_delay_s, rewind_result.factor,
                  rewind_result.factor_low, rewind_result.factor_high),
            (Plain{1, 0, 1, 1, 1}));
  EXPECT_EQ(rewind_result.policy, cluster::BackfillVariant::fifo);
}

TEST(Unsaid, of_simulated_places) {
  const SimulatedCopy simulated_copy{};
  EXPECT_EQ(plain(simulated_copy.content, simulated_copy.complete, simulated_copy.stamp),
            (Plain{0, 0, 0}));
  const SimulatedItem simulated_item{};
  EXPECT_EQ(plain(simulated_item.step, simulated_item.milestone, simulated_item.held,
                  simulated_item.content),
            (Plain{0, 0, 0, 0}));
  const SimulatedRemoval simulated_removal{};
  EXPECT_EQ(plain(simulated_removal.was_good), (Plain{0}));
}

TEST(Unsaid, of_simulated_slurm) {
  const SimulatedOptions simulated_options{};
  EXPECT_EQ(plain(simulated_options.nodes), (Plain{8}));
  EXPECT_EQ(simulated_options.hold, seconds(121));
  EXPECT_EQ(simulated_options.completing, seconds(0.3));
  EXPECT_EQ(simulated_options.scheduling, seconds(0.5));
  EXPECT_EQ(simulated_options.starting, seconds(0.1));
  EXPECT_EQ(simulated_options.killing, seconds(2));
  EXPECT_EQ(simulated_options.fencing, seconds(1));
  EXPECT_EQ(simulated_options.save, seconds(5));
  EXPECT_EQ(simulated_options.timeout, seconds(60));
  EXPECT_EQ(simulated_options.epoch, seconds(1'700'000'000));
  const SimulatedSlurm::Run run{};
  EXPECT_EQ(plain(run.restarts), (Plain{0}));
}

}  // namespace
}  // namespace orrery::rehearse
