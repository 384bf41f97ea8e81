#include "twin/processes/service_plan.h"

#include <algorithm>
#include <cmath>

#include "core/base/constants.h"
#include "core/base/math.h"
#include "model/figures/assumptions.h"
#include "model/jobs/autoscale.h"

namespace orrery::processes {
namespace {

// Most replicas that a run simulates.
constexpr double kMostReplicas = 1e6;
// Number of requests that a closed form counts as: large enough to have no sampling error.
constexpr double kWithoutSampling = 1e15;

// Sets the loads that an autoscaler leaves its replicas, and the hour with the steepest rise.
void follow_load(const ServicePlan& p, WindowAsk& ask) {
  const auto& rate_at = p.job.day;
  ServiceRise rise;
  ask.high = 0;
  for (std::size_t hour = 0; hour < rate_at.size(); ++hour) {
    const double each = rate_at[hour] / p.called_at(hour);
    ask.high = std::max(ask.high, each);
    const double next = rate_at[(hour + 1) % rate_at.size()];
    if (rise.replicas == 0 || next / rate_at[hour] > rise.after / rise.before) {
      rise = {.before = rate_at[hour], .after = next, .replicas = p.called_at(hour)};
    }
  }
  // The load of conversations does not jump: their traffic grows as new conversations begin.
  if (rise.after > rise.before && p.job.serve->arrivals.visits() <= 1) ask.rise = rise;
}

void plan_windows(ServicePlan& p) {
  const jobs::ServeJob& job = p.job;
  p.slots = job.devices_per_replica;
  WindowAsk ask{.serve = job.serve,
                .query = job.query,
                .replica = job.replica,
                .lengths = job.lengths,
                .replicas = p.replicas,
                .prefill = p.prefill,
                .low = std::ranges::min(job.day) / p.replicas,
                .high = std::ranges::max(job.day) / p.replicas,
                .most = p.most,
                .start = job.start,
                .kv = job.kv,
                .shared = job.shared,
                .retrieval = job.retrieval};
  if (job.serve->autoscale) follow_load(p, ask);
  p.ask = std::move(ask);
}

// M/M/1: the sojourn time is exponential with rate mu - lambda.
void plan_plain(ServicePlan& p) {
  p.stands_in = "its requests wait as in M/M/1";
  const double mu = p.most;
  const auto& bound = p.job.serve->objective.latency_p99;
  for (const double load : {0.02, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99}) {
    LoadWindow w{.rate = load * mu, .busy = load, .stay = 1 / (mu - load * mu)};
    WindowPart part{.requests = kWithoutSampling, .good = 1};
    for (std::size_t i = 0; i < kLatencyPoints; ++i) {
      const double at = (static_cast<double>(i) + 0.5) / kLatencyPoints;
      part.whole[i] = -math::log(1 - at) / (mu - w.rate);
    }
    if (bound) part.good = 1 - math::exp(-(mu - w.rate) * bound->base());
    w.parts.fill(part);
    p.windows.levels.push_back(w);
  }
  p.most = p.windows.levels.back().rate;
}

ServicePlan plan_of(jobs::ServeJob job) {
  ServicePlan p{.job = std::move(job)};
  if (p.job.fleet != nullptr) p.fleet = p.job.fleet->index;
  if (!p.feasible()) return p;
  p.replicas = static_cast<int>(std::min(p.job.replicas, kMostReplicas));
  p.least = static_cast<int>(std::min(p.job.replicas_least, kMostReplicas));
  if (p.job.apart) p.prefill = static_cast<int>(std::min(p.job.apart->prefill, kMostReplicas));
  p.beside = p.job.slice ? p.job.slice->each : 1;
  p.capacity = p.job.capacity_per_replica.base();
  p.most = p.job.most_per_replica.base();
  if (p.job.model != nullptr) {
    plan_windows(p);
  } else {
    plan_plain(p);
  }
  return p;
}

}  // namespace

double ServicePlan::busy_at(double rate) const {
  const std::vector<LoadWindow>& levels = windows.levels;
  double low_rate = 0;
  double low = 0;
  for (const LoadWindow& w : levels) {
    if (rate <= w.rate) return low + (w.busy - low) * (rate - low_rate) / (w.rate - low_rate);
    low_rate = w.rate, low = w.busy;
  }
  return rate < most ? low + (1 - low) * (rate - low_rate) / (most - low_rate) : 1;
}

Seconds ServicePlan::stay_at(double rate) const {
  const std::vector<LoadWindow>& levels = windows.levels;
  const auto above = std::ranges::lower_bound(levels, rate, {}, &LoadWindow::rate);
  if (above == levels.end()) return Seconds(levels.empty() ? 0 : levels.back().stay);
  if (above == levels.begin()) return Seconds(above->stay);
  const LoadWindow& below = *std::prev(above);
  const double part = (rate - below.rate) / (above->rate - below.rate);
  return Seconds(below.stay + part * (above->stay - below.stay));
}

void ServicePlan::simulate(const machine::Models& models) {
  if (feasible() && ask.serve != nullptr) windows = simulate_windows(models, ask);
}

int ServicePlan::called_at(std::size_t hour) const {
  if (!job.target) return replicas;
  return jobs::replicas_called({.min = least, .max = replicas}, job.day[hour], job.target->base());
}

std::vector<ServicePlan> service_plans(std::vector<jobs::ServeJob> jobs, const machine::Machine& m,
                                       bool windows, const std::function<bool()>& stop) {
  std::vector<ServicePlan> plans;
  for (jobs::ServeJob& job : jobs) plans.push_back(plan_of(std::move(job)));
  for (ServicePlan& p : plans) p.ask.stop = stop;
  if (plans.front().job.in_zone() != nullptr) plan_failovers(plans);
  if (!windows) return plans;
  for (ServicePlan& p : plans) p.simulate(m.models());
  simulate_failovers(m, plans);
  return plans;
}

}  // namespace orrery::processes
