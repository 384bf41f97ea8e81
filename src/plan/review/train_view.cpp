#include "plan/review/train_view.h"

#include <algorithm>
#include <cmath>

namespace orrery::review {
namespace {

// Drains and the time between them slow the steps beside them differently.
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
    // Nothing is saved, so a failure loses the whole run so far.
    in.interval = max(view.raw_time, Seconds(1));
  }
  return in;
}

// What is left where failures are more or less frequent and restarts longer or shorter: the two
// deviations in quadrature, since neither follows from the other.
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
  // Of the wall time: the productive share splits as the step does, the rest saves or waits.
  const double busy = view.goodput;
  facility::PhaseShares p;
  p.matrix = busy * view.step.matrix_share;
  p.memory = busy * view.step.memory_share;
  p.communication = busy * view.step.exposed_share + view.contention * view.efficiency;
  // Lost work was computed like the rest; only its result is gone.
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
  // Below this a run does not move, and never ends: a rate of 1e-30 and 1e36 years would only look
  // like figures.
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
