#include "machine/serve_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "serving/fleet.h"
#include "serving/memory.h"
#include "workload/model_math.h"
#include "workload/transformer.h"

namespace orrery::machine {
namespace {

struct Mix {
  std::string_view name;
  double input;
  double output;
  double input_p99;
  double output_p99;
};
constexpr Mix kMixes[] = {{"chat", 1020, 129, 4142, 601},
                          {"code", 1469, 13, 7436, 251},
                          {"summary", 4096, 256, 16384, 1024}};
constexpr double kDrafted = 3;
constexpr double kAccepted = 2.3;
constexpr double kManyReplicas = 1e6;

const Mix* mix_of(const design::Serve& serve) {
  for (const Mix& m : kMixes) {
    if (serve.arrivals.trace == m.name) return &m;
  }
  return nullptr;
}

void add_draft(serving::RequestShape& r, const Machine& m, const design::Serve& serve) {
  if (serve.draft_model.empty() || serve.model.empty()) return;
  const catalog::ModelShape* model = find_model(m.design(), m.catalog(), serve.model);
  const catalog::ModelShape* draft = find_model(m.design(), m.catalog(), serve.draft_model);
  if (draft == nullptr || model == nullptr) return;
  const double share =
      workload::count_parameters(*draft).active / workload::count_parameters(*model).active;
  r.checked_per_step = 1 + kDrafted;
  r.accepted_per_step = kAccepted / (1 + kDrafted * share);
}

}  // namespace

ServeLengths lengths_of(const design::Serve& serve) {
  ServeLengths l;
  if (const Mix* m = mix_of(serve)) {
    l.prompt = {.length = m->input, .p99 = m->input_p99};
    l.output = {.length = m->output, .p99 = m->output_p99};
  }
  if (serve.arrivals.input_tokens) l.prompt = {.length = *serve.arrivals.input_tokens};
  if (serve.arrivals.output_tokens) l.output = {.length = *serve.arrivals.output_tokens};
  return l;
}

serving::RequestShape request_of(const Machine& m, const design::Serve& serve) {
  const ServeLengths l = lengths_of(serve);
  serving::RequestShape r;
  r.input = serving::mean_length(l.prompt);
  r.output = serving::mean_length(l.output);
  r.input_p99 = l.prompt.p99;
  r.output_p99 = l.output.p99;
  r.cached_share = serve.prefix_cache ? serve.arrivals.shared_prefix : 0;
  add_draft(r, m, serve);
  return r;
}

ServingQuery serving_query(const Models& models, const design::Serve& serve,
                           const catalog::ModelShape& model,
                           const catalog::Accelerator& accelerator,
                           const serving::RequestShape& request) {
  ServingQuery q{.model = model, .accelerator = &accelerator, .engine = serve.engine};
  q.precision.weights_only = serve.precision == catalog::Precision::int4;
  q.precision.products =
      q.precision.weights_only ? catalog::Dtype::bf16 : workload::product_dtype(serve.precision);
  q.precision.experts = q.precision.products;
  q.precision.kv = workload::product_dtype(serve.kv_precision);
  q.request = request;
  q.split.pp = serve.pp;
  const serving::Engine* engine = find_engine(models.engines, q.engine);
  if (serve.chunked_prefill || engine == nullptr) return q;
  // Prompts that enter whole take as many tokens of a step as they have.
  serving::EngineLimits limits = default_limits(*engine, accelerator.memory);
  limits.chunked_prefill = false;
  limits.token_budget = std::max({limits.token_budget, request.input, request.input_p99});
  q.limits = limits;
  return q;
}

serving::ServingTarget target_of(const design::Objective& o, double output_tokens) {
  serving::ServingTarget t;
  t.ttft_p99 = o.ttft_p99.value_or(Seconds(0));
  t.tpot_p99 = o.tpot_p99.value_or(Seconds(0));
  if (!o.latency_p99) return t;
  const Seconds each = *o.latency_p99 / std::max(1.0, output_tokens);
  t.tpot_p99 = t.tpot_p99 > Seconds(0) ? min(t.tpot_p99, each) : each;
  return t;
}

ApartSize apart_size(const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::RequestShape& request, const serving::ServingTarget& target,
                     BytesPerSecond link, const ApartAsk& ask) {
  // One decode replica behind prefill without end.
  const auto decoding = [&](double b) {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = kManyReplicas},
                              {.replica = replica, .costs = costs, .replicas = 1}, request, b,
                              link);
  };
  ApartSize s;
  const double in_cache = replica.memory.requests(request.input + request.output / 2);
  s.running = std::floor(std::min(in_cache, replica.limits.max_sequences));
  while (s.running > 1 && target.tpot_p99 > Seconds(0) &&
         decoding(s.running).tpot > target.tpot_p99) {
    s.running = std::floor(s.running * 0.9);
  }
  const serving::DisaggregatedPoint full = decoding(std::max(1.0, s.running));
  s.decode_rate = full.requests;
  s.prefill_rate = replica.split.attention_dp / full.prefill;
  if (!std::isfinite(s.decode_rate.base()) || s.decode_rate <= PerSecond(0) ||
      s.prefill_rate <= PerSecond(0)) {
    s.infeasible = "a step of this split never ends: its devices share no link that is known";
    return s;
  }
  const auto needed = [&](PerSecond each) {
    return std::max(1.0, serving::replicas_needed(ask.peak, each, ask.load));
  };
  s.decode = needed(s.decode_rate);
  s.prefill = ask.prefill ? *ask.prefill : needed(s.prefill_rate);
  if (s.prefill_rate * s.prefill <= ask.peak) {
    s.infeasible = fmt::format("{:.0f} prefill replicas take {:.1f} prompts a second, {:.1f} come",
                               s.prefill, s.prefill * s.prefill_rate.base(), ask.peak.base());
  }
  return s;
}

const Fleet* fleet_of_zone(const std::vector<Fleet>& fleets, const design::Zone& zone) {
  if (!zone.fleet.empty()) return find_fleet(fleets, zone.fleet);
  for (const Fleet& f : fleets) {
    if (f.site && f.site->name == zone.site) return &f;
  }
  return nullptr;
}

const Tier* weights_tier(const Machine& m, const design::Serve& serve, const Fleet& fleet) {
  if (!serve.weights_tier.empty()) return find_tier(m.tiers, serve.weights_tier);
  for (const Tier& t : m.tiers) {
    const bool here = find_site(m.design(), t.tier->site) == fleet.site;
    if (here && t.tier->tier == design::Tier::hot) return &t;
  }
  return find_tier(m.tiers, "hot");
}

BytesPerSecond weights_rate(const Machine& m, const Tier& tier, const Fleet& fleet) {
  const BytesPerSecond rate = m.crossing_to(fleet, tier).capped(tier.read);
  const BytesPerSecond wires = m.storage_wires(fleet).per_node();
  return !tier.per_node && wires > BytesPerSecond(0) ? min(rate, wires) : rate;
}

Seconds replica_start(const Machine& m, const design::Serve& serve, const Fleet& fleet) {
  if (m.design().scheduler.recovery.restart) return *m.design().scheduler.recovery.restart;
  const catalog::ModelShape* model =
      serve.model.empty() ? nullptr : find_model(m.design(), m.catalog(), serve.model);
  serving::ColdStart cold;
  const Tier* tier = weights_tier(m, serve, fleet);
  if (model != nullptr && tier != nullptr && tier->read > BytesPerSecond(0)) {
    const auto query =
        serving_query(m.models(), serve, *model, *fleet.accelerator(), request_of(m, serve));
    const Bytes weights = serving::serving_weights(*model, {}, query.precision);
    cold.weights = (weights / weights_rate(m, *tier, fleet)).base();
  }
  return Seconds(cold.total());
}

}  // namespace orrery::machine
