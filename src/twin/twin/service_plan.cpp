#include "twin/twin/service_plan.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/units.h"
#include "model/machine/serve_adapters.h"
#include "model/machine/serve_job.h"
#include "layers/serving/fleet.h"
#include "layers/serving/memory.h"

namespace orrery::twin {
namespace {

constexpr double kSizedLoad = 0.8;  // as the review sizes: the rest absorbs bursts
constexpr int kWidestTp = 8;
constexpr double kPlainError = 0.4;
constexpr double kLog100 = 4.605170185988092;  // p99 of M/M/1 in mean sojourns
// A service's load is no test's: its bursts and lengths move latencies more than kernels do
// (assumed, as in the review).
constexpr double kUnseenLoad = 0.28;

// Of the replicas that the design gives, those of a zone: by its share of the traffic, at least
// one.
double replicas_given(int all, double share) {
  return std::max(1.0, std::floor(all * share + 0.5 + 1e-9));
}

std::optional<double> replicas_given(const ServicePlan& p, double share) {
  if (p.zone != nullptr && p.zone->replicas) return *p.zone->replicas;
  const std::optional<int> all = design::most_replicas(*p.serve);
  return all ? std::optional(replicas_given(*all, share)) : std::nullopt;
}

// As many as the peak needs where none is given.
void count_replicas(ServicePlan& p, double share) {
  const double peak = std::ranges::max(p.rate_at);
  const double needed = std::max(1.0, std::ceil(peak / (p.capacity * kSizedLoad) - 1e-9));
  p.replicas = static_cast<int>(replicas_given(p, share).value_or(std::min(needed, 1e6)));
}

// What a replica carries within the objective and at all, and how many there are of which kind;
// empty, or why it cannot run.
std::string size_replicas(ServicePlan& p, const WindowAsk& ask, const serving::ServingCosts& costs,
                          double share) {
  const serving::RequestShape& request = ask.query.request;
  const serving::ServingTarget target = machine::target_of(*p.serve, request.output);
  const serving::ServingPoint most = capacity(ask.replica, request, {}, costs);
  p.most = most.requests.base();
  if (!p.serve->disaggregated) {
    const serving::ServingPoint within = capacity(ask.replica, request, target, costs);
    if (within.concurrency < 1) return "not even one request meets the objective on this split";
    p.capacity = within.requests.base();
    p.most = std::max(p.most, p.capacity);
    count_replicas(p, share);
    return {};
  }
  if (ask.query.accelerator->id == machine::kHostDevice) {
    return "prefill and decode apart on cores are not modelled";
  }
  const machine::ApartSize size = machine::apart_size(
      ask.replica, costs, request, target, ask.query.nic_rate * ask.query.split.devices(),
      {.peak = PerSecond(std::ranges::max(p.rate_at)),
       .prefill = p.serve->prefill_replicas,
       .load = kSizedLoad});
  if (!size.infeasible.empty()) return size.infeasible;
  p.capacity = p.most = size.per_replica().base();
  p.replicas = static_cast<int>(std::min(size.prefill + size.decode, 1e6));
  if (replicas_given(p, share)) count_replicas(p, share);
  p.prefill = static_cast<int>(size.prefill);
  p.replicas = std::max(p.replicas, p.prefill + 1);
  return {};
}

// The loads that an autoscaler leaves its replicas, and the hour that it has most to do in.
void follow_load(ServicePlan& p, WindowAsk& ask, const serving::ServingCosts& costs, double share) {
  const design::Autoscale& scale = *p.serve->autoscale;
  p.least = std::min(p.replicas, static_cast<int>(replicas_given(scale.min, share)));
  p.at_target = machine::rate_in_flight(ask.replica, ask.query.request, scale.target, costs).base();
  ServiceRise rise;
  ask.high = 0;
  for (std::size_t hour = 0; hour < p.rate_at.size(); ++hour) {
    const double each = p.rate_at[hour] / p.called_at(hour);
    ask.high = std::max(ask.high, each);
    const double next = p.rate_at[(hour + 1) % p.rate_at.size()];
    if (rise.replicas == 0 || next / p.rate_at[hour] > rise.after / rise.before) {
      rise = {.before = p.rate_at[hour], .after = next, .replicas = p.called_at(hour)};
    }
  }
  // Turns of talks do not step: their traffic grows with the talks that begin.
  if (rise.after > rise.before && p.serve->arrivals.visits() <= 1) ask.rise = rise;
}

void plan_transformer(ServicePlan& p, const machine::Machine& m, const machine::Fleet& fleet,
                      const catalog::ModelShape& model, double share) {
  WindowAsk ask{.serve = p.serve, .lengths = machine::lengths_of(*p.serve)};
  serving::RequestShape request = machine::request_of(m, *p.serve);
  machine::add_retrieval(request, m, *p.serve, fleet);
  if (const auto lookup = machine::retrieval_of(m, *p.serve, fleet)) ask.retrieval = lookup->law;
  ask.query = machine::serving_query(m.models(), *p.serve, model, fleet, request);
  const int widest = fleet.host ? 1 : std::min(kWidestTp, fleet.node.part.accelerators);
  const auto tp = p.serve->tp ? p.serve->tp : least_tp(m.models(), ask.query, widest);
  if (!tp) {
    p.infeasible = machine::adapter_fault(ask.query);
    if (p.feasible()) p.infeasible = "weights and one request do not fit a node's accelerators";
    return;
  }
  ask.query.split.tp = *tp;
  p.slots = static_cast<int>(ask.query.split.devices());
  p.beside = ask.query.slice ? ask.query.slice->each : 1;
  p.start = machine::replica_start(m, *p.serve, fleet, p.slots);
  auto replica = replica_of(m.models(), ask.query);
  if (!replica) {
    p.infeasible = replica.error().front().what;
    return;
  }
  ask.replica = std::move(*replica);
  const machine::Costs costs = serving_costs(m.models(), ask.query);
  machine::TalkAsk talks{.target = machine::target_of(*p.serve, ask.query.request.output),
                         .peak = PerSecond(std::ranges::max(p.rate_at)),
                         .load = kSizedLoad};
  if (!p.serve->autoscale) talks.replicas = replicas_given(p, share);
  settle_talks(ask.query.request, *p.serve, ask.replica, serving_source(costs), talks);
  ask.shared = ask.query.request.cached_share;
  machine::settle_prefixes(ask.query.request, *p.serve, ask.replica, serving_source(costs),
                           talks.target);
  p.infeasible = size_replicas(p, ask, serving_source(costs), share);
  if (!p.feasible()) return;
  p.error = math::hypot(serving_error(costs.device(), ask.query), kUnseenLoad);
  ask.replicas = p.replicas;
  ask.prefill = p.prefill;
  ask.low = std::ranges::min(p.rate_at) / p.replicas;
  ask.high = std::ranges::max(p.rate_at) / p.replicas;
  ask.most = p.most;
  ask.start = p.start;
  if (p.serve->autoscale) follow_load(p, ask, serving_source(costs), share);
  ask.kv = kv_room(m, *p.serve, fleet, ask.query, p.replicas);
  p.ask = std::move(ask);
}

// A closed form stands for more requests than have a sampling error.
constexpr double kWithoutSampling = 1e15;

// M/M/1: the sojourn is exponential with rate mu - lambda.
void plan_plain(ServicePlan& p, const machine::Machine& m, const machine::Fleet& fleet,
                double share) {
  const auto rate = machine::plain_rate(m, fleet);
  if (!p.serve->network || !rate || p.serve->network->forward <= Flops(0)) {
    p.infeasible =
        "a plain network needs `network.forward` and an accelerator with 16-bit products";
    return;
  }
  if (fleet.slice() != nullptr) p.beside = fleet.slice()->each;
  const double mu = 1 / (p.serve->network->forward / *rate).base();
  const auto& bound = p.serve->objective.latency_p99;
  p.capacity = bound ? mu - kLog100 / bound->base() : mu * 0.99;
  if (p.capacity <= 0) {
    p.infeasible = "one request takes too long for the objective on an idle accelerator";
    return;
  }
  count_replicas(p, share);
  if (p.serve->autoscale) {
    // M/M/1 has rho / (1 - rho) in flight.
    const double target = p.serve->autoscale->target;
    p.at_target = mu * target / (1 + target);
    p.least =
        std::min(p.replicas, static_cast<int>(replicas_given(p.serve->autoscale->min, share)));
  }
  p.error = kPlainError;
  p.stands_in = "its requests wait as M/M/1";
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

ServicePlan plan_of(const machine::Machine& m, const design::Workload& w, std::string label,
                    const machine::Fleet* fleet, const design::Zone* zone) {
  ServicePlan p{.workload = &w,
                .serve = &std::get<design::Serve>(w.task),
                .zone = zone,
                .label = std::move(label)};
  const double share = zone != nullptr ? zone->share : 1;
  if (fleet == nullptr) {
    p.infeasible = "no fleet to run on";
    return p;
  }
  p.fleet = m.index_of(*fleet);
  p.rate_at = machine::day_of_streams(machine::streams_into(m.design(), w), share);
  const catalog::ModelShape* model =
      p.serve->model.empty() ? nullptr : find_model(m.design(), m.catalog(), p.serve->model);
  if (model != nullptr) {
    plan_transformer(p, m, *fleet, *model, share);
  } else {
    p.start = machine::replica_start(m, *p.serve, *fleet, 1);
    plan_plain(p, m, *fleet, share);
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
  if (!serve->autoscale) return replicas;
  return machine::replicas_called({.min = least, .max = replicas}, rate_at[hour], at_target);
}

std::vector<ServicePlan> service_plans(const machine::Machine& m, const design::Workload& w,
                                       bool windows) {
  const auto& serve = std::get<design::Serve>(w.task);
  const std::string label = label_of(m.design(), w);
  std::vector<ServicePlan> plans;
  if (serve.zones.empty()) plans.push_back(plan_of(m, w, label, fleet_of(m.fleets, w), nullptr));
  for (const design::Zone& z : serve.zones) {
    plans.push_back(
        plan_of(m, w, label + " in " + z.site, machine::fleet_of_zone(m.fleets, z), &z));
  }
  if (!serve.zones.empty()) plan_failovers(m, plans);
  if (!windows) return plans;
  for (ServicePlan& p : plans) p.simulate(m.models());
  simulate_failovers(m, plans);
  return plans;
}

}  // namespace orrery::twin
