#include "plan/serve_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/units.h"
#include "machine/serve_job.h"
#include "plan/serve_sizing.h"
#include "serving/disaggregated.h"
#include "workload/model_math.h"

namespace orrery::plan {
namespace {

// A plain network on an accelerator, of the dense peak: assumed, as in plain_step.h.
constexpr double kPlainEfficiency = 0.35;
// A service's load is no test's: its bursts and lengths move latencies more than kernels do
// (assumed).
constexpr double kUnseenLoad = 0.28;
// p99 of an M/M/1 queue is ln(100) mean sojourns.
constexpr double kLog100 = 4.605170185988092;

// Guesses of a draft model: three a step, of which 2.3 tokens come out with the one that is sure
// (published acceptance of small drafts, 0.6 to 0.7 a guess). The draft's own steps cost their
// share of the model's weights.
constexpr double kDrafted = 3;
constexpr double kAccepted = 2.3;

std::string first_fault(const Diagnostics& faults) {
  return faults.empty() ? "it cannot be served" : faults.front().what;
}

void count_replicas(ServeView& v) {
  v.replicas_needed =
      std::max(1.0, serving::replicas_needed(v.peak, v.capacity_per_replica, kReplicaLoad));
  v.replicas = v.serve->replicas ? replicas_here(v, *v.serve->replicas) : v.replicas_needed;
  v.devices = v.replicas * v.devices_per_replica;
}

// The point of a replica that carries its share of the peak: found by bisection over concurrency,
// since a closed loop serves more the more requests it holds.
serving::ServingPoint point_at(const serving::Replica& replica,
                               const serving::RequestShape& request, PerSecond per_replica,
                               double most, const serving::ServingCosts& costs) {
  double low = 0;
  double high = std::max(1.0, most);
  serving::ServingPoint best = closed_loop(replica, request, high, costs);
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    const serving::ServingPoint p = closed_loop(replica, request, middle, costs);
    if (p.requests >= per_replica) {
      high = middle;
      best = p;
    } else {
      low = middle;
    }
  }
  return best;
}

void add_draft(ServeView& v, const machine::Machine& m) {
  if (v.serve->draft_model.empty() || v.model == nullptr) return;
  const catalog::ModelShape* draft = find_model(m.design(), m.catalog(), v.serve->draft_model);
  if (draft == nullptr) return;
  const double share =
      workload::count_parameters(*draft).active / workload::count_parameters(*v.model).active;
  v.request.checked_per_step = 1 + kDrafted;
  v.request.accepted_per_step = kAccepted / (1 + kDrafted * share);
}

// Prompts that enter whole take as many tokens of a step as they have.
void set_limits(machine::ServingQuery& q, const ServeView& v, const machine::Models& models) {
  const serving::Engine* engine = find_engine(models.engines, q.engine);
  if (v.serve->chunked_prefill || engine == nullptr) return;
  serving::EngineLimits limits = default_limits(*engine, q.accelerator->memory);
  limits.chunked_prefill = false;
  limits.token_budget = std::max(limits.token_budget, v.request.input);
  q.limits = limits;
}

// Prefill and decode on replicas of their own: as many of each as the peak needs at 80 % of what it
// can, or the prefill replicas that the file gives.
void fill_apart(ServeView& v, const serving::Replica& replica, const serving::ServingCosts& costs,
                const serving::ServingTarget& target, BytesPerSecond link) {
  const auto point = [&](double prefill, double decode, double concurrency) {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = prefill},
                              {.replica = replica, .costs = costs, .replicas = decode}, v.request,
                              concurrency, link);
  };
  const double in_cache = replica.memory.requests(v.request.input + v.request.output / 2);
  double running = std::floor(std::min(in_cache, replica.limits.max_sequences));
  const auto tokens = [&](double b) { return point(1e6, 1, b).tpot; };
  while (running > 1 && target.tpot_p99 > Seconds(0) && tokens(running) > target.tpot_p99) {
    running = std::floor(running * 0.9);
  }
  const serving::DisaggregatedPoint full = point(1e6, 1, std::max(1.0, running));
  const double decode_rate = full.requests.base();
  const double prefill_rate = replica.split.attention_dp / full.prefill.base();
  const double peak = v.peak.base();
  if (!std::isfinite(decode_rate) || !(decode_rate > 0) || !(prefill_rate > 0)) {
    v.infeasible = "a step of this split never ends: its devices share no link that is known";
    return;
  }
  const double decodes = std::max(1.0, std::ceil(peak / (decode_rate * kReplicaLoad)));
  const double prefills = v.serve->prefill_replicas
                              ? *v.serve->prefill_replicas
                              : std::max(1.0, std::ceil(peak / (prefill_rate * kReplicaLoad)));
  if (prefills * prefill_rate <= peak) {
    v.infeasible = fmt::format("{:.0f} prefill replicas take {:.1f} prompts a second, {:.1f} come",
                               prefills, prefills * prefill_rate, peak);
    return;
  }
  v.capacity_per_replica =
      PerSecond(std::min(decodes * decode_rate, prefills * prefill_rate) / (decodes + prefills));
  v.replicas_needed = decodes + prefills;
  v.replicas = v.serve->replicas ? replicas_here(v, *v.serve->replicas) : v.replicas_needed;
  v.devices = v.replicas * v.devices_per_replica;
  serving::DisaggregatedPoint at = point(prefills, decodes, 1);
  for (double c = 1; c < decodes * running && at.requests.base() < peak; c *= 1.05) {
    at = point(prefills, decodes, c);
  }
  v.ttft = at.ttft;
  v.tpot = at.tpot;
  const Seconds fixed =
      at.prefill + at.transfer + replica.engine.first_token + replica.tuning.first_token;
  v.ttft_p99 = fixed + max(Seconds(0), at.ttft - fixed) * kLog100;
  v.tpot_p99 = at.tpot * (1 + 2.33 / std::sqrt(std::max(1.0, at.decoding)));
  v.latency_p99 = v.ttft_p99 + v.tpot_p99 * v.request.output;
  v.device_power = at.decode_power;
  v.output_tokens_per_s = v.rate.base() * v.request.output;
}

void fill_point(ServeView& v, const serving::ServingPoint& p) {
  v.ttft = p.ttft;
  v.ttft_p99 = p.ttft_p99;
  v.tpot = p.tpot;
  v.tpot_p99 = p.tpot_p99;
  v.latency_p99 = v.ttft_p99 + v.tpot_p99 * v.request.output;
  v.device_power = p.power;
  v.output_tokens_per_s = v.rate.base() * v.request.output;
}

Seconds whole_request(const serving::ServingPoint& p, const serving::RequestShape& request) {
  return p.ttft_p99 + p.tpot_p99 * request.output;
}

// The largest load up to `most` whose whole requests end within the bound; concurrency 0 where not
// even one does.
serving::ServingPoint within_latency(const serving::Replica& replica,
                                     const serving::RequestShape& request, Seconds bound,
                                     const serving::ServingPoint& most,
                                     const serving::ServingCosts& costs) {
  if (whole_request(most, request) <= bound) return most;
  serving::ServingPoint best;
  double low = 0;
  double high = most.concurrency;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    const serving::ServingPoint p = closed_loop(replica, request, middle, costs);
    const bool ends = whole_request(p, request) <= bound;
    (ends ? low : high) = middle;
    if (ends) best = p;
  }
  return best;
}

// Memory is not all that can forbid a replica: an accelerator may lack the number format. Weights
// narrower than the products that they enter are not modelled.
std::string why_no_split(const ServeView& v, const machine::Models& models,
                         const machine::ServingQuery& q, int most) {
  const auto alone = replica_of(models, q);
  const std::string code = alone ? "" : alone.error().front().code;
  if (code == "serving.format") {
    return fmt::format("{} for `precision: {}`", first_fault(alone.error()),
                       word_of(v.serve->precision));
  }
  if (!alone && code != "serving.memory") return first_fault(alone.error());
  return fmt::format("weights and one request do not fit {} accelerators of {}", most,
                     brief(v.fleet->accelerator()->memory));
}

void fill_transformer(ServeView& v, const machine::Models& models) {
  machine::ServingQuery q = serving_query(v);
  set_limits(q, v, models);
  const int most = widest_split(v);
  const auto tp = v.serve->tp ? v.serve->tp : least_tp(models, q, most);
  if (!tp) {
    v.infeasible = why_no_split(v, models, q, most);
    return;
  }
  q.split.tp = *tp;
  v.devices_per_replica = q.split.devices();
  const auto replica = replica_of(models, q);
  if (!replica) {
    v.infeasible = first_fault(replica.error());
    return;
  }
  const machine::Costs device_costs = serving_costs(models, q);
  const serving::ServingCosts costs = serving_source(device_costs);
  serving::ServingTarget target;
  if (v.serve->objective.ttft_p99) target.ttft_p99 = *v.serve->objective.ttft_p99;
  if (v.serve->objective.tpot_p99) target.tpot_p99 = *v.serve->objective.tpot_p99;
  const std::optional<Seconds>& whole = v.serve->objective.latency_p99;
  if (whole) {
    // No token may take longer than its share of the whole.
    const Seconds each = *whole / std::max(1.0, v.request.output);
    target.tpot_p99 = target.tpot_p99 > Seconds(0) ? min(target.tpot_p99, each) : each;
  }
  v.error = math::hypot(serving_error(device_costs.device(), q), kUnseenLoad);
  v.basis = Basis::fitted;
  v.kv_tokens = replica->memory.kv_tokens;
  if (v.serve->disaggregated) {
    return fill_apart(v, *replica, costs, target, q.nic_rate * q.split.devices());
  }
  serving::ServingPoint most_served = capacity(*replica, v.request, target, costs);
  if (whole && most_served.concurrency >= 1) {
    most_served = within_latency(*replica, v.request, *whole, most_served, costs);
  }
  if (most_served.concurrency < 1) {
    v.infeasible = "not even one request meets the objective on this split";
    return;
  }
  v.capacity_per_replica = most_served.requests;
  v.bound = most_served.bound;
  count_replicas(v);
  fill_point(v, point_at(*replica, v.request, v.peak / v.replicas, most_served.concurrency, costs));
}

void fill_plain(ServeView& v) {
  const auto& a = *v.fleet->accelerator();
  const auto peak =
      a.peak(catalog::Dtype::bf16) ? a.peak(catalog::Dtype::bf16) : a.peak(catalog::Dtype::fp16);
  if (!v.serve->network || !peak || v.serve->network->forward <= Flops(0)) {
    v.infeasible =
        "a plain network needs `network.forward` and an accelerator with 16-bit products";
    return;
  }
  const Seconds service = v.serve->network->forward / (*peak * kPlainEfficiency);
  PerSecond within = 1.0 / service;
  if (v.serve->objective.latency_p99) {
    // M/M/1: p99 = ln 100 / (mu - lambda), so lambda = mu - ln 100 / bound.
    within = PerSecond(
        std::max(0.0, 1.0 / service.base() - kLog100 / v.serve->objective.latency_p99->base()));
  }
  if (within <= PerSecond(0)) {
    v.infeasible = fmt::format("one request takes {} on an idle {}, too long for the objective",
                               brief(service), a.name);
    return;
  }
  v.capacity_per_replica = within;
  count_replicas(v);
  const double left = 1.0 / service.base() - v.peak.base() / v.replicas;
  v.latency_p99 = left > 0 ? Seconds(kLog100 / left) : years(1);
  v.error = 0.4;
  v.basis = Basis::assumed;
  v.reference = "docs/models/plain-network.md";
}

void fill(ServeView& v, const machine::Machine& m) {
  if (v.fleet == nullptr || v.fleet->accelerator() == nullptr) {
    v.infeasible = "no fleet with accelerators to run on";
    return;
  }
  v.request = machine::request_of(*v.serve);
  add_draft(v, m);
  const int per_node = v.fleet->node.part.accelerators;
  v.devices_there = v.workload->terms.nodes && v.serve->zones.empty()
                        ? std::min(v.fleet->accelerators, *v.workload->terms.nodes * per_node)
                        : v.fleet->accelerators;
  if (v.model) {
    fill_transformer(v, m.models());
  } else {
    fill_plain(v);
  }
  if (v.feasible()) v.availability = availability_with(v, v.replicas, m);
}

// The figures of an equal service, told of the design at hand.
ServeView moved_to(const ServeView& here, ServeView earlier) {
  earlier.workload = here.workload;
  earlier.serve = here.serve;
  earlier.path = here.path;
  earlier.model = here.model;
  return earlier;
}

const machine::Fleet* fleet_of_zone(const std::vector<machine::Fleet>& fleets,
                                    const design::Zone& zone) {
  if (!zone.fleet.empty()) return find_fleet(fleets, zone.fleet);
  for (const machine::Fleet& f : fleets) {
    if (f.site && f.site->name == zone.site) return &f;
  }
  return nullptr;
}

}  // namespace

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
    const auto add = [&](std::string label, const machine::Fleet* fleet, double share) {
      ServeView v = earlier ? moved_to(whole, (*earlier)[views.size()]) : whole;
      v.label = std::move(label);
      v.fleet = fleet;
      if (!earlier) {
        v.rate = serve->arrivals.rate * share;
        v.peak = v.rate * serve->arrivals.peak;
        fill(v, m);
      }
      views.push_back(std::move(v));
    };
    if (serve->zones.empty()) add(whole.label, fleet_of(m.fleets, w), 1);
    for (const design::Zone& z : serve->zones) {
      // Zones of one site are told apart by their fleets.
      const bool alone = std::ranges::count(serve->zones, z.site, &design::Zone::site) == 1;
      add(whole.label + " in " + z.site + (alone || z.fleet.empty() ? "" : ", " + z.fleet),
          fleet_of_zone(m.fleets, z), z.share);
    }
  }
  return views;
}

}  // namespace orrery::plan
