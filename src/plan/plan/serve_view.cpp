#include "plan/plan/serve_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/units.h"
#include "model/machine/serve_job.h"
#include "plan/plan/serve_sizing.h"
#include "layers/serving/disaggregated.h"
#include "core/workload/model_math.h"

namespace orrery::plan {
namespace {

// A service's load is no test's: its bursts and lengths move latencies more than kernels do
// (assumed).
constexpr double kUnseenLoad = 0.28;
// To which the load of a replica is found, as a share of it.
constexpr double kPointWidth = 1e-3;
// p99 of an M/M/1 queue is ln(100) mean sojourns.
constexpr double kLog100 = 4.605170185988092;
constexpr double kWholeRounding = 1e-9;  // what a whole number may be off by

std::string first_fault(const Diagnostics& faults) {
  return faults.empty() ? "it cannot be served" : faults.front().what;
}

void count_replicas(ServeView& v) {
  v.replicas_needed =
      std::max(1.0, serving::replicas_needed(v.peak, v.capacity_per_replica, kReplicaLoad));
  v.replicas = replicas_given(v).value_or(v.replicas_needed);
  v.devices = v.accelerators_for(v.replicas);
}

// Over the hours of a day, were they there at once.
struct Called {
  double mean = 0;
  double peak = 0;
};
Called replicas_called(const ServeView& v, PerSecond at_target) {
  design::Autoscale scale = *v.serve->autoscale;
  scale.min = static_cast<int>(replicas_here(v, scale.min));
  scale.max = static_cast<int>(replicas_here(v, scale.max));
  Called called;
  for (const double rate : v.day) {
    const double now = machine::replicas_called(scale, rate + v.guests.base(), at_target.base());
    called.mean += now / static_cast<double>(v.day.size());
    called.peak = std::max(called.peak, now);
  }
  return called;
}

// The point of a replica that carries its share of the peak: found by bisection over the requests
// that decode, since a replica serves more the more of them it holds.
serving::ServingPoint point_at(const serving::Replica& replica,
                               const serving::RequestShape& request, PerSecond per_replica,
                               double most, const serving::ServingCosts& costs) {
  double low = 0;
  double high = std::max(1.0, most);
  serving::ServingPoint best = steady_arrivals(replica, request, high, costs);
  while (high - low > kPointWidth * high) {
    const double middle = (low + high) / 2;
    const serving::ServingPoint p = steady_arrivals(replica, request, middle, costs);
    if (p.requests >= per_replica) {
      high = middle;
      best = p;
    } else {
      low = middle;
    }
  }
  return best;
}

// Prefill and decode on replicas of their own.
void fill_apart(ServeView& v, const serving::Replica& replica, const serving::ServingCosts& costs,
                const serving::ServingTarget& target, BytesPerSecond link) {
  const machine::ApartSize size = machine::apart_size(
      replica, costs, v.request, target, link,
      {.peak = v.peak, .prefill = v.serve->prefill_replicas, .load = kReplicaLoad});
  if (!size.infeasible.empty()) {
    v.infeasible = size.infeasible;
    return;
  }
  v.capacity_per_replica = size.per_replica();
  v.replicas_needed = size.decode + size.prefill;
  v.replicas = replicas_given(v).value_or(v.replicas_needed);
  v.devices = v.accelerators_for(v.replicas);
  const auto point = [&](double concurrency) {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = size.prefill},
                              {.replica = replica, .costs = costs, .replicas = size.decode},
                              v.request, concurrency, link);
  };
  serving::DisaggregatedPoint at = point(1);
  for (double c = 1; c < size.decode * size.running && at.requests < v.peak + v.guests; c *= 1.05) {
    at = point(c);
  }
  v.ttft = v.request.before + at.ttft;
  v.tpot = at.tpot;
  const Seconds fixed =
      at.prefill + at.transfer + replica.engine.first_token + replica.tuning.first_token;
  const double longer = std::max(1.0, v.request.input_p99 / v.request.input);
  const Seconds engine =
      fixed + max(Seconds(0), at.ttft - fixed) * kLog100 + at.prefill * (longer - 1);
  const Seconds late = engine - at.ttft;
  const Seconds before = v.request.before_p99 - v.request.before;
  const Seconds both(math::hypot(late.base(), before.base()));
  v.ttft_p99 = engine + v.request.before + (both - late);
  v.tpot_p99 = at.tpot * (1 + 2.33 / std::sqrt(std::max(1.0, at.decoding)));
  const double tokens = std::max(v.request.output, v.request.output_p99);
  v.latency_p99 = v.ttft_p99 + max(v.tpot_p99 * v.request.output, v.tpot * tokens);
  v.answer = v.ttft + v.tpot * (v.request.output - 1);
  v.device_power = at.decode_power;
  v.output_tokens_per_s = v.rate.base() * v.request.output;
}

void fill_point(ServeView& v, const serving::ServingPoint& p) {
  v.ttft = p.ttft;
  v.ttft_p99 = p.ttft_p99;
  v.tpot = p.tpot;
  v.tpot_p99 = p.tpot_p99;
  v.latency_p99 = p.whole_p99;
  v.answer = p.ttft + p.tpot * (v.request.output - 1);
  const serving::TaskCase task = machine::task_of(*v.serve, v.request, p);
  v.task = task_mean(task);
  v.task_p99 = task_p99(task);
  v.device_power = p.power;
  v.output_tokens_per_s = v.rate.base() * v.request.output;
}

// Whether whole requests, and whole tasks, end within their bounds.
bool ends_within(const ServeView& v, const serving::ServingPoint& p) {
  const design::Objective& o = v.serve->objective;
  return (!o.latency_p99 || p.whole_p99 <= *o.latency_p99) &&
         (!o.task_p99 || task_p99(machine::task_of(*v.serve, v.request, p)) <= *o.task_p99);
}

// The largest load up to `most` that ends within them; concurrency 0 where not even one request
// does.
serving::ServingPoint within_latency(const ServeView& v, const serving::Replica& replica,
                                     const serving::ServingPoint& most,
                                     const serving::ServingCosts& costs) {
  if (ends_within(v, most)) return most;
  serving::ServingPoint best;
  double low = 0;
  double high = most.concurrency;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    const serving::ServingPoint p = steady_arrivals(replica, v.request, middle, costs);
    const bool ends = ends_within(v, p);
    (ends ? low : high) = middle;
    if (ends) best = p;
  }
  return best;
}

// Memory is not all that can forbid a replica: an accelerator may lack the number format.
std::string why_no_split(const ServeView& v, const machine::Models& models,
                         const machine::ServingQuery& q, int most) {
  const auto alone = replica_of(models, q);
  const std::string code = alone ? "" : alone.error().front().code;
  if (code == "serving.format") {
    return fmt::format("{} for `precision: {}`", first_fault(alone.error()),
                       word_of(v.serve->precision));
  }
  if (!alone && (most == 1 || code != "serving.memory")) return first_fault(alone.error());
  return fmt::format("weights and one request do not fit {} accelerators of {}", most,
                     brief(v.fleet->accelerator()->memory));
}

void fill_transformer(ServeView& v, const machine::Models& models) {
  machine::ServingQuery q = serving_query(v, models);
  const int most = widest_split(v);
  const auto tp = v.serve->tp ? v.serve->tp : least_tp(models, q, most);
  if (!tp) {
    v.infeasible = why_no_split(v, models, q, most);
    return;
  }
  q.split.tp = *tp;
  v.devices_per_replica = q.split.devices();
  v.slice = q.slice;
  const auto replica = replica_of(models, q);
  if (!replica) {
    v.infeasible = first_fault(replica.error());
    return;
  }
  const machine::Costs device_costs = serving_costs(models, q);
  const serving::ServingCosts costs = serving_source(device_costs);
  const serving::ServingTarget target = machine::target_of(*v.serve, v.request.output);
  v.error = math::hypot(serving_error(device_costs.device(), q), kUnseenLoad);
  // Of cores a roofline is all there is.
  v.basis = v.fleet->host ? Basis::assumed : Basis::fitted;
  v.kv_tokens = replica->memory.kv_tokens;
  if (v.serve->disaggregated && v.fleet->host) {
    v.infeasible = "prefill and decode apart on cores are not modelled";
    return;
  }
  if (v.serve->disaggregated) {
    return fill_apart(v, *replica, costs, target, q.nic_rate * q.split.devices());
  }
  machine::TalkAsk talks{.target = target, .peak = v.peak, .load = kReplicaLoad};
  if (!v.serve->autoscale) talks.replicas = replicas_given(v);
  settle_talks(v.request, *v.serve, *replica, costs, talks);
  machine::settle_prefixes(v.request, *v.serve, *replica, costs, target);
  serving::ServingPoint most_served = capacity(*replica, v.request, target, costs);
  if (most_served.concurrency >= 1) {
    most_served = within_latency(v, *replica, most_served, costs);
  }
  if (most_served.concurrency < 1) {
    v.infeasible = "not even one request meets the objective on this split";
    return;
  }
  v.capacity_per_replica = most_served.requests;
  v.bound = most_served.bound;
  count_replicas(v);
  double standing = v.replicas;
  if (v.serve->autoscale) {
    const PerSecond at_target =
        machine::rate_in_flight(*replica, v.request, v.serve->autoscale->target, costs);
    const Called called = replicas_called(v, at_target);
    v.replicas_mean = called.mean;
    standing = called.peak;
  }
  const serving::ServingPoint at =
      point_at(*replica, v.request, (v.peak + v.guests) / standing, most_served.concurrency, costs);
  fill_point(v, at);
  v.adapters = machine::adapter_view(*replica, at, v.request);
}

void fill_plain(ServeView& v, const machine::Machine& m) {
  const auto rate = machine::plain_rate(m, *v.fleet);
  if (!v.serve->network || !rate || v.serve->network->forward <= Flops(0)) {
    v.infeasible =
        "a plain network needs `network.forward` and an accelerator with 16-bit products";
    return;
  }
  const Seconds service = v.serve->network->forward / *rate;
  PerSecond within = 1.0 / service;
  if (v.serve->objective.latency_p99) {
    // M/M/1: p99 = ln 100 / (mu - lambda), so lambda = mu - ln 100 / bound.
    within = PerSecond(
        std::max(0.0, 1.0 / service.base() - kLog100 / v.serve->objective.latency_p99->base()));
  }
  if (within <= PerSecond(0)) {
    v.infeasible = fmt::format("one request takes {} on an idle {}, too long for the objective",
                               brief(service), v.fleet->device()->name);
    return;
  }
  v.capacity_per_replica = within;
  if (v.fleet->slice() != nullptr) v.slice = *v.fleet->slice();
  count_replicas(v);
  const double left = 1.0 / service.base() - (v.peak + v.guests).base() / v.replicas;
  v.latency_p99 = left > 0 ? Seconds(kLog100 / left) : years(1);
  if (v.serve->autoscale) {
    // M/M/1 has rho / (1 - rho) in flight.
    const double target = v.serve->autoscale->target;
    v.replicas_mean = replicas_called(v, target / (1 + target) / service).mean;
  }
  v.error = 0.4;
  v.basis = Basis::assumed;
  v.reference = "docs/models/plain-network.md";
}

void fill(ServeView& v, const machine::Machine& m) {
  if (v.fleet == nullptr) {
    v.infeasible = "no fleet to run on";
    return;
  }
  v.request = machine::request_of(m, *v.serve);
  machine::add_retrieval(v.request, m, *v.serve, *v.fleet);
  v.devices_there = v.fleet->devices();
  if (v.workload->terms.nodes && v.serve->zones.empty()) {
    v.devices_there =
        std::min(v.devices_there, *v.workload->terms.nodes * machine::units_per_node(*v.fleet));
  }
  if (v.model) {
    fill_transformer(v, m.models());
  } else {
    fill_plain(v, m);
  }
  if (v.feasible()) v.availability = v.replicas_up = availability_with(v, v.replicas, m);
}

// The figures of an equal service, told of the design at hand.
ServeView moved_to(const ServeView& here, ServeView earlier) {
  earlier.workload = here.workload;
  earlier.serve = here.serve;
  earlier.path = here.path;
  earlier.model = here.model;
  return earlier;
}

}  // namespace

double ServeView::accelerators_for(double of_replicas) const {
  if (!slice) return of_replicas * devices_per_replica;
  return std::ceil(of_replicas / slice->each - kWholeRounding);
}

double ServeView::replicas_on(double accelerators) const {
  if (slice) return std::floor(accelerators + kWholeRounding) * slice->each;
  return std::floor(accelerators / devices_per_replica + kWholeRounding);
}

std::vector<ServeView> view_serves(const machine::Machine& m,
                                   const std::vector<ServeView>* earlier) {
  std::vector<ServeView> views;
  const design::Design& design = m.design();
  for (const design::Workload& w : design.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr) continue;
    ServeView whole{.workload = &w, .serve = serve, .label = label_of(design, w)};
    whole.path = machine::path_of(design, w);
    whole.model = serve->model.empty() ? nullptr : find_model(design, m.catalog(), serve->model);
    const auto add = [&](std::string label, const machine::Fleet* fleet, double share,
                         std::size_t zone = 0) {
      ServeView v = earlier ? moved_to(whole, (*earlier)[views.size()]) : whole;
      v.label = std::move(label);
      v.fleet = fleet;
      v.zone = zone;
      if (!earlier) {
        v.share = share;
        const auto streams = machine::streams_into(design, w);
        for (const machine::RequestStream& s : streams) {
          v.rate += s.rate * share;
          v.peak += s.rate * share * s.peak;
        }
        v.day = machine::day_of_streams(streams, share);
        fill(v, m);
      }
      views.push_back(std::move(v));
    };
    if (serve->zones.empty()) add(whole.label, fleet_of(m.fleets, w), 1);
    for (const design::Zone& z : serve->zones) {
      // Zones of one site are told apart by their fleets.
      const bool alone = std::ranges::count(serve->zones, z.site, &design::Zone::site) == 1;
      add(whole.label + " in " + z.site + (alone || z.fleet.empty() ? "" : ", " + z.fleet),
          machine::fleet_of_zone(m.fleets, z), z.share,
          static_cast<std::size_t>(&z - serve->zones.data()));
    }
  }
  if (!earlier) view_failovers(views, m);
  return views;
}

ServeView with_guests(ServeView view, PerSecond guests, const machine::Machine& m) {
  view.guests = guests;
  fill(view, m);
  return view;
}

}  // namespace orrery::plan
