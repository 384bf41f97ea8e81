#include "twin/service_windows.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/statistics.h"
#include "serving/apart_fleet.h"
#include "workload/model_math.h"

namespace orrery::twin {
namespace {

constexpr int kReplicasSeen = 4;     // behind one router in a window
constexpr int kReplicasAtLoss = 16;  // where one of them is lost
// In mean stays of a request: before what counts, while it counts, and after it.
constexpr double kFilling = 3;
constexpr double kCounting = 12;
constexpr double kDraining = 2;
constexpr double kRequestsLeast = 400;  // that count
constexpr double kRequestsMost = 1600;
constexpr double kLevels = 4;       // from the quietest hour to the busiest
constexpr double kSameLoad = 0.04;  // levels nearer than this are one
constexpr Seconds kLossMost = minutes(1);
constexpr std::uint64_t kSystemPrompt = 1;

LatencyPoints points_of(std::vector<double> values) {
  std::ranges::sort(values);
  LatencyPoints points{};
  if (values.empty()) return points;
  for (std::size_t i = 0; i < kLatencyPoints; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / kLatencyPoints;
    const auto n = static_cast<double>(values.size());
    points[i] = values[static_cast<std::size_t>(std::min(n - 1, at * n))];
  }
  return points;
}

struct Span {
  double begins = 0;  // arrivals from here on count
  double ends = 0;
  double last = 0;  // no arrivals after it
};

}  // namespace

std::vector<serving::Timed> window_arrivals(const WindowAsk& ask, double rate, Seconds until,
                                            std::uint64_t seed) {
  const double accepted = ask.query.request.accepted_per_step;
  serving::OpenLoad load{.rate = rate,
                         .requests = static_cast<int>(rate * until.base() * 1.1) + 100,
                         .prompt = ask.lengths.prompt,
                         .output = ask.lengths.output,
                         .seed = seed};
  // An answer takes as many steps as it has tokens over those that a step brings.
  load.output.length /= accepted;
  load.output.p99 /= accepted;
  std::vector<serving::Timed> all = serving::open_load(load);
  std::erase_if(all, [&](const serving::Timed& t) { return t.at > until.base(); });
  const double held = ask.replica.memory.kv_tokens / ask.replica.split.attention_dp;
  const serving::EngineLimits& limits = ask.replica.limits;
  for (serving::Timed& t : all) {
    // A prompt that no replica could hold beside its answer, or take in one step, is cut.
    const double most = limits.chunked_prefill ? held / 2 : std::min(held / 2, limits.token_budget);
    t.spec.prompt = std::max(1, static_cast<int>(std::min<double>(t.spec.prompt, most)));
    t.spec.output = std::max(1, static_cast<int>(std::min<double>(t.spec.output, held / 2)));
    const double shared = ask.query.request.cached_share;
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
        policy_(policy_of(ask.replica)) {
    policy_.prefix_cache = ask.serve->prefix_cache;
  }

  LoadWindow level(double rate, std::uint64_t seed) {
    seed_ = seed;
    const int replicas = std::min(kReplicasSeen, ask_.replicas);
    const double stay = stay_at(rate);
    const double counted =
        std::clamp(kCounting * stay * rate * replicas, kRequestsLeast, kRequestsMost);
    Span span{.begins = kFilling * stay};
    span.ends = span.begins + counted / (rate * replicas);
    span.last = span.ends + kDraining * stay;
    return window_of(run(rate, replicas, span, 0), rate, span);
  }

  // Requests that come from a little before the loss until the replica is back and has caught up.
  LoadWindow loss(double& restarted) {
    const int replicas = std::min(kReplicasAtLoss, ask_.replicas);
    const double stay = stay_at(ask_.high);
    const double filled = kFilling * stay;
    Span span{.begins = filled - stay, .ends = filled + back() + stay};
    span.last = span.ends + kDraining * stay;
    const serving::FleetRun done = run(ask_.high, replicas, span, filled);
    restarted = done.restarted_requests;
    return window_of(done, ask_.high, span);
  }

 private:
  double back() const { return min(ask_.start, kLossMost).base(); }

  // How long a request stays, in closed form; what a replica cannot carry stays as if it could.
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
    return (p.ttft + p.tpot * (r.output - 1)).base();
  }

  serving::FleetRun run(double rate, int replicas, const Span& span, double lose_at) {
    const auto load = window_arrivals(ask_, rate * replicas, Seconds(span.last), seed_);
    serving::FleetOptions fleet{.replicas = replicas, .lose_one_at = lose_at};
    fleet.cold = {.process = 0, .weights = back(), .graphs = 0};
    if (ask_.prefill < 1) return serving::Fleet(fleet, policy_, clock_).run(load);
    serving::ApartOptions apart{.prefill = fleet, .decode = fleet};
    apart.prefill.lose_one_at = 0;
    const double share = static_cast<double>(ask_.prefill) / ask_.replicas;
    apart.prefill.replicas = std::max(1, static_cast<int>(std::round(replicas * share)));
    apart.decode.replicas = std::max(1, replicas - apart.prefill.replicas);
    apart.bytes_per_token = workload::kv_bytes(ask_.query.model, 1, ask_.query.precision.kv).base();
    apart.port_rate = (ask_.query.nic_rate * ask_.replica.split.devices()).base();
    return run_apart(apart, policy_, clock_, policy_, clock_, load).run;
  }

  bool is_good(double ttft, double tpot, double whole) const {
    const design::Objective& o = ask_.serve->objective;
    return (!o.ttft_p99 || ttft <= o.ttft_p99->base()) &&
           (!o.tpot_p99 || tpot <= o.tpot_p99->base()) &&
           (!o.latency_p99 || whole <= o.latency_p99->base());
  }

  LoadWindow window_of(const serving::FleetRun& done, double rate, const Span& span) const {
    struct Values {
      std::vector<double> ttft, tpot, whole;
      double good = 0;
    };
    std::array<Values, kWindowParts> parts;
    // A request is seen a step after it came, and its first token crosses the server.
    const serving::Replica& r = ask_.replica;
    const double aside = (r.engine.first_token + r.tuning.first_token).base();
    const double accepted = ask_.query.request.accepted_per_step;
    LoadWindow w{.rate = rate};
    double stays = 0;
    double counted = 0;
    for (const serving::RequestRecord& record : done.records) {
      if (record.arrived < span.begins || record.arrived >= span.ends) continue;
      const double later = aside + serving::kAheadSteps * record.tpot();
      const double ttft = record.ttft() + later;
      const double tpot = record.tpot() / accepted;
      const double whole = record.e2e() + later;
      const double at = (record.arrived - span.begins) / (span.ends - span.begins);
      Values& v = parts[std::min(kWindowParts - 1, static_cast<std::size_t>(at * kWindowParts))];
      v.ttft.push_back(ttft);
      if (record.output > 1) v.tpot.push_back(tpot);
      v.whole.push_back(whole);
      v.good += is_good(ttft, tpot, whole) ? 1 : 0;
      stays += record.e2e();
      ++counted;
    }
    for (std::size_t i = 0; i < kWindowParts; ++i) {
      Values& v = parts[i];
      const auto n = static_cast<double>(v.whole.size());
      w.parts[i] = {.requests = n,
                    .good = n > 0 ? v.good / n : 1,
                    .ttft = points_of(std::move(v.ttft)),
                    .tpot = points_of(std::move(v.tpot)),
                    .whole = points_of(std::move(v.whole))};
    }
    // With n requests in it on average a replica computes but for the moments without any.
    w.busy = 1 - math::exp(-stays / std::max(1.0, counted) * rate);
    w.found = done.prompt_tokens > 0 ? done.cached_tokens / done.prompt_tokens : 0;
    return w;
  }

  const WindowAsk& ask_;
  machine::Costs costs_;
  serving::ServingCosts source_;
  serving::StepClock clock_;
  serving::EnginePolicy policy_;
  std::uint64_t seed_ = 1;  // levels are drawn apart, so that their errors are not one
};

// What a replica cannot carry has no steady state: a run counts such time as not carried.
std::vector<double> levels_of(const WindowAsk& ask) {
  std::vector<double> rates;
  for (int i = 0; i < kLevels; ++i) {
    rates.push_back(ask.low + (ask.high - ask.low) * i / (kLevels - 1));
  }
  if (ask.replicas > 1) rates.push_back(ask.high * ask.replicas / (ask.replicas - 1));
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

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask) {
  return simulate_windows(models, ask, levels_of(ask));
}

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask,
                                std::span<const double> rates) {
  Windows windows(models, ask);
  ServiceWindows done;
  for (const double rate : rates) {
    if (rate <= 0 || rate > ask.most) continue;
    done.levels.push_back(windows.level(rate, done.levels.size() + 1));
  }
  if (!done.levels.empty()) done.loss = windows.loss(done.restarted);
  return done;
}

namespace {

// Half of the 80 % interval over the deviation: of eight parts, of four, and of many.
constexpr double kStudentOfEight = 1.415;
constexpr double kStudentOfFour = 1.638;
constexpr double kNormal = 1.2816;
static_assert(kWindowParts == 8);

// Parts of a window that are left out.
struct LeftOut {
  std::size_t first = 0;
  std::size_t count = 0;

  bool has(std::size_t part) const { return part >= first && part < first + count; }
};

// So many requests fell into this value.
struct Weighted {
  double value = 0;
  double weight = 0;
};

double quantile_of(std::vector<Weighted> all, double share) {
  std::ranges::sort(all, {}, &Weighted::value);
  double sum = 0;
  for (const Weighted& w : all) sum += w.weight;
  double below = 0;
  for (const Weighted& w : all) {
    below += w.weight;
    if (below >= share * sum) return w.value;
  }
  return all.empty() ? 0 : all.back().value;
}

double requests_of(const LoadWindow& w, const LeftOut& left_out) {
  double requests = 0;
  for (std::size_t i = 0; i < kWindowParts; ++i) {
    requests += left_out.has(i) ? 0 : w.parts[i].requests;
  }
  return requests;
}

double without(std::span<const LoadWindow> levels, std::span<const double> weights,
               LatencyPoints WindowPart::* of, double share, const LeftOut& left_out) {
  std::vector<Weighted> all;
  WeightedMean<double> mean;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    const double requests = requests_of(levels[w], left_out);
    for (std::size_t i = 0; i < kWindowParts; ++i) {
      const WindowPart& part = levels[w].parts[i];
      if (left_out.has(i) || part.requests <= 0 || weights[w] <= 0) continue;
      const double weight = weights[w] * part.requests / requests / kLatencyPoints;
      for (const double value : part.*of) {
        mean.add(value, weight);
        if (share > 0) all.push_back({value, weight});
      }
    }
  }
  return share > 0 ? quantile_of(std::move(all), share) : mean.value_or(0);
}

// Of requests, those that took no longer than this.
double share_within(std::span<const LoadWindow> levels, std::span<const double> weights,
                    LatencyPoints WindowPart::* of, double most, const LeftOut& left_out) {
  WeightedMean<double> within;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    const double requests = requests_of(levels[w], left_out);
    for (std::size_t i = 0; i < kWindowParts; ++i) {
      const WindowPart& part = levels[w].parts[i];
      if (left_out.has(i) || part.requests <= 0 || weights[w] <= 0) continue;
      const auto count = std::ranges::upper_bound(part.*of, most) - (part.*of).begin();
      within.add(static_cast<double>(count) / kLatencyPoints,
                 weights[w] * part.requests / requests);
    }
  }
  return within.value_or(0);
}

// Half of the 80 % interval of a figure, by leaving out parts of so many neighbours each.
double jackknife(std::size_t neighbours, double student, const auto& figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kWindowParts; i += neighbours) {
    values.push_back(figure(LeftOut{.first = i, .count = neighbours}));
  }
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const auto n = static_cast<double>(values.size());
  return student * std::sqrt(squares * (n - 1) / n);
}

double jackknife(const auto& figure) {
  return std::max(jackknife(1, kStudentOfEight, figure), jackknife(2, kStudentOfFour, figure));
}

// Half of the 80 % interval of a share of the requests, were they independent.
double binomial_error(std::span<const LoadWindow> levels, std::span<const double> weights,
                      double share) {
  double sum = 0, squares = 0;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    sum += weights[w];
    squares += weights[w] * weights[w] / std::max(1.0, requests_of(levels[w], {}));
  }
  return sum > 0 ? kNormal * std::sqrt(share * (1 - share) * squares) / sum : 0;
}

}  // namespace

void add_weight(std::span<double> weights, std::span<const LoadWindow> levels, double rate,
                double requests) {
  if (levels.empty()) return;
  const auto above = std::ranges::lower_bound(levels, rate, {}, &LoadWindow::rate);
  const auto at = static_cast<std::size_t>(above - levels.begin());
  if (at == 0) {
    weights.front() += requests;
  } else if (at == levels.size()) {
    weights.back() += requests;
  } else {
    const double low = levels[at - 1].rate;
    const double share = (rate - low) / (levels[at].rate - low);
    weights[at - 1] += requests * (1 - share);
    weights[at] += requests * share;
  }
}

Sampled sampled(std::span<const LoadWindow> levels, std::span<const double> weights,
                LatencyPoints WindowPart::* of, double share) {
  const double value = without(levels, weights, of, share, {});
  if (value <= 0) return {};
  if (share <= 0) {
    const auto mean_of = [&](const LeftOut& l) { return without(levels, weights, of, 0, l); };
    return {.value = value, .error = jackknife(mean_of) / value};
  }
  const auto within = [&](const LeftOut& l) { return share_within(levels, weights, of, value, l); };
  const double rank = std::max(jackknife(within), binomial_error(levels, weights, share));
  const auto at = [&](double s) {
    return without(levels, weights, of, std::clamp(s, 0.5 / kLatencyPoints, 1.0), {});
  };
  return {.value = value,
          .error = std::max(at(share + rank) - value, value - at(share - rank)) / value};
}

double good_share(std::span<const LoadWindow> levels, std::span<const double> weights) {
  WeightedMean<double> good;
  for (std::size_t w = 0; w < levels.size(); ++w) {
    const double requests = std::max(1.0, requests_of(levels[w], {}));
    for (const WindowPart& part : levels[w].parts) {
      good.add(part.good, weights[w] * part.requests / requests);
    }
  }
  return good.value_or(0);
}

}  // namespace orrery::twin
