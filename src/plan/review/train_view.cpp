#include "plan/review/train_view.h"

#include <algorithm>
#include <cmath>

namespace orrery::review {
namespace {

// Drains slow the steps that run at the same time differently from the time between drains.
double contention_loss(const TrainView& view) {
  double draining = 0;
  if (view.checkpoint && view.checkpoint->async && view.checkpoint->interval > Seconds(0)) {
    draining = std::min(1.0, view.checkpoint->drain.total / view.checkpoint->interval);
  }
  const double slower =
      view.contended.draining * draining + view.contended.feeding * (1 - draining);
  return slower / (1 + slower);
}

failure::EffectiveTimeInput times_of(const TrainView& view) {
  failure::EffectiveTimeInput in{.mtbf = view.failure.mtbf, .restart = view.failure.restart};
  if (view.checkpoint) {
    in.interval = view.checkpoint->interval;
    in.save_stall = view.checkpoint->stall.total;
    if (view.checkpoint->async) in.unsafe_window = view.checkpoint->drain.total;
  } else {
    // Without saves, a failure loses all work since the start of the run.
    in.interval = max(view.raw_time, Seconds(1));
  }
  return in;
}

// Returns the efficiency if failures are more or less frequent and restarts longer or shorter: the
// two deviations are independent and add in quadrature.
double efficiency_at(const failure::EffectiveTimeInput& in, double rate_factor,
                     double restart_factor) {
  const double middle = exact_efficiency(in);
  failure::EffectiveTimeInput struck = in;
  struck.mtbf = in.mtbf / rate_factor;
  failure::EffectiveTimeInput slow = in;
  slow.restart = in.restart * restart_factor;
  const double by_rate = middle - exact_efficiency(struck);
  const double by_restart = middle - exact_efficiency(slow);
  const double off = std::sqrt(by_rate * by_rate + by_restart * by_restart);
  return std::clamp(rate_factor >= 1 ? middle - off : middle + off, 0.0, 1.0);
}

facility::PhaseShares phases_of(const TrainView& view) {
  // Shares of the wall time: the productive share splits like the step, the rest saves or waits.
  const double busy = view.goodput;
  facility::PhaseShares p;
  p.matrix = busy * view.step.matrix_share;
  p.memory = busy * view.step.memory_share;
  p.communication = busy * view.step.exposed_share + view.contention * view.efficiency;
  // Lost work was computed like the rest; only its result is lost.
  p.matrix += view.shares.lost_work * view.step.matrix_share;
  p.checkpoint = view.shares.saving;
  return p;
}

void join(TrainView& view) {
  const double fed = view.feed.known ? view.feed.loader.utilisation : 1;
  view.contention = contention_loss(view);
  const failure::EffectiveTimeInput times = times_of(view);
  view.shares = time_shares(times);
  view.efficiency = exact_efficiency(times);
  const double rest =
      fed * (1 - view.contention) * (1 - view.failure.shortfall) / view.failure.slow;
  view.goodput = rest * view.efficiency;
  const jobs::FailurePlan& f = view.failure;
  view.goodput_low = rest * efficiency_at(times, std::max(1.0, f.rate_high), f.restart_factor);
  view.goodput_high =
      rest * efficiency_at(times, f.rate_low > 0 ? std::min(1.0, f.rate_low) : 1 / 1.000001,
                           1 / f.restart_factor);
  // Least goodput: a run below it makes no progress. A rate of 1e-30 and a time of 1e36 years would
  // only look like figures.
  constexpr double kGoodputLeast = 1e-6;
  if (view.goodput < kGoodputLeast) view.goodput = view.goodput_low = 0;
  view.units_per_s = view.raw_rate() * view.goodput;
  view.run_time = view.units_per_s > 0 ? Seconds(view.units / view.units_per_s) : Seconds(0);
  view.phases = phases_of(view);
}

}  // namespace

std::vector<TrainView> view_trains(const jobs::Jobs& jobs) {
  std::vector<TrainView> views;
  jobs::for_each_job<jobs::TrainJob>(jobs, [&](const jobs::TrainJob& job) {
    TrainView view{job};
    if (view.feasible()) join(view);
    views.push_back(std::move(view));
  });
  return views;
}

}  // namespace orrery::review
