#include "plan/train_view.h"

#include <algorithm>

#include "fabric/collective_model.h"
#include "workload/model_math.h"

namespace orrery::plan {
namespace {

// Of the compute network, per host: what the loaders read all the time, and what a drain adds.
double contention_loss(const TrainView& view, const machine::Machine& m) {
  if (!m.design().fabric.storage.converged || view.hosts == 0) return 0;
  const BytesPerSecond wire = m.networks.compute.per_node();
  if (wire <= BytesPerSecond(0)) return 0;
  const BytesPerSecond feed = view.feed.wanted / view.hosts;
  const double while_feeding = 1 / fabric::free_share({.capacity = wire, .storage = feed}) - 1;
  double draining = 0;
  double while_draining = while_feeding;
  if (view.checkpoint && view.checkpoint->async && view.checkpoint->interval > Seconds(0)) {
    const CheckpointView& k = *view.checkpoint;
    const BytesPerSecond burst = k.load.busiest_node / k.drain.total;
    draining = std::min(1.0, k.drain.total / k.interval);
    while_draining = 1 / fabric::free_share({.capacity = wire, .storage = feed + burst}) - 1;
  }
  const double slower = view.step.exposed_network_share *
                        (while_draining * draining + while_feeding * (1 - draining));
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
    in.interval = max(view.run_time, Seconds(1));
  }
  return in;
}

double efficiency_at(failure::EffectiveTimeInput in, double rate_factor) {
  in.mtbf = in.mtbf / rate_factor;
  return exact_efficiency(in);
}

double units_of_run(const TrainView& view) {
  const design::Train& t = *view.train;
  if (view.model) return t.tokens.value_or(0);
  if (t.samples) return *t.samples;
  return t.dataset.samples.value_or(0) * t.dataset.epochs;
}

facility::PhaseShares phases_of(const TrainView& view) {
  // Of the wall time: the productive share splits as the step does, the rest saves or waits.
  const double busy = view.goodput;
  facility::PhaseShares p;
  p.matrix = busy * view.step.matrix_share;
  p.memory = busy * view.step.memory_share;
  p.communication = busy * view.step.exposed_share + view.contention * view.efficiency;
  // Lost work was computed like the rest; only its result is gone.
  p.matrix += view.failure.shares.lost_work * view.step.matrix_share;
  p.checkpoint = view.failure.shares.saving;
  return p;
}

void copy_step(const TrainView& from, TrainView& to) {
  to.step = from.step;
  to.infeasible = from.infeasible;
  to.accelerators = from.accelerators;
  to.hosts = from.hosts;
}

void join(TrainView& view, const machine::Machine& m) {
  fill_feed(view, m);
  const double fed = view.feed.known ? view.feed.loader.utilisation : 1;
  view.units = units_of_run(view);
  const double raw_rate = view.step.units_per_step / view.step.step.base();
  view.run_time = raw_rate > 0 ? Seconds(view.units / raw_rate) : Seconds(0);
  fill_failure(view, m);
  fill_checkpoint(view, m);
  view.contention = contention_loss(view, m);
  const failure::EffectiveTimeInput times = times_of(view);
  view.failure.shares = time_shares(times);
  view.efficiency = exact_efficiency(times);
  const double rest = fed * (1 - view.contention) * (1 - view.failure.shortfall);
  view.goodput = rest * view.efficiency;
  view.goodput_low = rest * efficiency_at(times, std::max(1.0, view.failure.rate_high));
  view.goodput_high =
      rest *
      efficiency_at(times, view.failure.rate_low > 0 ? std::min(1.0, view.failure.rate_low) : 1);
  view.units_per_s = raw_rate * view.goodput;
  view.run_time = view.units_per_s > 0 ? Seconds(view.units / view.units_per_s) : Seconds(0);
  view.phases = phases_of(view);
}

}  // namespace

std::vector<TrainView> view_trains(const machine::Machine& m,
                                   const std::vector<TrainView>* earlier) {
  std::vector<TrainView> views;
  for (const design::Workload& w : m.design().workloads) {
    const auto* train = std::get_if<design::Train>(&w.task);
    if (train == nullptr) continue;
    TrainView view{.workload = &w, .train = train, .label = label_of(m.design(), w)};
    view.path = machine::path_of(m.design(), w);
    view.fleet = fleet_of(m.fleets, w);
    view.model = train->model.empty() ? nullptr : find_model(m.design(), m.catalog(), train->model);
    view.parameters = view.model       ? workload::count_parameters(*view.model).total
                      : train->network ? train->network->params
                                       : 0;
    if (view.fleet == nullptr) {
      view.infeasible = "no fleet to run on";
    } else if (earlier != nullptr) {
      copy_step((*earlier)[views.size()], view);
    } else {
      fill_step(view, m);
    }
    if (view.feasible()) join(view, m);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace orrery::plan
