#include "twin/service_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/math.h"
#include "base/units.h"
#include "machine/predict_serving.h"
#include "serving/fleet.h"
#include "serving/memory.h"
#include "workload/model_math.h"

namespace orrery::twin {
namespace {

// Loads of a replica, over what it carries within its objective, at which a window is simulated.
constexpr double kLoads[] = {0.15, 0.4, 0.7, 0.9, 1.1};
constexpr int kReplicasSeen = 2;  // behind one router in a window
// Of a replica that carries all it can; fewer in proportion at less, so that windows last as long.
constexpr double kRequestsEach = 200;
constexpr double kRequestsLeast = 60;
constexpr double kSizedLoad = 0.8;  // as the review sizes: the rest absorbs bursts
constexpr double kLongRequest = 4;  // p99 of a length over its median: assumed
constexpr int kWidestTp = 8;
// A plain network on an accelerator, of the dense peak: assumed, as in the review.
constexpr double kPlainEfficiency = 0.35;
constexpr double kPlainError = 0.4;
constexpr double kLog100 = 4.605170185988092;  // p99 of M/M/1 in mean sojourns
// A service's load is no test's: its bursts and lengths move latencies more than kernels do
// (assumed, as in the review).
constexpr double kUnseenLoad = 0.28;

// Median lengths of the built-in mixes: of the Azure 2023 conversation and code traces; summary is
// assumed.
struct Mix {
  std::string_view name;
  double input;
  double output;
};
constexpr Mix kMixes[] = {{"chat", 1020, 129}, {"code", 1469, 13}, {"summary", 4096, 256}};

serving::RequestShape requests_of(const design::Serve& serve) {
  serving::RequestShape r;
  for (const Mix& m : kMixes) {
    if (serve.arrivals.trace == m.name) r.input = m.input, r.output = m.output;
  }
  r.input = serve.arrivals.input_tokens.value_or(r.input);
  r.output = serve.arrivals.output_tokens.value_or(r.output);
  r.cached_share = serve.prefix_cache ? serve.arrivals.shared_prefix : 0;
  return r;
}

// The hour's part of the day's traffic: highest over mean is `peak`, at most 24.
std::array<double, 24> day_of(double mean, double peak) {
  const auto shape = [](double k) {
    std::array<double, 24> hours{};
    double sum = 0;
    for (std::size_t h = 0; h < 24; ++h) {
      // The highest hour is the fifteenth.
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

LatencyPoints points_of(std::vector<double> values) {
  std::ranges::sort(values);
  LatencyPoints points{};
  for (std::size_t i = 0; i < kLatencyPoints; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / kLatencyPoints;
    const auto n = static_cast<double>(values.size());
    points[i] = values[static_cast<std::size_t>(std::min(n - 1, at * n))];
  }
  return points;
}

std::vector<serving::Timed> arrivals_at(const design::Serve& serve,
                                        const serving::RequestShape& request, double rate,
                                        double load, int replicas) {
  const double each = std::max(kRequestsLeast, kRequestsEach * load);
  auto arrivals = serving::open_load(
      {.rate = rate * replicas,
       .requests = static_cast<int>(each) * replicas,
       .prompt = {.length = request.input, .p99 = request.input * kLongRequest},
       .output = {.length = request.output, .p99 = request.output * kLongRequest}});
  if (!serve.prefix_cache || serve.arrivals.shared_prefix <= 0) return arrivals;
  for (serving::Timed& t : arrivals) {
    t.spec.shared = 1;
    t.spec.shared_tokens = static_cast<int>(t.spec.prompt * serve.arrivals.shared_prefix);
  }
  return arrivals;
}

LoadWindow window_at(const ServicePlan& p, const serving::RequestShape& request,
                     const serving::Replica& replica, serving::StepClock& clock, double rate) {
  const int replicas = std::min(kReplicasSeen, p.replicas);
  serving::EnginePolicy policy = policy_of(replica);
  policy.prefix_cache = p.serve->prefix_cache;
  serving::Fleet fleet({.replicas = replicas}, policy, clock);
  const serving::FleetRun run =
      fleet.run(arrivals_at(*p.serve, request, rate, rate / p.capacity, replicas));
  // A request is seen a step after it came, and its first token crosses the server.
  const double aside = (replica.engine.first_token + replica.tuning.first_token).base();
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> whole;
  double computing = 0;
  for (const serving::RequestRecord& r : run.records) {
    const double later = aside + r.tpot();
    ttft.push_back(r.ttft() + later);
    tpot.push_back(r.tpot());
    whole.push_back(r.e2e() + later);
    computing += r.e2e();
  }
  // With n requests in it on average a replica computes but for the moments without any.
  const double held = computing / std::max(1e-9, static_cast<double>(run.records.size())) * rate;
  return {.rate = rate,
          .busy = 1 - math::exp(-held),
          .ttft = points_of(std::move(ttft)),
          .tpot = points_of(std::move(tpot)),
          .whole = points_of(std::move(whole))};
}

machine::ServingQuery query_of(const ServicePlan& p, const machine::Fleet& fleet,
                               const catalog::ModelShape& model,
                               const serving::RequestShape& request) {
  machine::ServingQuery q{
      .model = model, .accelerator = fleet.accelerator(), .engine = p.serve->engine};
  q.precision.products = workload::product_dtype(p.serve->precision);
  q.precision.experts = q.precision.products;
  q.precision.kv = workload::product_dtype(p.serve->kv_precision);
  q.request = request;
  q.split.pp = p.serve->pp;
  return q;
}

// By the zone's share of the traffic, at least one; as many as the peak needs where none is given.
void count_replicas(ServicePlan& p, double share) {
  const double peak = std::ranges::max(p.rate_at);
  const double needed = std::max(1.0, std::ceil(peak / (p.capacity * kSizedLoad) - 1e-9));
  p.replicas = static_cast<int>(
      p.serve->replicas ? std::max(1.0, std::floor(*p.serve->replicas * share + 0.5 + 1e-9))
                        : std::min(needed, 1e6));
}

void plan_transformer(ServicePlan& p, const machine::Machine& m, const machine::Fleet& fleet,
                      const catalog::ModelShape& model, double share) {
  const serving::RequestShape request = requests_of(*p.serve);
  machine::ServingQuery q = query_of(p, fleet, model, request);
  const int widest = std::min(kWidestTp, fleet.node.part.accelerators);
  const auto tp = p.serve->tp ? p.serve->tp : least_tp(m.models(), q, widest);
  if (!tp) {
    p.infeasible = "weights and one request do not fit a node's accelerators";
    return;
  }
  q.split.tp = *tp;
  p.slots = static_cast<int>(q.split.devices());
  serving::ServingTarget target;
  if (p.serve->objective.ttft_p99) target.ttft_p99 = *p.serve->objective.ttft_p99;
  if (p.serve->objective.tpot_p99) target.tpot_p99 = *p.serve->objective.tpot_p99;
  const auto within = predict_capacity(m.models(), q, target);
  if (!within || within->point.requests <= PerSecond(0)) {
    p.infeasible = within ? "not even one request meets the objective on this split"
                   : within.error().empty() ? "it cannot be served"
                                            : within.error().front().what;
    return;
  }
  p.capacity = within->point.requests.base();
  count_replicas(p, share);
  const machine::Costs costs = serving_costs(m.models(), q);
  p.error = math::hypot(serving_error(costs.device(), q), kUnseenLoad);
  if (p.serve->disaggregated || !p.serve->draft_model.empty()) {
    p.stands_in = "prefill apart and speculation are not simulated: no latencies";
    p.most = p.capacity;
    return;
  }
  serving::StepClock clock(within->replica, serving_source(costs));
  for (const double load : kLoads) {
    p.windows.push_back(window_at(p, request, within->replica, clock, load * p.capacity));
  }
  p.most = p.windows.back().rate;
}

// M/M/1: the sojourn is exponential with rate mu - lambda.
void plan_plain(ServicePlan& p, const machine::Fleet& fleet, double share) {
  const catalog::Accelerator& a = *fleet.accelerator();
  const auto peak =
      a.peak(catalog::Dtype::bf16) ? a.peak(catalog::Dtype::bf16) : a.peak(catalog::Dtype::fp16);
  if (!p.serve->network || !peak || p.serve->network->forward <= Flops(0)) {
    p.infeasible =
        "a plain network needs `network.forward` and an accelerator with 16-bit products";
    return;
  }
  const double mu = 1 / (p.serve->network->forward / (*peak * kPlainEfficiency)).base();
  const auto& bound = p.serve->objective.latency_p99;
  p.capacity = bound ? mu - kLog100 / bound->base() : mu * 0.99;
  if (p.capacity <= 0) {
    p.infeasible = "one request takes too long for the objective on an idle accelerator";
    return;
  }
  count_replicas(p, share);
  p.error = kPlainError;
  p.stands_in = "its requests wait as M/M/1";
  for (const double load : {0.02, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99}) {
    LoadWindow w{.rate = load * mu, .busy = load};
    for (std::size_t i = 0; i < kLatencyPoints; ++i) {
      const double at = (static_cast<double>(i) + 0.5) / kLatencyPoints;
      w.whole[i] = -math::log(1 - at) / (mu - w.rate);
    }
    p.windows.push_back(w);
  }
  p.most = p.windows.back().rate;
}

// Where a replica loads from: as the design says, else the hot tier of its own site, else any.
const machine::Tier* weights_tier(const ServicePlan& p, const machine::Machine& m,
                                  const machine::Fleet& fleet) {
  if (!p.serve->weights_tier.empty()) return find_tier(m.tiers, p.serve->weights_tier);
  for (const machine::Tier& t : m.tiers) {
    const bool here = find_site(m.design(), t.tier->site) == fleet.site;
    if (here && t.tier->tier == design::Tier::hot) return &t;
  }
  return find_tier(m.tiers, "hot");
}

Seconds start_of(const ServicePlan& p, const machine::Machine& m, const machine::Fleet& fleet,
                 const catalog::ModelShape* model) {
  if (m.design().scheduler.recovery.restart) return *m.design().scheduler.recovery.restart;
  serving::ColdStart cold;
  const machine::Tier* tier = weights_tier(p, m, fleet);
  if (model != nullptr && tier != nullptr && tier->read > BytesPerSecond(0)) {
    const serving::RequestShape request = requests_of(*p.serve);
    const Bytes weights =
        serving::serving_weights(*model, {}, query_of(p, fleet, *model, request).precision);
    BytesPerSecond rate = m.crossing_to(fleet, *tier).capped(tier->read);
    const BytesPerSecond wires = m.storage_wires(fleet).per_node();
    if (!tier->per_node && wires > BytesPerSecond(0)) rate = min(rate, wires);
    cold.weights = (weights / rate).base();
  }
  return Seconds(cold.total());
}

const machine::Fleet* fleet_of_zone(const std::vector<machine::Fleet>& fleets,
                                    const design::Zone& zone) {
  if (!zone.fleet.empty()) return find_fleet(fleets, zone.fleet);
  for (const machine::Fleet& f : fleets) {
    if (f.site && f.site->name == zone.site) return &f;
  }
  return nullptr;
}

ServicePlan plan_of(const machine::Machine& m, const design::Workload& w, std::string label,
                    const machine::Fleet* fleet, double share) {
  ServicePlan p{
      .workload = &w, .serve = &std::get<design::Serve>(w.task), .label = std::move(label)};
  if (fleet == nullptr || fleet->accelerator() == nullptr) {
    p.infeasible = "no fleet with accelerators to run on";
    return p;
  }
  p.fleet = m.index_of(*fleet);
  p.rate_at = day_of(p.serve->arrivals.rate.base() * share, p.serve->arrivals.peak);
  const catalog::ModelShape* model =
      p.serve->model.empty() ? nullptr : find_model(m.design(), m.catalog(), p.serve->model);
  if (model != nullptr) {
    plan_transformer(p, m, *fleet, *model, share);
  } else {
    plan_plain(p, *fleet, share);
  }
  p.start = start_of(p, m, *fleet, model);
  return p;
}

}  // namespace

double ServicePlan::busy_at(double rate) const {
  if (windows.empty()) return std::min(1.0, most > 0 ? rate / most : 0);
  const auto above = std::ranges::lower_bound(windows, rate, {}, &LoadWindow::rate);
  if (above == windows.end()) return 1;
  const double low_rate = above == windows.begin() ? 0 : std::prev(above)->rate;
  const double low = above == windows.begin() ? 0 : std::prev(above)->busy;
  return low + (above->busy - low) * (rate - low_rate) / (above->rate - low_rate);
}

std::vector<ServicePlan> service_plans(const machine::Machine& m, const design::Workload& w) {
  const auto& serve = std::get<design::Serve>(w.task);
  const std::string label = label_of(m.design(), w);
  std::vector<ServicePlan> plans;
  if (serve.zones.empty()) plans.push_back(plan_of(m, w, label, fleet_of(m.fleets, w), 1));
  for (const design::Zone& z : serve.zones) {
    plans.push_back(plan_of(m, w, label + " in " + z.site, fleet_of_zone(m.fleets, z), z.share));
  }
  return plans;
}

}  // namespace orrery::twin
