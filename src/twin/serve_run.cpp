#include "twin/serve_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/text.h"
#include "machine/serve_job.h"
#include "machine/serving_choices.h"
#include "serving/apart_fleet.h"
#include "workload/model_math.h"

namespace orrery::twin {
namespace {

using machine::Section;
using machine::Unit;

constexpr const char* kServePage = "docs/models/serving.md";
constexpr double kReplicaLoad = 0.8;
constexpr int kMostReplicas = 4;
constexpr int kMostRequests = 500;
constexpr int kLargestTp = 8;
constexpr Seconds kWindow = minutes(20);
// A cold start on one H200 whose weights lie on a local disk: 11.5 s for 16 GB.
constexpr BytesPerSecond kWeightsRate = gbytes_per_s(1.39);
constexpr std::uint64_t kSystemPrompt = 1;

struct Service {
  const design::Serve* serve = nullptr;
  std::string label;
  const machine::Fleet* fleet = nullptr;
  double share = 1;  // of the service's arrivals and replicas
  PerSecond peak;
  machine::ServingQuery query;
  serving::Replica replica;
  double replicas = 1;  // all of them
  double prefill = 0;   // of them, where apart
  double error = 0;
};

serving::ServingTarget target_of(const design::Objective& o) {
  serving::ServingTarget t;
  t.ttft_p99 = o.ttft_p99.value_or(Seconds(0));
  t.tpot_p99 = o.tpot_p99.value_or(Seconds(0));
  return t;
}

// Prefill and decode apart, as many of each as the peak wants or the design gives.
std::string size_apart(Service& s, const machine::Models& models) {
  const design::Serve& serve = *s.serve;
  const machine::ServingAsk ask{.model = s.query.model,
                                .accelerator = s.query.accelerator,
                                .request = s.query.request,
                                .target = target_of(serve.objective),
                                .engines = {serve.engine},
                                .formats = {s.query.precision.products},
                                .tp = s.query.split.tp,
                                .joined = false};
  const auto ways = serving_for(models, ask, s.peak);
  if (ways.empty()) return "prefill and decode apart do not meet the objective on this split";
  const double decode = ways.front().replicas - ways.front().prefill;
  s.prefill = serve.prefill_replicas.value_or(ways.front().prefill);
  s.replicas = serve.replicas ? std::max(s.prefill + 1, 1.0 * *serve.replicas) : s.prefill + decode;
  return {};
}

// Why it cannot run; empty where it can.
std::string size_service(Service& s, const machine::Machine& m, const catalog::ModelShape& model) {
  const design::Serve& serve = *s.serve;
  if (s.fleet == nullptr || s.fleet->accelerator() == nullptr) {
    return "no fleet with accelerators to run on";
  }
  if (s.peak <= PerSecond(0)) return "no requests come";
  s.query =
      machine::serving_query(serve, model, *s.fleet->accelerator(), machine::request_of(serve));
  const int widest = std::min(kLargestTp, s.fleet->node.part.accelerators);
  const auto tp = serve.tp ? serve.tp : least_tp(m.models(), s.query, widest);
  if (!tp) return "weights and one request do not fit";
  s.query.split.tp = *tp;
  auto replica = replica_of(m.models(), s.query);
  if (!replica) return replica.error().front().what;
  s.replica = std::move(*replica);
  const machine::Costs costs = serving_costs(m.models(), s.query);
  s.error = serving_error(costs.device(), s.query);
  const serving::ServingPoint most =
      capacity(s.replica, s.query.request, target_of(serve.objective), serving_source(costs));
  if (most.concurrency < 1) return "not even one request meets the objective on this split";
  s.replicas = serve.replicas
                   ? std::max(1.0, std::round(*serve.replicas * s.share))
                   : std::max(1.0, serving::replicas_needed(s.peak, most.requests, kReplicaLoad));
  return serve.disaggregated ? size_apart(s, m.models()) : std::string();
}

std::vector<serving::Timed> arrivals_of(const Service& s, double share, std::uint64_t seed) {
  const machine::ServeLengths lengths = machine::lengths_of(*s.serve);
  const double rate = s.peak.base() * share;
  const double requests = std::min<double>(kMostRequests, rate * kWindow.base());
  auto arrivals = serving::open_load({.rate = rate,
                                      .requests = std::max(2, static_cast<int>(requests)),
                                      .prompt = lengths.prompt,
                                      .output = lengths.output,
                                      .seed = seed});
  const double shared = s.query.request.cached_share;
  for (serving::Timed& t : arrivals) {
    // A prompt that no replica could hold beside its answer is cut.
    const double most = s.replica.memory.kv_tokens / s.replica.split.attention_dp;
    t.spec.prompt = std::max(1, static_cast<int>(std::min(1.0 * t.spec.prompt, most / 2)));
    if (shared <= 0) continue;
    t.spec.shared = kSystemPrompt;
    t.spec.shared_tokens = static_cast<int>(t.spec.prompt * shared);
  }
  return arrivals;
}

serving::FleetRun run_engines(const Service& s, const machine::Models& models,
                              const std::vector<serving::Timed>& arrivals, double replicas,
                              double lose_at) {
  const machine::Costs costs = serving_costs(models, s.query);
  serving::StepClock clock(s.replica, serving_source(costs));
  serving::EnginePolicy policy = policy_of(s.replica);
  policy.prefix_cache = s.serve->prefix_cache;
  serving::FleetOptions fleet{.replicas = static_cast<int>(replicas), .lose_one_at = lose_at};
  fleet.cold.weights = (s.replica.memory.weights / kWeightsRate).base();
  if (s.prefill < 1) return serving::Fleet(fleet, policy, clock).run(arrivals);
  serving::ApartOptions apart{.prefill = fleet, .decode = fleet};
  apart.prefill.lose_one_at = 0;
  apart.prefill.replicas =
      std::max(1, static_cast<int>(std::round(replicas * s.prefill / s.replicas)));
  apart.decode.replicas = std::max(1, static_cast<int>(replicas) - apart.prefill.replicas);
  apart.bytes_per_token = workload::kv_bytes(s.query.model, 1, s.query.precision.kv).base();
  apart.port_rate = (s.query.nic_rate * s.replica.split.devices()).base();
  return run_apart(apart, policy, clock, policy, clock, arrivals).run;
}

// With what a server adds around every request.
serving::FleetRun run_fleet(const Service& s, const machine::Models& models,
                            const std::vector<serving::Timed>& arrivals, double replicas,
                            double lose_at) {
  serving::FleetRun run = run_engines(s, models, arrivals, replicas, lose_at);
  const double aside = (s.replica.engine.first_token + s.replica.tuning.first_token).base();
  for (serving::RequestRecord& r : run.records) r.first += aside, r.last += aside;
  run.latency = serving::summarise(run.records);
  return run;
}

double meeting(const serving::FleetRun& run, const design::Objective& o) {
  double good = 0;
  for (const serving::RequestRecord& r : run.records) {
    const bool first = !o.ttft_p99 || r.ttft() <= o.ttft_p99->base();
    const bool between = !o.tpot_p99 || r.tpot() <= o.tpot_p99->base();
    const bool whole = !o.latency_p99 || r.e2e() <= o.latency_p99->base();
    good += first && between && whole ? 1 : 0;
  }
  const double all = static_cast<double>(run.records.size()) + run.refused;
  return all > 0 ? good / all : 0;
}

void add(Section& s, std::string id, std::string label, Unit unit, double value, double width,
         std::string formula = {}) {
  Estimate e = within(value, width, width, Basis::fitted, kServePage);
  if (unit == Unit::ratio) e.high = std::min(1.0, e.high);
  s.figures.push_back({.id = std::move(id),
                       .label = std::move(label),
                       .unit = unit,
                       .estimate = e,
                       .formula = std::move(formula)});
}

void fill(Section& section, const Service& s, const machine::Models& models, std::uint64_t seed) {
  const double replicas = std::min<double>(kMostReplicas, s.replicas);
  const auto arrivals = arrivals_of(s, replicas / s.replicas, seed);
  const double halfway = arrivals.back().at / 2;
  const serving::FleetRun calm = run_fleet(s, models, arrivals, replicas, 0);
  const serving::FleetRun hit = run_fleet(s, models, arrivals, replicas, halfway);
  const serving::LatencySummary& l = calm.latency;
  section.summary = fmt::format(
      "{} replica{} of {} accelerator{} at {} requests a second; {} of them simulated, {} requests",
      significant(s.replicas, 6), s.replicas == 1 ? "" : "s", s.replica.split.devices(),
      s.replica.split.devices() == 1 ? "" : "s", significant(s.peak.base(), 4),
      significant(replicas, 6), grouped(static_cast<std::int64_t>(arrivals.size())));
  if (s.prefill >= 1) section.summary += fmt::format(", {} for prefill", significant(s.prefill, 4));
  const double late = 2 * s.error;  // the first token is known half as well
  add(section, "run_ttft_p50", "first token, median", Unit::seconds, l.ttft_p50, late);
  add(section, "run_ttft_p99", "first token, 99th percentile", Unit::seconds, l.ttft_p99, late);
  add(section, "run_tpot_p99", "between tokens, 99th percentile", Unit::seconds, l.tpot_p99,
      s.error);
  add(section, "run_latency_p99", "whole request, 99th percentile", Unit::seconds, l.e2e_p99,
      s.error);
  add(section, "run_goodput", "requests within the objectives", Unit::ratio,
      meeting(calm, s.serve->objective), 0.02);
  if (calm.cached_tokens > 0) {
    add(section, "run_prefix_hits", "of the prompts, found in the prefix cache", Unit::ratio,
        calm.cached_tokens / calm.prompt_tokens, 0.02);
  }
  add(section, "run_loss_ttft_p99", "first token, 99th percentile, a replica lost halfway",
      Unit::seconds, hit.latency.ttft_p99, late,
      fmt::format("{} requests begin anew", significant(hit.restarted_requests, 4)));
  add(section, "run_loss_goodput", "requests within the objectives, a replica lost", Unit::ratio,
      meeting(hit, s.serve->objective), 0.02);
}

const machine::Fleet* fleet_of_zone(const machine::Machine& m, const design::Zone& zone) {
  if (!zone.fleet.empty()) return find_fleet(m.fleets, zone.fleet);
  for (const machine::Fleet& f : m.fleets) {
    if (f.site && f.site->name == zone.site) return &f;
  }
  return nullptr;
}

}  // namespace

std::vector<Section> serving_sections(const machine::Machine& m, std::uint64_t seed) {
  std::vector<Section> sections;
  for (const design::Workload& w : m.design().workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr || serve->model.empty()) continue;
    const catalog::ModelShape* model = find_model(m.design(), m.catalog(), serve->model);
    if (model == nullptr) continue;
    const auto add_one = [&](std::string label, const machine::Fleet* fleet, double share) {
      Service s{.serve = serve, .label = std::move(label), .fleet = fleet, .share = share};
      s.peak = serve->arrivals.rate * (serve->arrivals.peak * share);
      Section section{.layer = machine::Layer::serving, .name = s.label + ", its peak hour"};
      section.summary = size_service(s, m, *model);
      if (section.summary.empty()) fill(section, s, m.models(), seed);
      sections.push_back(std::move(section));
    };
    const std::string label = label_of(m.design(), w);
    if (serve->zones.empty()) add_one(label, fleet_of(m.fleets, w), 1);
    for (const design::Zone& z : serve->zones) {
      add_one(label + " in " + z.site, fleet_of_zone(m, z), z.share);
    }
  }
  return sections;
}

}  // namespace orrery::twin
