#include "model/machine/serve_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/math.h"
#include "model/design/part_ids.h"
#include "model/machine/serve_adapters.h"
#include "layers/serving/fleet.h"
#include "layers/serving/memory.h"
#include "core/workload/model_math.h"
#include "core/workload/transformer.h"

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
constexpr double kRounding = 1e-9;
constexpr int kFlightBisections = 30;
constexpr Seconds kHostFetch = microseconds(50);  // until the copies of one fetch run: assumed
// What the process of one device loads, out of memory: 16 GB in 2.6 to 2.8 s on an H200 host
// (data/validation/h200_cold_start.csv).
constexpr BytesPerSecond kLoadedByOne = gbytes_per_s(5.9);
constexpr Bytes kBytesPerToken(4);  // of English text: assumed
constexpr int kTalkRounds = 4;      // what is found and what is carried settle within
constexpr double kMostLosses = 20;  // of one piece: more never ends in anybody's life
constexpr double kReadTail = 4;     // p99 of a read over its usual latency: assumed
constexpr double kFullTier = 0.99;  // a tier that is asked for more is as slow as at this load
constexpr Seconds kLeastTime = microseconds(1);
// A plain network, of the dense peak: assumed, as in train_step.cpp; on cores as their products
// (`cpu` in data/calibration/gemm.csv).
constexpr double kPlainEfficiency = 0.35;
constexpr double kHostEfficiency = 0.15;

BytesPerSecond reading_rate(const Machine& m, const Tier& tier, const Fleet& fleet) {
  const BytesPerSecond rate = m.crossing_to(fleet, tier).capped(tier.read);
  const BytesPerSecond wires = m.storage_wires(fleet).per_node();
  return !tier.per_node && wires > BytesPerSecond(0) ? min(rate, wires) : rate;
}

const Mix* mix_of(const design::Serve& serve) {
  for (const Mix& m : kMixes) {
    if (serve.arrivals.trace == m.name) return &m;
  }
  return nullptr;
}

serving::TalkCase talk_of(const design::Serve& serve) {
  const ServeLengths l = lengths_of(serve);
  serving::TalkCase talk{.turns = serve.arrivals.visits(),
                         .think = serve.arrivals.pause().base(),
                         .prompt = serving::mean_length(l.prompt),
                         .output = serving::mean_length(l.output),
                         .at_home = serve.router == catalog::ServeRouter::session ||
                                    serve.router == catalog::ServeRouter::prefix};
  if (l.later) talk.later = serving::mean_length(*l.later);
  return talk;
}

void add_history(serving::RequestShape& r, const design::Serve& serve) {
  if (serve.arrivals.visits() <= 1) return;
  const serving::TalkCase talk = talk_of(serve);
  const double fresh = talk_fresh(talk);
  const double history = talk_history(talk);
  r.input = fresh + history;
  if (!serve.prefix_cache) {
    // The last turn of a talk is its longest.
    r.input_p99 = std::max(r.input_p99, fresh) + 2 * history;
    return;
  }
  const double system = serve.arrivals.shared_prefix * talk.prompt / talk.turns;
  r.cached_share = (system + history) / r.input;
  // What is computed varies as what is new does.
  r.input_p99 *= r.input / fresh;
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
  if (serve.retrieval) l.prompt.added = serve.retrieval->tokens;
  if (serve.arrivals.agent && serve.arrivals.agent->tool_tokens) {
    l.later = serving::LengthLaw{.length = *serve.arrivals.agent->tool_tokens};
  }
  return l;
}

namespace {

// A chain of services has no circle (the reader sees to it) and is no longer than the design.
void add_streams(std::vector<RequestStream>& all, const design::Design& d,
                 const design::Workload& service, double share, std::size_t left) {
  const design::Arrivals& own = std::get<design::Serve>(service.task).arrivals;
  if (own.rate > PerSecond(0)) all.push_back({own.reaching() * share, own.peak});
  if (left == 0) return;
  const std::string name = label_of(d, service);
  for (const design::Workload& w : d.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr || !serve->escalate || serve->escalate->service != name) continue;
    add_streams(all, d, w, share * serve->escalate->share, left - 1);
  }
}

}  // namespace

std::vector<RequestStream> streams_into(const design::Design& d, const design::Workload& service) {
  std::vector<RequestStream> all;
  add_streams(all, d, service, 1, d.workloads.size());
  return all;
}

serving::RequestShape request_of(const Machine& m, const design::Serve& serve) {
  const ServeLengths l = lengths_of(serve);
  serving::RequestShape r;
  r.input = serving::mean_length(l.prompt);
  r.output = serving::mean_length(l.output);
  r.input_p99 = l.prompt.p99 > 0 ? l.prompt.p99 + l.prompt.added : 0;
  r.output_p99 = l.output.p99;
  // What was retrieved is shared with nobody.
  const double own = 1 - l.prompt.added / r.input;
  r.cached_share = serve.prefix_cache ? serve.arrivals.shared_prefix * own : 0;
  add_history(r, serve);
  add_draft(r, m, serve);
  return r;
}

void settle_talks(serving::RequestShape& r, const design::Serve& serve,
                  const serving::Replica& replica, const serving::ServingCosts& costs,
                  const TalkAsk& ask) {
  if (serve.arrivals.visits() <= 1 || !serve.prefix_cache) return;
  serving::TalkCase talk = talk_of(serve);
  talk.tokens = replica.memory.kv_tokens;
  const double history = talk_history(talk);
  const double system = serve.arrivals.shared_prefix * talk.prompt / talk.turns;
  for (int round = 0; round < kTalkRounds; ++round) {
    const serving::ServingPoint most = capacity(replica, r, ask.target, costs);
    if (most.concurrency < 1) return;
    talk.replicas = ask.replicas.value_or(
        std::max(1.0, serving::replicas_needed(ask.peak, most.requests, ask.load)));
    talk.rate = std::min((ask.peak / talk.replicas).base(), most.requests.base());
    talk.stay = (most.ttft + most.tpot * (r.output - 1)).base();
    r.cached_share = (system + talk_found(talk) * history) / r.input;
  }
}

namespace {

// As vLLM sets them on CPUs, a socket a rank.
serving::EngineLimits host_limits(const Fleet& fleet) {
  const double sockets = std::max(1, fleet.node.part.host_cpus);
  return {.token_budget = 2048 * sockets, .max_sequences = 128 * sockets};
}

}  // namespace

ServingQuery serving_query(const Models& models, const design::Serve& serve,
                           const catalog::ModelShape& model, const Fleet& fleet,
                           const serving::RequestShape& request) {
  ServingQuery q{.model = model, .accelerator = fleet.device(), .engine = serve.engine};
  if (fleet.slice() != nullptr) q.slice = *fleet.slice();
  q.precision.weights_only = serve.precision == catalog::Precision::int4;
  q.precision.products =
      q.precision.weights_only ? catalog::Dtype::bf16 : workload::product_dtype(serve.precision);
  q.precision.experts = q.precision.products;
  q.precision.kv = workload::product_dtype(serve.kv_precision);
  q.request = request;
  q.split.pp = serve.pp;
  if (serve.adapters) q.adapters = adapter_set(*serve.adapters);
  const serving::Engine* engine = find_engine(models.engines, q.engine);
  if (fleet.host != nullptr) q.limits = host_limits(fleet);
  if ((serve.chunked_prefill && !serve.max_batch) || engine == nullptr) return q;
  serving::EngineLimits limits = q.limits.value_or(default_limits(*engine, q.memory()));
  if (serve.max_batch) limits.max_sequences = *serve.max_batch;
  if (!serve.chunked_prefill) {
    // Prompts that enter whole take as many tokens of a step as they have.
    limits.chunked_prefill = false;
    limits.token_budget = std::max({limits.token_budget, request.input, request.input_p99});
  }
  q.limits = limits;
  return q;
}

serving::ServingTarget target_of(const design::Serve& serve, double output_tokens) {
  const design::Objective& o = serve.objective;
  serving::ServingTarget t;
  t.ttft_p99 = o.ttft_p99.value_or(Seconds(0));
  t.tpot_p99 = o.tpot_p99.value_or(Seconds(0));
  const auto bound = [&](Seconds all, double tokens) {
    const Seconds each = max(all, kLeastTime) / std::max(1.0, tokens);
    t.tpot_p99 = t.tpot_p99 > Seconds(0) ? min(t.tpot_p99, each) : each;
  };
  if (o.latency_p99) bound(*o.latency_p99, output_tokens);
  if (o.task_p99) {
    const int calls = serve.arrivals.visits();
    bound(*o.task_p99 - serve.arrivals.pause() * (calls - 1), output_tokens * calls);
  }
  return t;
}

serving::TaskCase task_of(const design::Serve& serve, const serving::RequestShape& request,
                          const serving::ServingPoint& p) {
  return {.calls = serve.arrivals.visits(),
          .call = p.ttft + p.tpot * (request.output - 1),
          .call_p99 = p.whole_p99,
          .tool = serve.arrivals.pause()};
}

namespace {

// Reads of all services of the tier, at their peaks.
PerSecond reads_asked(const design::Design& d, const std::string& tier) {
  PerSecond asked;
  for (const design::Workload& w : d.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr || !serve->retrieval || serve->retrieval->tier != tier) continue;
    for (const RequestStream& s : streams_into(d, w)) {
      asked += s.rate * (s.peak * serve->retrieval->reads);
    }
  }
  return asked;
}

}  // namespace

std::optional<RetrievalAsk> retrieval_of(const Machine& m, const design::Serve& serve,
                                         const Fleet& fleet) {
  const Tier* tier = serve.retrieval ? find_tier(m.tiers, serve.retrieval->tier) : nullptr;
  if (tier == nullptr) return std::nullopt;
  const design::Retrieval& r = *serve.retrieval;
  RetrievalAsk ask{.tier = tier, .asked = reads_asked(m.design(), r.tier)};
  const double hosts = tier->per_node ? std::max(1, fleet.hosts) : 1;
  ask.gives = tier->read / r.read_size * hosts;
  ask.by_rate = true;
  const catalog::StorageDevice* device = device_or_usual(*tier, m.catalog());
  if (device != nullptr && device->random_read_iops && tier->devices > 0) {
    const PerSecond drives(*device->random_read_iops * tier->devices * hosts *
                           options_of(*tier).delivered);
    ask.by_rate = ask.gives <= drives;
    ask.gives = min(ask.gives, drives);
  }
  const double free = 1 - std::min(kFullTier, ask.load());
  const Bytes longer = max(Bytes(0), r.read_size - kLatencyRequest);
  const Seconds idle = max(kLeastTime, tier->latency.total + longer / tier->stream_rate +
                                           m.crossing_to(fleet, *tier).latency());
  const BytesPerSecond rate = reading_rate(m, *tier, fleet);
  ask.law.hops = r.hops;
  ask.law.reads = r.reads / r.hops;
  ask.law.median = idle / free;
  ask.law.p99 = r.read_p99 ? max(idle, *r.read_p99) / free : ask.law.median * kReadTail;
  if (rate > BytesPerSecond(0)) ask.law.sending = r.read_size * ask.law.reads / rate;
  return ask;
}

void add_retrieval(serving::RequestShape& request, const Machine& m, const design::Serve& serve,
                   const Fleet& fleet) {
  const auto ask = retrieval_of(m, serve, fleet);
  if (!ask) return;
  request.before = serving::retrieval_mean(ask->law);
  request.before_p99 = serving::retrieval_p99(ask->law);
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

std::array<double, 24> day_of_requests(double mean, double peak) {
  const auto shape = [](double k) {
    std::array<double, 24> hours{};
    double sum = 0;
    for (std::size_t h = 0; h < 24; ++h) {
      const double angle = 2 * std::numbers::pi * (static_cast<double>(h) - 15) / 24;
      sum += hours[h] = math::exp(k * (math::cos(angle) - 1));
    }
    for (double& h : hours) h *= 24 / sum;
    return hours;
  };
  double low = 0;
  double high = 200;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::ranges::max(shape(middle)) < peak ? low : high) = middle;
  }
  std::array<double, 24> hours = shape(peak <= 1 ? 0 : (low + high) / 2);
  for (double& h : hours) h *= mean;
  return hours;
}

std::array<double, 24> day_of_streams(const std::vector<RequestStream>& streams, double share) {
  std::array<double, 24> all{};
  for (const RequestStream& s : streams) {
    const auto day = day_of_requests(s.rate.base() * share, s.peak);
    for (std::size_t h = 0; h < all.size(); ++h) all[h] += day[h];
  }
  return all;
}

int replicas_called(const design::Autoscale& scale, double rate, double rate_at_target) {
  const double wanted = std::ceil(rate / rate_at_target - kRounding);
  return static_cast<int>(std::clamp<double>(wanted, scale.min, scale.max));
}

PerSecond rate_in_flight(const serving::Replica& replica, const serving::RequestShape& request,
                         double in_flight, const serving::ServingCosts& costs) {
  double low = 0;
  double high = in_flight;
  for (int i = 0; i < kFlightBisections; ++i) {
    const double middle = (low + high) / 2;
    const serving::ServingPoint p = steady_arrivals(replica, request, middle, costs);
    // What is still looked up is not at a replica.
    (middle + p.requests * (p.ttft - request.before) < in_flight ? low : high) = middle;
  }
  return steady_arrivals(replica, request, high, costs).requests;
}

BatchWork accelerator_work(const Machine& m, const design::Batch& batch, const Fleet& fleet) {
  BatchWork w{.accelerator_hours = batch.accelerator_hours.value_or(0), .tasks = batch.tasks};
  if (!batch.inference) return w;
  const design::Inference& i = *batch.inference;
  const catalog::ModelShape* model = find_model(m.design(), m.catalog(), i.model);
  if (model == nullptr || fleet.accelerator() == nullptr) {
    w.infeasible = "no accelerators to run a model on";
    return w;
  }
  if (fleet.slices.size() > 1) {
    w.infeasible = "its accelerators are cut into slices of several sizes";
    return w;
  }
  const serving::RequestShape request{.input = i.input_tokens, .output = i.output_tokens};
  const design::Serve serve{.engine = i.engine, .precision = i.precision};
  ServingQuery q = serving_query(m.models(), serve, *model, fleet, request);
  const auto tp = i.tp ? i.tp : least_tp(m.models(), q, fleet.accelerators_per_host);
  q.split.tp = tp.value_or(1);
  const auto replica = replica_of(m.models(), q);
  if (!replica) {
    w.infeasible = replica.error().front().what;
    return w;
  }
  const Costs costs = serving_costs(m.models(), q);
  w.devices = static_cast<int>(q.split.devices());
  w.rate = capacity(*replica, request, {}, serving_source(costs)).requests;
  if (w.rate <= PerSecond(0)) w.infeasible = "not even one request fits beside the weights";
  if (!w.infeasible.empty()) return w;
  w.accelerator_hours = i.requests / w.rate.base() * q.accelerators() / hours(1).base();
  w.tasks = batch.tasks * w.devices;
  return w;
}

double work_again(Seconds piece, PerSecond lost) {
  const double expected = std::min(piece * lost, kMostLosses);
  return expected > 0 ? math::expm1(expected) / expected : 1;
}

KvRoom kv_room(const Machine& m, const design::Serve& serve, const Fleet& fleet,
               const ServingQuery& query, double replicas) {
  if (!serve.kv_tier) return {};
  KvRoom kv{.room = serve.kv_tier->capacity};
  if (serve.kv_tier->tier == design::kHostMemory) {
    kv.rate = host_memory_rate(query);
    kv.first_byte = kHostFetch;
    return kv;
  }
  const Tier* tier = find_tier(m.tiers, serve.kv_tier->tier);
  if (tier == nullptr) return {};
  // All replicas read at once: of drives in the hosts those of one host, of others all.
  const double beside = tier->per_node
                            ? std::max(1.0, fleet.accelerators_per_host / query.accelerators())
                            : std::max(1.0, replicas);
  kv.rate = min(reading_rate(m, *tier, fleet), tier->read / beside);
  kv.first_byte = tier->first_byte + m.crossing_to(fleet, *tier).latency();
  return kv;
}

std::optional<FlopsPerSecond> plain_rate(const Machine& m, const Fleet& fleet) {
  const catalog::Accelerator& a = *fleet.device();
  const auto peak =
      a.peak(catalog::Dtype::bf16) ? a.peak(catalog::Dtype::bf16) : a.peak(catalog::Dtype::fp16);
  if (!peak) return std::nullopt;
  if (fleet.host) return *peak * kHostEfficiency;
  if (fleet.slice() == nullptr) return *peak * kPlainEfficiency;
  const double units = device_model(a, m.models().kernels).units;
  return *peak * (kPlainEfficiency * fleet.slice()->profile->multiprocessors / units);
}

const Fleet* fleet_of_zone(const std::vector<Fleet>& fleets, const design::Zone& zone) {
  if (!zone.fleet.empty()) return find_fleet(fleets, zone.fleet);
  for (const Fleet& f : fleets) {
    if (f.site && f.site->name == zone.site) return &f;
  }
  return nullptr;
}

Bytes request_bytes(const design::Serve& serve, const serving::RequestShape& request) {
  return serve.request_size.value_or(kBytesPerToken * request.input);
}

Seconds farthest_failover(const design::Serve& serve) {
  const design::Objective& o = serve.objective;
  const Seconds bound = o.ttft_p99.value_or(Seconds(serving::kForever));
  return o.latency_p99 ? min(bound, *o.latency_p99) : bound;
}

std::vector<FailoverWay> failover_ways(const Machine& m, const design::Workload& w,
                                       std::size_t zone) {
  const auto& serve = std::get<design::Serve>(w.task);
  const design::Zone& from = serve.zones[zone];
  const Bytes bytes = request_bytes(serve, request_of(m, serve));
  std::vector<FailoverWay> ways;
  for (const std::string& site : from.failover) {
    const auto path = wan_between(m.design(), from.site, site);
    for (std::size_t z = 0; path && z < serve.zones.size(); ++z) {
      if (serve.zones[z].site != site || z == zone) continue;
      const Fleet* fleet = fleet_of_zone(m.fleets, serve.zones[z]);
      if (fleet == nullptr || !design::is_inside(from.residency, fleet->region) ||
          !design::is_inside(w.terms.residency, fleet->region)) {
        continue;
      }
      ways.push_back({.zone = z, .path = *path, .carry = bytes / path->rate});
    }
  }
  return ways;
}

const Tier* weights_tier(const Machine& m, const design::Serve& serve, const Fleet& fleet) {
  if (!serve.weights_tier.empty()) return find_tier(m.tiers, serve.weights_tier);
  for (const Tier& t : m.tiers) {
    const bool here = find_site(m.design(), t.tier->site) == fleet.site;
    if (here && t.tier->tier == design::Tier::hot) return &t;
  }
  return find_tier(m.tiers, "hot");
}

BytesPerSecond weights_rate(const Machine& m, const Tier& tier, const Fleet& fleet, int devices) {
  const BytesPerSecond rate = reading_rate(m, tier, fleet);
  return tier.gpu_path == storage::GpuPath::direct ? rate : min(rate, kLoadedByOne * devices);
}

Seconds replica_start(const Machine& m, const design::Serve& serve, const Fleet& fleet,
                      int devices) {
  if (m.design().scheduler.recovery.restart) return *m.design().scheduler.recovery.restart;
  const catalog::ModelShape* model =
      serve.model.empty() ? nullptr : find_model(m.design(), m.catalog(), serve.model);
  serving::ColdStart cold;
  if (serve.autoscale) cold.image = serve.autoscale->image.base();
  const Tier* tier = weights_tier(m, serve, fleet);
  if (model != nullptr && tier != nullptr && tier->read > BytesPerSecond(0)) {
    const auto query = serving_query(m.models(), serve, *model, fleet, request_of(m, serve));
    const Bytes weights = serving::serving_weights(*model, {}, query.precision);
    cold.weights = (weights / weights_rate(m, *tier, fleet, devices)).base();
  }
  return Seconds(cold.total());
}

}  // namespace orrery::machine
