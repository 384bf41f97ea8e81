#include "twin/processes/service_windows.h"

#include <algorithm>
#include <cmath>

#include "core/workload/model_math.h"
#include "layers/traffic/apart_fleet.h"
#include "layers/traffic/guests.h"
#include "layers/traffic/talks.h"
#include "model/figures/assumptions.h"

namespace orrery::processes {
namespace {

constexpr int kReplicasSeen = 4;     // replicas behind one router in a window
constexpr int kReplicasAtLoss = 16;  // replicas in a window in which one is lost
// Lengths of a window's parts in mean stays of a request: before what counts, while it counts, and
// after it.
constexpr double kFilling = 3;
constexpr double kCounting = 12;
constexpr double kDraining = 2;
constexpr double kRequestsLeast = 400;  // least requests that count
constexpr double kRequestsMost = 1600;
constexpr int kCallsCounted = 4;     // times as many if what counts are tasks of several calls
constexpr double kLevels = 4;        // levels from the quietest hour to the busiest
constexpr double kNearlyAll = 0.98;  // share of the most that a replica carries
constexpr double kSameLoad = 0.04;   // loads closer than this share one level
constexpr Seconds kLossMost = minutes(1);
constexpr Seconds kRiseMost = minutes(10);
constexpr Seconds kGuestsSeen = minutes(1);
constexpr std::uint64_t kSystemPrompt = 1;
// Conversations fill a cache even while users think; beyond this number of requests the filling
// phase is cut short.
constexpr double kFillingMost = 6000;
// Requests that wait for adapters may stay without end; a delay of minutes shows within minutes.
constexpr Seconds kStayMost = minutes(2);
using figures::assumptions::kUsualToken;

// Lengths at which a prompt is cut: no replica could hold it with its answer, or compute it in one
// step.
struct Cuts {
  double held = 0;  // tokens in one attention rank's cache
  double prompt = 0;

  explicit Cuts(const WindowAsk& ask)
      : held(ask.replica.memory.kv_tokens / ask.replica.split.attention_dp) {
    const engines::EngineLimits& limits = ask.replica.limits;
    prompt = limits.chunked_prefill ? held / 2 : std::min(held / 2, limits.token_budget);
  }
};

traffic::TalkLoad talks_of(const WindowAsk& ask, double rate, Seconds until, std::uint64_t seed) {
  const Cuts cuts(ask);
  const design::Arrivals& a = ask.serve->arrivals;
  return {.rate = rate,
          .turns = a.visits(),
          .think = a.pause().base(),
          .prompt = ask.lengths.prompt,
          .later = ask.lengths.later,
          .output = ask.lengths.output,
          .whole = a.agent.has_value(),
          .system_share = ask.serve->prefix_cache ? a.shared_prefix : 0,
          .most_prompt = std::max(1, static_cast<int>(cuts.prompt / 2)),
          .most_output = std::max(1, static_cast<int>(cuts.held / 4)),
          .most_held = std::max(4, static_cast<int>(cuts.prompt)),
          .until = until.base(),
          .adapters = ask.query.adapters.value_or(serving::AdapterSet{}),
          .seed = seed};
}

// Conversations in which each turn is answered after the same time: all arrivals are then known in
// advance.
std::vector<traffic::Timed> conversations_in_order(const WindowAsk& ask, double rate, Seconds until,
                                                   std::uint64_t seed) {
  traffic::Talks talks(talks_of(ask, rate, until, seed));
  const double stay = ask.query.request.output * kUsualToken.base();
  std::vector<traffic::Timed> all;
  while (talks.next() < traffic::kForever) {
    all.push_back(talks.take());
    const traffic::Timed& t = all.back();
    talks.answered({.id = static_cast<int>(all.size()) - 1,
                    .prompt = t.spec.prompt,
                    .output = t.spec.output,
                    .last = t.at + stay});
  }
  return all;
}

}  // namespace

std::vector<traffic::Timed> window_arrivals(const WindowAsk& ask, double rate, Seconds until,
                                            std::uint64_t seed) {
  if (ask.serve->arrivals.visits() > 1) return conversations_in_order(ask, rate, until, seed);
  const double accepted = ask.query.request.accepted_per_step;
  traffic::OpenLoad load{.rate = rate,
                         .requests = static_cast<int>(rate * until.base() * 1.1) + 100,
                         .prompt = ask.lengths.prompt,
                         .output = ask.lengths.output,
                         .seed = seed};
  // An answer takes its number of tokens divided by the tokens per step.
  load.output.length /= accepted;
  load.output.p99 /= accepted;
  std::vector<traffic::Timed> all = traffic::open_load(load);
  std::erase_if(all, [&](const traffic::Timed& t) { return t.at > until.base(); });
  const Cuts cuts(ask);
  std::uint64_t session = 0;
  const serving::AdapterSet adapters = ask.query.adapters.value_or(serving::AdapterSet{});
  const serving::AdapterDraw adapter(adapters.count, adapters.skew);
  RandomStream drawn(seed, "serving/adapter");
  for (traffic::Timed& t : all) {
    t.spec.adapter = adapter(drawn);
    t.spec.prompt = std::max(1, static_cast<int>(std::min<double>(t.spec.prompt, cuts.prompt)));
    t.spec.output = std::max(1, static_cast<int>(std::min<double>(t.spec.output, cuts.held / 2)));
    t.spec.session = ++session;
    const double shared = ask.shared.value_or(ask.query.request.cached_share);
    if (shared <= 0) continue;
    t.spec.shared = kSystemPrompt;
    t.spec.shared_tokens = static_cast<int>(t.spec.prompt * shared);
  }
  return all;
}

namespace {

class Windows {
 public:
  Windows(const machine::Models& models, const WindowAsk& ask)
      : ask_(ask),
        costs_(serving_costs(models, ask.query)),
        source_(serving_source(costs_)),
        clock_(ask.replica, source_, ask.query.request.checked_per_step),
        policy_(traffic::policy_of(ask.replica)) {
    policy_.prefix_cache = ask.serve->prefix_cache;
    if (ask.serve->arrivals.visits() > 1 || ask.serve->kv_tier) jobs::coarsen_blocks(policy_);
    if (ask.serve->kv_tier) {
      policy_.kv_tier = kv_tier_law(ask.query, ask.kv, ask.replica, policy_.block_tokens, source_);
    }
  }

  LoadWindow level(double rate, std::uint64_t seed) {
    seed_ = seed;
    const int replicas = std::min(kReplicasSeen, ask_.replicas);
    const double stay = stay_at(rate);
    const double counted =
        std::clamp(kCounting * stay * rate * replicas, kRequestsLeast, kRequestsMost) *
        (is_agent() ? std::min(kCallsCounted, ask_.serve->arrivals.visits()) : 1);
    traffic::WindowSpan span{.begins = filling(stay, rate * replicas)};
    span.ends = span.begins + counted / (rate * replicas);
    span.last = span.ends + kDraining * stay + task(stay);
    return window_of(run(rate, replicas, span, 0), rate, span);
  }

  // Simulates requests from shortly before the loss until the replica is back and has caught up.
  LoadWindow loss(double& restarted) {
    const int replicas = std::min(kReplicasAtLoss, ask_.replicas);
    const double stay = stay_at(ask_.high);
    const double filled = filling(stay, ask_.high * replicas);
    traffic::WindowSpan span{.begins = filled - stay, .ends = filled + back() + stay};
    span.last = span.ends + kDraining * stay;
    const traffic::FleetRun done = run(ask_.high, replicas, span, filled);
    restarted = done.restarted_requests;
    return window_of(done, ask_.high, span);
  }

  // Simulates from the steepest hour's first request until the replicas that were started for it
  // have caught up.
  LoadWindow rise(const ServiceRise& r) {
    const design::Autoscale& scale = *ask_.serve->autoscale;
    const int replicas = std::min(kReplicasAtLoss, r.replicas);
    const double part = static_cast<double>(replicas) / r.replicas;
    const double stay = stay_at(r.before / r.replicas);
    const double filled = kFilling * stay;
    const Seconds follows = scale.lag + scale.period + ask_.start;
    traffic::WindowSpan span{.begins = filled,
                             .ends = filled + min(follows * 2.0, kRiseMost).base() + stay};
    span.last = span.ends + kDraining * stay;
    auto load = window_arrivals(ask_, r.before * part, Seconds(filled), 1);
    for (traffic::Timed t : window_arrivals(ask_, r.after * part, Seconds(span.last - filled), 2)) {
      t.at += filled;
      load.push_back(t);
    }
    traffic::FleetOptions fleet{
        .replicas = replicas, .router = ask_.serve->router, .stop = ask_.stop};
    const auto some = [&](int n) { return std::max(1, static_cast<int>(std::round(n * part))); };
    fleet.scaler = {.target = scale.target,
                    .period = scale.period.base(),
                    .lag = scale.lag.base(),
                    .hold = scale.hold.base(),
                    .least = some(std::min(scale.min, r.replicas)),
                    .most = some(ask_.replicas)};
    fleet.cold = {.process = 0, .weights = ask_.start.base(), .graphs = 0};
    return window_of(traffic::Fleet(fleet, policy_, clock_).run(load), r.after / r.replicas, span);
  }

  // Simulates from the moment at which guests are sent there until the storm has passed.
  GuestWindows guests(const GuestAsk& g) {
    const int replicas = std::min(kReplicasAtLoss, g.replicas);
    const double part = static_cast<double>(replicas) / g.replicas;
    const double each = (g.own + g.rate) / g.replicas;
    const double stay = stay_at(each);
    traffic::WindowSpan span{.begins = filling(stay, each * replicas)};
    span.ends = span.begins + kGuestsSeen.base() + stay;
    span.last = span.ends + kDraining * stay;
    const auto come = [&](double rate, double until, std::uint64_t seed) {
      return rate > 0 ? window_arrivals(ask_, rate * part, Seconds(until), seed)
                      : std::vector<traffic::Timed>{};
    };
    auto sent = come(g.rate, g.stay, 3);
    GuestWindows out{.restarted = static_cast<double>(sent.size()) / part};
    for (traffic::Timed& t : sent) t.at = span.begins;
    for (traffic::Timed t : come(g.rate, span.last - span.begins, 2)) {
      t.at += span.begins;
      sent.push_back(t);
    }
    const auto load = traffic::with_guests(come(g.own, span.last, 1), std::move(sent));
    const traffic::FleetRun done =
        run({.replicas = replicas, .router = ask_.serve->router, .stop = ask_.stop}, load.all);
    out.guests = window_of(records_of(done, load, true), each, span, g.away);
    out.hosts = window_of(records_of(done, load, false), each, span);
    return out;
  }

 private:
  double filling(double stay, double rate) const {
    const design::Arrivals& a = ask_.serve->arrivals;
    if (a.visits() <= 1) return kFilling * stay;
    // Tasks that have already begun are waiting for a tool; those at a replica are missing at
    // first.
    const double steady = kFilling * a.pause().base() + task(stay);
    return kFilling * stay + std::min(steady, kFillingMost / rate);
  }

  bool is_agent() const { return ask_.serve->arrivals.agent.has_value(); }
  // Returns the mean time until a task that began last has ended: new ones arrive until then.
  double task(double stay) const {
    if (!is_agent()) return 0;
    const int calls = ask_.serve->arrivals.visits();
    return calls * stay + (calls - 1) * ask_.serve->arrivals.pause().base();
  }

  double back() const { return min(ask_.start, kLossMost).base(); }

  // Returns how long a request stays, in closed form; a load that a replica cannot carry is treated
  // as if it could.
  double stay_at(double rate) const {
    double low = 1;
    double high = std::max(2.0, ask_.replica.limits.max_sequences);
    const serving::RequestShape& r = ask_.query.request;
    const auto at = [&](double b) { return closed_loop(ask_.replica, r, b, source_); };
    for (int i = 0; i < 10; ++i) {
      const double middle = (low + high) / 2;
      (at(middle).requests.base() < rate ? low : high) = middle;
    }
    const serving::ServingPoint p = at(high);
    const Seconds stay = p.ttft + p.tpot * (r.output - 1);
    return (ask_.serve->adapters ? min(stay, kStayMost) : stay).base();
  }

  traffic::FleetRun run(double rate, int replicas, const traffic::WindowSpan& span,
                        double lose_at) {
    traffic::FleetOptions fleet{.replicas = replicas,
                                .router = ask_.serve->router,
                                .lose_one_at = lose_at,
                                .stop = ask_.stop};
    fleet.cold = {.process = 0, .weights = back(), .graphs = 0};
    if (ask_.serve->arrivals.visits() > 1) {
      traffic::Talks talks(talks_of(ask_, rate * replicas, Seconds(span.last), seed_));
      return traffic::Fleet(fleet, policy_, clock_).run(talks);
    }
    return run(fleet, window_arrivals(ask_, rate * replicas, Seconds(span.last), seed_));
  }

  traffic::FleetRun run(const traffic::FleetOptions& fleet,
                        const std::vector<traffic::Timed>& load) {
    if (ask_.prefill < 1) return traffic::Fleet(fleet, policy_, clock_).run(load);
    const int replicas = fleet.replicas;
    traffic::ApartOptions apart{.prefill = fleet, .decode = fleet};
    apart.prefill.lose_one_at = 0;
    const double share = static_cast<double>(ask_.prefill) / ask_.replicas;
    apart.prefill.replicas = std::max(1, static_cast<int>(std::round(replicas * share)));
    apart.decode.replicas = std::max(1, replicas - apart.prefill.replicas);
    apart.bytes_per_token = workload::kv_bytes(ask_.query.model, 1, ask_.query.precision.kv).base();
    apart.port_rate = (ask_.query.nic_rate * ask_.replica.split.devices()).base();
    return run_apart(apart, policy_, clock_, policy_, clock_, load).run;
  }

  LoadWindow window_of(const traffic::FleetRun& done, double rate, const traffic::WindowSpan& span,
                       Seconds away = Seconds(0)) const {
    if (ask_.stop && ask_.stop()) return {};
    const serving::Replica& r = ask_.replica;
    traffic::ClientView view{.aside = (r.engine.first_token + r.tuning.first_token + away).base(),
                             .accepted = ask_.query.request.accepted_per_step,
                             .calls = is_agent() ? ask_.serve->arrivals.visits() : 0,
                             .retrieval = ask_.retrieval,
                             .seed = seed_};
    const design::Objective& o = ask_.serve->objective;
    if (o.ttft_p99) view.ttft = o.ttft_p99->base();
    if (o.tpot_p99) view.tpot = o.tpot_p99->base();
    if (o.latency_p99) view.whole = o.latency_p99->base();
    return traffic::window_of(done, rate, span, view);
  }

  const WindowAsk& ask_;
  machine::Costs costs_;
  serving::ServingCosts source_;
  serving::StepClock clock_;
  engines::EnginePolicy policy_;
  std::uint64_t seed_ = 1;  // each level has its own random stream, so their errors are independent
};

// A load that a replica cannot carry has no steady state: a run counts such time as not carried.
std::vector<double> levels_of(const WindowAsk& ask) {
  std::vector<double> rates;
  for (int i = 0; i < kLevels; ++i) {
    rates.push_back(ask.low + (ask.high - ask.low) * i / (kLevels - 1));
  }
  if (ask.replicas > 1) rates.push_back(ask.high * ask.replicas / (ask.replicas - 1));
  if (ask.guests > 0) rates.push_back(std::max(rates.back(), ask.high + ask.guests));
  if (ask.serve->autoscale) {
    // Until new replicas have started, the others have more load.
    const double more = std::max(rates.back(), kNearlyAll * ask.most);
    rates.push_back((rates.back() + more) / 2);
    rates.push_back(more);
  }
  std::vector<double> kept;
  for (const double rate : rates) {
    const double carried = std::min(rate, ask.most);
    if (carried > 0 && (kept.empty() || carried > kept.back() * (1 + kSameLoad))) {
      kept.push_back(carried);
    }
  }
  return kept;
}

}  // namespace

GuestWindows simulate_guests(const machine::Models& models, const WindowAsk& ask,
                             const GuestAsk& guests) {
  return Windows(models, ask).guests(guests);
}

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask) {
  return simulate_windows(models, ask, levels_of(ask));
}

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask,
                                std::span<const double> rates) {
  Windows windows(models, ask);
  ServiceWindows done;
  for (const double rate : rates) {
    if (rate <= 0 || rate > ask.most) continue;
    if (ask.stop && ask.stop()) return done;
    done.levels.push_back(windows.level(rate, done.levels.size() + 1));
  }
  if (!done.levels.empty()) done.loss = windows.loss(done.restarted);
  if (!done.levels.empty() && ask.rise) done.rise = windows.rise(*ask.rise);
  return done;
}

}  // namespace orrery::processes
