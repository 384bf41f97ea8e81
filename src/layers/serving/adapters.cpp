#include "layers/serving/adapters.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/probability.h"

namespace orrery::serving {
namespace {

// Time of zeroing, shrink and expand in a captured graph, for one product of one layer.
constexpr Seconds kProductLaunch = microseconds(7);
// Relative to the time of a pass over the same bytes, and to the device's dense peak.
constexpr double kPassFactor = 1.09;
constexpr double kPeakShare = 0.2;
constexpr Seconds kTensorCopy = microseconds(2.6);
constexpr double kAdapterBytes = 2;  // bytes
// Ranks for which vLLM keeps slots.
constexpr int kVllmRanks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
// This many of the most used adapters are modelled singly; the rest are grouped into classes whose
// sizes grow by a constant factor.
constexpr int kSingle = 16;
constexpr double kTogether = 1.25;
constexpr int kSlotBisections = 60;
constexpr int kRunningBisections = 20;
// A wait, in request times, that counts as endless.
constexpr double kLongestWait = 1e4;
// Relative to an exponential tail: requests that wait for one adapter run together. Fitted on runs
// of toy engines.
constexpr double kLighterTail = 0.5;

// Returns the mean number of distinct adapters among `requests` requests.
double adapters_of(const std::vector<AdapterClass>& use, double requests) {
  double mean = 0;
  for (const AdapterClass& c : use) mean += c.many * (1 - math::exp(-c.share * requests));
  return mean;
}

// Returns the share of requests whose adapter none of `requests` other requests has.
double alone_among(const std::vector<AdapterClass>& use, double requests) {
  double share = 0;
  for (const AdapterClass& c : use) share += c.many * c.share * math::exp(-c.share * requests);
  return share;
}

// Returns how many requests have `adapters` distinct adapters on average; the mean grows with the
// requests.
double requests_with(const std::vector<AdapterClass>& use, double adapters) {
  double low = 0;
  double high = 1;
  while (adapters_of(use, high) < adapters && high < 1e12) high *= 2;
  for (int i = 0; i < kSlotBisections; ++i) {
    const double middle = (low + high) / 2;
    (adapters_of(use, middle) < adapters ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::vector<AdapterClass> adapter_use(int count, double skew) {
  std::vector<AdapterClass> use;
  double sum = 0;
  for (int first = 1; first <= count;) {
    const int many = first <= kSingle ? 1 : std::max(1, static_cast<int>(first * (kTogether - 1)));
    const int end = std::min(count + 1, first + many);
    double share = 0;
    for (int i = first; i < end; ++i) share += math::pow(i, -skew);
    use.push_back({.share = share / (end - first), .many = 1.0 * (end - first)});
    sum += share;
    first = end;
  }
  for (AdapterClass& c : use) c.share /= sum;
  return use;
}

AdapterDraw::AdapterDraw(int count, double skew) {
  double sum = 0;
  for (int i = 1; i <= count; ++i) up_to_.push_back(sum += math::pow(i, -skew));
}

int AdapterDraw::operator()(RandomStream& stream) const {
  if (up_to_.empty()) return 0;
  const double at = stream.uniform() * up_to_.back();
  const auto found = std::ranges::upper_bound(up_to_, at);
  return static_cast<int>(
             std::min<std::ptrdiff_t>(found - up_to_.begin(), std::ssize(up_to_) - 1)) +
         1;
}

int reserved_rank(engines::EngineKind engine, int rank) {
  if (engine != engines::EngineKind::vllm) return rank;
  const auto* at = std::ranges::lower_bound(kVllmRanks, rank);
  return at == std::end(kVllmRanks) ? rank : *at;
}

ReplicaAdapters adapters_on(const catalog::ModelShape& model, const ServingSplit& split,
                            const AdapterSet& set, engines::EngineKind engine,
                            const AdapterDevice& device) {
  ReplicaAdapters a;
  a.set = set;
  a.use = adapter_use(set.count, set.skew);
  a.rate = device.products * kPeakShare;
  double sides = 0;
  double copies = 0;
  for (const workload::AdaptedProduct& p : workload::adapted_products(model, set.targets)) {
    const double layers = p.layers * p.experts / split.pp;
    const double in = p.slices * (p.rows_cut ? p.in / split.tp : p.in);
    const double out = p.rows_cut ? p.out : p.out / split.tp;
    sides += layers * (in + out);
    a.products += layers;
    a.token_bytes += layers * kAdapterBytes * (in + 2 * out);
    copies += layers * 2 * p.slices;
  }
  a.token_flops = 2 * set.rank * sides;
  a.each = Bytes(kAdapterBytes * set.rank * sides);
  const int kept = reserved_rank(engine, static_cast<int>(set.rank));
  a.reserved = a.each * (set.slots * kept / set.rank);
  a.load = kTensorCopy * copies + a.each / device.port;
  if (set.slots < set.count) a.missed = alone_among(a.use, requests_with(a.use, set.slots));
  return a;
}

ServingOpCost adapter_cost(const ReplicaAdapters& a, double tokens, double distinct,
                           const ServingCosts& costs) {
  if (!a.any() || distinct <= 0 || tokens <= 0) return {};
  const Bytes read = a.each * distinct + Bytes(a.token_bytes * tokens);
  ServingOpCost cost = costs.kernel(workload::MemoryPass{.read = read, .written = {}});
  const double moved = (cost.time * kPassFactor).base();
  const double counted = (Flops(a.token_flops * tokens) / a.rate).base();
  cost.time = Seconds(math::hypot(moved, counted)) + kProductLaunch * a.products;
  return cost;
}

double running_adapters(const ReplicaAdapters& a, double running) {
  if (!a.any() || running <= 0) return 0;
  const double mean = std::max(std::min(1.0, running), adapters_of(a.use, running));
  return std::min<double>(a.set.slots, mean);
}

namespace {

// Adapters that take turns in the slots, with times in units of a request's time. Each is idle
// until it is requested, waits for a slot, and runs until none of its requests is left.
class SlotTurns {
 public:
  SlotTurns(const ReplicaAdapters& a, double running) : slots_(a.set.slots) {
    for (const AdapterClass& c : a.use) {
      const double x = c.share * running;
      const double runs = std::min(kLongestWait, math::expm1(x) / x);
      turns_.push_back({.many = c.many, .share = c.share, .rate = x, .runs = runs});
    }
  }

  struct Taken {
    double mean = 0;     // slots taken
    double full = 0;     // probability that all are taken
    double release = 0;  // rate at which a taken slot is released
  };
  Taken taken(double wait) const {
    Taken t;
    double variance = 0;
    for (const Turn& turn : turns_) {
      const double share = turn.runs / (turn.runs + 1 / turn.rate + wait);
      t.mean += turn.many * share;
      variance += turn.many * share * (1 - share);
      t.release += turn.many * share / turn.runs;
    }
    t.release /= t.mean;
    t.full = normal_above((slots_ - 0.5 - t.mean) / std::sqrt(std::max(variance, 1e-12)));
    return t;
  }
  // Fixed point: the wait of an adapter's first request at which slot occupancy and wait agree.
  // even_wait() is the same without fluctuations.
  double wait() const {
    return settle([this](const Taken& t, double wait) {
      return t.mean >= slots_ || t.full / (t.release * (slots_ - t.mean)) > wait;
    });
  }
  double even_wait() const {
    return settle([this](const Taken& t, double) { return t.mean > slots_; });
  }
  // Returns the mean wait over all requests; one that arrives while its adapter waits has the rest
  // of that wait.
  double mean(double wait) const {
    double sum = 0;
    for (const Turn& t : turns_) {
      const double all = wait + t.rate * wait * wait / 2;
      sum += t.many * t.share * all / (1 + t.rate * (t.runs + wait));
    }
    return sum;
  }
  // first() returns the share of requests that begin a turn; share() adds those that arrive during
  // a wait.
  double first(double wait) const {
    double sum = 0;
    for (const Turn& t : turns_) sum += t.many * t.share / (1 + t.rate * (t.runs + wait));
    return sum;
  }
  double share(double wait) const {
    double sum = 0;
    for (const Turn& t : turns_) {
      sum += t.many * t.share * (1 + t.rate * wait) / (1 + t.rate * (t.runs + wait));
    }
    return sum;
  }

 private:
  struct Turn {
    double many = 1;
    double share = 0;
    double rate = 0;  // rate of its requests
    double runs = 1;  // time until none is left
  };
  template <class Longer>
  double settle(Longer longer) const {
    double low = 0;
    double high = kLongestWait;
    for (int i = 0; i < kSlotBisections; ++i) {
      const double middle = (low + high) / 2;
      (longer(taken(middle), middle) ? low : high) = middle;
    }
    return low;
  }

  double slots_ = 0;
  std::vector<Turn> turns_;
};

}  // namespace

double running_with_slots(const ReplicaAdapters& a, double all) {
  if (!a.any() || all * (1 + slot_use(a, all).wait) <= all) return all;
  double low = 0;
  double high = all;
  for (int i = 0; i < kRunningBisections; ++i) {
    const double middle = (low + high) / 2;
    (middle * (1 + slot_use(a, middle).wait) < all ? low : high) = middle;
  }
  return high;
}

double prefix_found(const ReplicaAdapters& a, const PrefixCase& c) {
  double low = 0;
  double high = std::max(0.0, c.room) / std::max(1.0, c.fresh);
  for (int i = 0; i < kSlotBisections; ++i) {
    const double y = (low + high) / 2;
    const double taken = y * c.fresh + c.prefix * adapters_of(a.use, c.running + y);
    (taken < c.room ? low : high) = y;
  }
  return 1 - alone_among(a.use, c.running + high);
}

SlotUse slot_use(const ReplicaAdapters& a, double running) {
  if (a.set.slots >= a.set.count || running <= 0) return {};
  const SlotTurns turns(a, running);
  const double wait = turns.wait();
  const double even = turns.even_wait();
  const double full = turns.taken(wait).full;
  const double waiting = turns.share(wait) * full;
  const double uneven = std::max(0.0, wait - even) / std::max(full, 1e-9);
  SlotUse use{
      .loads = std::min(a.missed, turns.first(wait)), .wait = turns.mean(wait), .wait_p99 = even};
  if (waiting > 0.01) use.wait_p99 += uneven * kLighterTail * math::log(waiting / 0.01);
  use.wait_p99 = std::max(use.wait_p99, use.wait);
  return use;
}

}  // namespace orrery::serving
