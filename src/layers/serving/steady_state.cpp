#include "layers/serving/steady_state.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/probability.h"
#include "core/base/statistics.h"
#include "core/workload/model_math.h"

namespace orrery::serving {
namespace {

// 99th percentile of a standard normal distribution, and of an exponential relative to its mean.
constexpr double kNormal99 = 2.326;
constexpr double kExponential99 = 4.605;
// 99th percentile of a wait between those two, in standard deviations above its mean.
constexpr double kWait99 = 3;
// Points at which a distribution of lengths is evaluated, up to this many standard deviations to
// either side.
constexpr int kLengths = 25;
constexpr double kLengthsReach = 3;
// A step with at most this many queries per request is a decode (speculation checks a few at once).
constexpr double kCheckedQueries = 16;
// Ranks that attend separately exchange tokens in every layer, so each layer takes as long as the
// slowest rank: the one with the most keys, the most requests or the most requested experts. Steps
// of published tests, both aggregated and disaggregated, take a tenth longer than an even share on
// 8 to 48 ranks, and half of that on four; a log of two ranks shows none of it.
constexpr double kSlowestRank = 1.15;
constexpr double kRankDoubled = 0.05;
// A search for capacity stops here; engines allow far fewer sequences.
constexpr double kMostConcurrency = 65536;

double mean_context(const RequestShape& r) { return r.input + r.output / 2; }

// Returns decoding requests and, if `prompts` > 0, one average chunk of a prompt with half of it
// cached.
Iteration iteration_of(const Replica& replica, const RequestShape& r, double running,
                       double prompts, double chunk, double cached) {
  return {.decoding = running / replica.split.pp,
          .context = mean_context(r),
          .prompts = prompts,
          .prompt_tokens = chunk,
          .prompt_cached = cached,
          .tokens_per_step = r.checked_per_step,
          .adapters = running_adapters(replica.adapters, running + prompts)};
}

struct Chunks {
  double count = 1;
  double tokens = 0;
  double cached = 0;  // tokens cached before the mean chunk
};

Chunks chunks_of(const Replica& replica, const RequestShape& r) {
  const double fresh = std::max(1.0, r.input * (1 - r.cached_share));
  const double count = std::ceil(fresh / replica.limits.token_budget);
  const double tokens = fresh / count;
  return {.count = count, .tokens = tokens, .cached = r.input - fresh + (count - 1) / 2 * tokens};
}

double most_sequences(const Replica& replica) {
  return replica.limits.max_sequences * replica.split.attention_dp;
}

double most_in_cache(const Replica& replica, const RequestShape& r) {
  const double each = replica.engine.keeps_all_output ? r.input + r.output : mean_context(r);
  return std::max(1.0, replica.memory.requests(each));
}

// Returns the number of requests that run at once.
double running_of(const Replica& replica, const RequestShape& r, double concurrency,
                  ServingBound& bound) {
  double running = concurrency;
  if (running > most_sequences(replica)) {
    running = most_sequences(replica);
    bound = ServingBound::sequences;
  }
  if (running > most_in_cache(replica, r)) {
    running = most_in_cache(replica, r);
    bound = ServingBound::kv_cache;
  }
  return running;
}

// Returns the standard deviation of the logarithm of a length with this mean and 99th percentile.
double log_deviation(double mean, double p99) {
  if (p99 <= mean) return 0;
  const double inside = kNormal99 * kNormal99 - 2 * math::log(p99 / mean);
  return kNormal99 - std::sqrt(std::max(0.0, inside));
}

// The steps of an engine under steady arrivals.
struct Steps {
  double mean = 0;  // seconds
  double variance = 0;
  double rho = 0;
  double busy = 1;  // share of arrivals that find the engine computing

  // Step length seen by an arrival: E[T^2] / E[T].
  double seen() const { return mean + variance / mean; }
};

Steps steps_of(const ServingPoint& p, const RequestShape& r) {
  Steps s{.mean = p.tpot.base() * r.accepted_per_step, .rho = p.prefill_share};
  const double deviation = log_deviation(r.input, r.input_p99);
  const double adds = p.prefill_adds.base();
  const double squared = adds * math::exp(deviation * deviation);  // E[t_pre^2] / E[t_pre]
  s.variance = s.rho * s.mean * squared / (1 - s.rho * s.rho);
  s.busy = 1 - math::exp(-p.running);
  return s;
}

// Returns the 99th percentile over requests of the mean of their steps.
double step_mean_p99(const Steps& steps, const RequestShape& r) {
  const double deviation = log_deviation(r.output, r.output_p99);
  const double median = r.output / r.accepted_per_step * math::exp(-deviation * deviation / 2);
  // Neighbouring steps are correlated: during a long step more prompts arrive.
  const double variance = steps.variance * (1 + steps.rho) / (1 - steps.rho);
  const auto slower = [&](double level) {
    WeightedMean<double> share;
    for (int i = 0; i < kLengths; ++i) {
      const double z = kLengthsReach * (2.0 * i / (kLengths - 1) - 1);
      const double gaps = std::max(1.0, median * math::exp(deviation * z) - 1);
      const double spread = std::min(variance / gaps, steps.variance);
      const double log_spread =
          std::sqrt(math::log(1 + spread / (steps.mean * steps.mean))) + 1e-12;
      const double log_mean = math::log(steps.mean) - log_spread * log_spread / 2;
      share.add(normal_above((math::log(level) - log_mean) / log_spread), normal_density(z));
    }
    return share.value_or(0);
  };
  double low = steps.mean;
  double high = steps.mean * 64;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (slower(middle) > 0.01 ? low : high) = middle;
  }
  return low;
}

struct FirstToken {
  Seconds wait;  // mean wait behind others
  Seconds wait_p99;
  Seconds own;  // time of the steps that carry it
  Seconds own_p99;
};

void fill_percentiles(ServingPoint& p, const RequestShape& r, const FirstToken& first,
                      Seconds slow_decode) {
  const Steps steps = steps_of(p, r);
  const double late = (first.wait_p99 - first.wait).base();
  const double longer = (first.own_p99 - first.own).base();
  const double apart = (r.before_p99 - r.before).base();
  const double until_first = math::hypot(math::hypot(late, longer), apart);
  p.ttft_p99 = p.ttft + Seconds(until_first);
  const double a_step = step_mean_p99(steps, r) - steps.mean;
  const double crowd = (slow_decode - p.decode.total).base() / (1 - steps.rho);
  p.tpot_p99 = p.tpot + Seconds(math::hypot(a_step, crowd) / r.accepted_per_step);
  const double more = std::max(0.0, r.output_p99 - r.output) * p.tpot.base();
  // A long answer has many steps, and their mean is close to that of other answers.
  const double slow = (more > 0 ? crowd : math::hypot(a_step, crowd)) / r.accepted_per_step;
  const Seconds mean = p.ttft + p.tpot * (r.output - 1);
  p.whole_p99 = mean + Seconds(math::hypot(until_first, math::hypot(more, slow * (r.output - 1))));
}

}  // namespace

double most_running(const Replica& replica, const RequestShape& request) {
  return std::min(most_sequences(replica), most_in_cache(replica, request));
}

const char* to_text(ServingBound b) {
  switch (b) {
    case ServingBound::none:
      return "none";
    case ServingBound::sequences:
      return "sequences";
    case ServingBound::kv_cache:
      return "kv-cache";
  }
  return "none";
}

Seconds around_first_token(const Replica& replica) {
  return replica.engine.first_token + replica.tuning.first_token +
         replica.tuning.expert_first * workload::moe_layer_count(replica.model);
}

ServingOpCost kernel_with(const Replica& replica, const workload::Operation& op, bool expert,
                          const ServingCosts& costs) {
  const engines::ServingTuning& t = replica.tuning;
  double factor = 1 - replica.engine.kernels_hidden;
  // The fits are of 8- and 4-bit experts and caches; 16-bit ones run the vendor's kernels.
  const auto narrow = [](catalog::Dtype d) { return bytes_per_element(d) < 2; };
  if (const auto* g = std::get_if<workload::Gemm>(&op)) {
    factor = !expert ? t.products : narrow(g->dtype) ? t.experts : 1.0;
  }
  if (const auto* a = std::get_if<workload::Attention>(&op)) {
    const bool latent = replica.model.attention == catalog::AttentionKind::mla;
    factor = a->q_len > kCheckedQueries ? t.prefill : latent ? t.latent : t.decoding;
    if (!narrow(a->dtype)) factor = std::min(factor, 1.0);
  }
  return costs.kernel(op) * factor;
}

Seconds message_with(const Replica& replica, const workload::CollectiveCall& call,
                     const ServingCosts& costs) {
  return costs.collective(call) * replica.tuning.messages;
}

namespace {

double slowest_rank(int ranks) {
  if (ranks <= 2) return 1;
  return std::min(kSlowestRank, 1 + kRankDoubled * math::log2(ranks / 2.0));
}

}  // namespace

StepTime settled_step(const Replica& replica, const ServingOpCost& kernels, Seconds messages,
                      double prompts, double sequences, const ServingCosts& costs) {
  // A pipeline keeps one batch per stage in flight, so a token passes pp stages of this time.
  const double stages = replica.split.pp;
  const engines::ServingTuning& tuning = replica.tuning;
  Seconds host = replica.engine.host_step + tuning.step;
  // Each attention rank has its own host process.
  host += tuning.sequence * (sequences / replica.split.attention_dp);
  const Seconds small = (tuning.layer * replica.model.layers +
                         tuning.expert_layer * workload::moe_layer_count(replica.model) +
                         tuning.state_layer * replica.model.state_space_layers) /
                        stages;
  const SettledWork settled =
      costs.settle(kernels * slowest_rank(replica.split.attention_dp), messages + small + host);
  StepTime t;
  t.host = host;
  t.messages = messages * stages;
  t.kernels = (settled.time - messages - host) * stages;
  const Seconds launched = replica.engine.eager_layer * replica.model.layers;
  if (prompts > 0) t.host = max(t.host, launched - t.kernels - t.messages);
  t.total = t.kernels + t.messages + t.host;
  t.power = settled.power;
  return t;
}

StepTime step_time(const Replica& replica, const Iteration& iteration, const ServingCosts& costs) {
  const IterationWork work =
      iteration_work(replica.model, replica.split, replica.precision, iteration);
  ServingOpCost kernels;
  Seconds messages(0);
  for (const WorkGroup& group : work.groups) {
    ServingOpCost once;
    for (std::size_t i = 0; i < group.kernels.size(); ++i) {
      once += kernel_with(replica, group.kernels[i], group.expert[i], costs);
    }
    kernels += once * group.repeats;
    for (const workload::CollectiveCall& call : group.messages) {
      messages += message_with(replica, call, costs) * group.repeats;
    }
  }
  const double tokens =
      iteration.decoding * iteration.tokens_per_step + iteration.prompts * iteration.prompt_tokens;
  kernels += adapter_cost(replica.adapters, tokens / replica.split.attention_dp, iteration.adapters,
                          costs);
  return settled_step(replica, kernels, messages, iteration.prompts,
                      iteration.decoding + iteration.prompts, costs);
}

namespace {

// All clients of a test start at once; each client's first of `requests_per_client` requests is in
// that burst.
FirstToken after_burst(const Replica& replica, const RequestShape& r, const ServingPoint& p,
                       const Chunks& chunks) {
  const double others = std::max(0.0, p.running - 1);
  FirstToken first{.own = p.prefill, .own_p99 = p.prefill};
  first.wait = p.decode.total * (others > 0 ? 0.5 : 0.0) +
               p.prefill_adds * (p.prefill_share / (2 * (1 - p.prefill_share)));
  const double a_step = std::clamp(replica.limits.token_budget / chunks.tokens, 1.0, p.running);
  first.wait += p.prefill_adds * ((others + a_step - 1) / 2 / r.requests_per_client);
  first.wait_p99 = first.wait * kExponential99;
  return first;
}

// Requests arrive one by one, at an engine that is computing or idle.
FirstToken after_arrival(const Replica& replica, const RequestShape& r, const ServingPoint& p,
                         const ServingCosts& costs) {
  const Steps steps = steps_of(p, r);
  const auto alone = [&](double input) {
    RequestShape one = r;
    one.input = input;
    const Chunks chunks = chunks_of(replica, one);
    const Iteration i = iteration_of(replica, one, 0, 1, chunks.tokens, chunks.cached);
    return step_time(replica, i, costs).total * chunks.count;
  };
  FirstToken first{.own = p.prefill, .own_p99 = p.prefill};
  if (r.input_p99 > r.input) first.own_p99 = alone(r.input_p99);
  const double count = chunks_of(replica, r).count;
  // The steps that carry it also advance the other requests.
  const double beside = std::max(0.0, (p.decode.total * count + p.prefill_adds - p.prefill).base());
  const double ahead = kAheadSteps * steps.mean;
  const double rest = steps.seen() / 2;
  const double prompts = steps.rho * steps.seen();
  first.wait = Seconds(steps.busy * (rest + prompts + beside + ahead));
  // The remaining time is uniform within a step; the prompts beside it vary as in any step.
  const double spread =
      std::sqrt(steps.seen() * steps.seen() / 12 + steps.variance * (0.25 + steps.rho));
  first.wait_p99 = first.wait + Seconds(kWait99 * spread);
  return first;
}

// `runs` is the time of a request once it has a slot for its adapter.
void add_slot_wait(FirstToken& first, const SlotUse& slots, Seconds runs) {
  if (slots.wait_p99 <= 0) return;
  const double late = (first.wait_p99 - first.wait).base();
  const double slot = (runs * (slots.wait_p99 - slots.wait)).base();
  first.wait += runs * slots.wait;
  first.wait_p99 = first.wait + Seconds(math::hypot(late, slot));
}

// Which requests the concurrency counts. clients: all clients of a closed loop, decoding or waiting
// for a first token. decoding: under steady arrivals, the decoding requests; each meets the mean
// number of others.
enum class Counted { clients, decoding };

ServingPoint point_of(const Replica& replica, const RequestShape& r, double concurrency,
                      Counted counted, const ServingCosts& costs) {
  ServingPoint p;
  p.concurrency = concurrency;
  p.running = running_of(replica, r, concurrency, p.bound);
  if (counted == Counted::clients) p.running = running_with_slots(replica.adapters, p.running);
  const Chunks chunks = chunks_of(replica, r);
  // Each attention rank prefills one prompt in the same step.
  const double together = std::min<double>(replica.split.attention_dp, std::max(1.0, p.running));
  const auto step = [&](double running, double prompts) {
    return step_time(
        replica, iteration_of(replica, r, running, prompts, chunks.tokens, chunks.cached), costs);
  };
  const double batch = counted == Counted::clients ? p.running : std::max(1.0, p.running);
  p.decode = step(batch, 0);
  const StepTime mixed = step(batch, together);
  const StepTime alone = step(0, together);
  SlotUse slots = slot_use(replica.adapters, p.running);
  const Seconds loading = replica.adapters.load * slots.loads;
  p.prefill = alone.total * chunks.count + loading;
  p.prefill_adds = (mixed.total - p.decode.total) * (chunks.count / together) + loading;

  const double steps = r.output / r.accepted_per_step;
  const double others = std::max(0.0, p.running - 1);
  const double met = counted == Counted::clients ? others : p.running;
  p.tpot = (p.decode.total * steps + p.prefill_adds * met) / r.output;
  p.prefill_share = std::min(0.95, p.running * p.prefill_adds / (r.output * p.tpot));
  const Seconds around = around_first_token(replica);
  FirstToken first = r.requests_per_client > 0 ? after_burst(replica, r, p, chunks)
                                               : after_arrival(replica, r, p, costs);
  // Clients that wait for a slot are already counted among those that wait for others to end.
  if (counted == Counted::clients) slots.wait = 0;
  add_slot_wait(first, slots, first.own + p.tpot * (r.output - 1));
  const Seconds own = first.own + first.wait + around + p.tpot * (r.output - 1);
  const Seconds queue = own * ((concurrency - p.running) / p.running);
  first.wait += queue;
  first.wait_p99 += queue * kExponential99;
  // Tests configure how rarely a busy engine checks for requests; a service checks at every step.
  if (r.requests_per_client > 0) {
    first.wait +=
        p.prefill * (replica.tuning.prompt_wait - 1) + p.decode.total * replica.tuning.poll_steps;
  }
  p.ttft = r.before + max(first.own, first.own + first.wait + around);
  p.requests = p.running / (counted == Counted::clients ? own : p.tpot * r.output);
  p.output_tokens_per_s = p.requests.base() * r.output;
  p.total_tokens_per_s = p.requests.base() * (r.output + r.input);
  p.power = p.decode.power * (1 - p.prefill_share) + mixed.power * p.prefill_share;
  p.energy_per_output_token = p.power * replica.split.devices() / PerSecond(p.output_tokens_per_s);
  const double running99 = p.running + kNormal99 * std::sqrt(others);
  fill_percentiles(p, r, first, step(std::max(batch, running99), 0).total);
  return p;
}

}  // namespace

ServingPoint closed_loop(const Replica& replica, const RequestShape& r, double concurrency,
                         const ServingCosts& costs) {
  return point_of(replica, r, concurrency, Counted::clients, costs);
}

ServingPoint steady_arrivals(const Replica& replica, const RequestShape& r, double decoding,
                             const ServingCosts& costs) {
  return point_of(replica, r, decoding, Counted::decoding, costs);
}

ServingPoint capacity(const Replica& replica, const RequestShape& request,
                      const ServingTarget& target, const ServingCosts& costs) {
  const auto within = [](Seconds value, Seconds bound) {
    return bound <= Seconds(0) || value <= bound;
  };
  const auto meets = [&](const ServingPoint& p) {
    return within(p.ttft_p99, target.ttft_p99) && within(p.tpot_p99, target.tpot_p99) &&
           within(p.ttft, target.ttft_mean) && within(p.tpot, target.tpot_mean) &&
           p.bound == ServingBound::none;
  };
  ServingPoint best;
  double low = 0;
  double high = kMostConcurrency;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    const ServingPoint p = steady_arrivals(replica, request, middle, costs);
    if (meets(p)) {
      low = middle;
      best = p;
    } else {
      high = middle;
    }
  }
  return best;
}

double replicas_needed(PerSecond arrivals, PerSecond per_replica, double load) {
  if (arrivals <= PerSecond(0) || per_replica <= PerSecond(0)) return 0;
  return std::ceil(arrivals / (per_replica * load));
}

StaticBatch static_batching(const Replica& replica, const RequestShape& r, double output_cv,
                            double output_limit, double concurrency, const ServingCosts& costs) {
  const double in_cache = replica.memory.requests(r.input + output_limit);
  const double batch =
      std::max(1.0, std::floor(std::min({concurrency, in_cache, replica.limits.max_sequences})));
  // Mean of the longest of n outputs: H_n times the mean for exponential lengths (coefficient of
  // variation 1), the mean itself for equal lengths, and linear in between.
  double harmonic = 0;
  for (int i = 1; i <= static_cast<int>(batch); ++i) harmonic += 1.0 / i;
  const double longest = std::min(output_limit, r.output * (1 + output_cv * (harmonic - 1)));
  const RequestShape padded{.input = r.input, .output = longest};
  const StepTime decode = step_time(replica, iteration_of(replica, padded, batch, 0, 0, 0), costs);
  const Chunks chunks = chunks_of(replica, r);
  const StepTime prefill =
      step_time(replica, iteration_of(replica, r, 0, 1, chunks.tokens, chunks.cached), costs);
  const Seconds drained = prefill.total * (chunks.count * batch) + decode.total * longest;
  return {.batch = batch, .output_tokens_per_s = batch * r.output / drained.base()};
}

}  // namespace orrery::serving
