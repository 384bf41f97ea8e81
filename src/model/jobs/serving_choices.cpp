#include "model/jobs/serving_choices.h"

#include <algorithm>
#include <cmath>

#include "core/base/constants.h"
#include "core/workload/model_math.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kPromptQueueLoad;
using figures::assumptions::kReplicaLoad;
using orrery::math::kLog100;
using orrery::math::kNormal99;

// What one replica of each kind carries.
struct Carried {
  ServingChoice choice;  // engine, format, tp
  int each = 1;          // replicas per accelerator, if it is cut
  PerSecond joined;      // requests per second; 0: it meets no objective
  double batch = 0;
  Seconds ttft;
  Seconds tpot;
  PerSecond prefill;
  PerSecond decode;
  double decode_batch = 0;
  Seconds prefill_ttft;
  Seconds decode_tpot;
};

void fill_prefill(Carried& c, const serving::Replica& r, const serving::RequestShape& request,
                  const serving::ServingTarget& target, const serving::ServingCosts& costs,
                  BytesPerSecond link) {
  const double fresh = std::max(1.0, request.input * (1 - request.cached_share));
  const double chunks = std::ceil(fresh / r.limits.token_budget);
  const serving::Iteration chunk{
      .prompts = 1,
      .prompt_tokens = fresh / chunks,
      .prompt_cached = request.input - fresh + fresh * (chunks - 1) / (2 * chunks)};
  const Seconds prompt = serving::step_time(r, chunk, costs).total * chunks;
  const Seconds moved = workload::kv_bytes(r.model, request.input, r.precision.kv) / link;
  const Seconds fixed = prompt + moved + r.engine.first_token + r.tuning.first_token;
  double load = kPromptQueueLoad;
  if (target.ttft_p99 > Seconds(0)) {
    const double waits = (target.ttft_p99 - fixed) / prompt / kLog100;  // mean prompts waiting
    load = std::clamp(2 * waits / (1 + 2 * waits), 0.0, kPromptQueueLoad);
    if (waits <= 0) load = 0;
  }
  c.prefill = PerSecond(load / prompt.base());
  c.prefill_ttft = fixed + prompt * (load / (2 * (1 - load)));
}

void fill_decode(Carried& c, const serving::Replica& r, const serving::RequestShape& request,
                 const serving::ServingTarget& target, const serving::ServingCosts& costs) {
  const double context = request.input + request.output / 2;
  const auto step = [&](double b) {
    return serving::step_time(
               r, {.decoding = b, .context = context, .tokens_per_step = request.checked_per_step},
               costs)
               .total /
           request.accepted_per_step;
  };
  double low = 0;
  double high = std::floor(std::min(r.memory.requests(context), r.limits.max_sequences)) + 1;
  while (high - low > 1) {
    const double b = std::floor((low + high) / 2);
    const Seconds slow = step(b) * (1 + kNormal99 / std::sqrt(b));
    (target.tpot_p99 <= Seconds(0) || slow <= target.tpot_p99 ? low : high) = b;
  }
  if (low < 1) return;
  c.decode_batch = low;
  c.decode_tpot = step(low);
  c.decode = PerSecond(low / (request.output * c.decode_tpot.base()));
}

std::vector<Carried> carried_by(const machine::Models& models, const ServingAsk& ask) {
  std::vector<Carried> all;
  ServingQuery q{.model = ask.model,
                 .accelerator = ask.accelerator,
                 .slice = ask.slice,
                 .request = ask.request,
                 .adapters = ask.adapters};
  for (const std::string& engine : ask.engines) {
    for (const catalog::Dtype format : ask.formats) {
      for (int tp = ask.tp > 0 ? ask.tp : 1; tp <= std::max(ask.tp, ask.most_tp); tp *= 2) {
        q.engine = engine;
        q.precision = {.products = format, .experts = format, .kv = format};
        if (format == catalog::Dtype::fp4) q.precision.kv = catalog::Dtype::fp8;
        q.split = {.tp = tp, .ep = 1};
        const auto replica = replica_of(models, q);
        if (replica) {
          const machine::Costs device = serving_costs(models, q);
          const serving::ServingCosts costs = serving_source(device);
          Carried c{.choice = {.engine = engine, .format = format, .tp = tp},
                    .each = ask.slice ? ask.slice->each : 1};
          c.choice.error = serving_error(device.device(), q);
          const serving::ServingPoint p = capacity(*replica, ask.request, ask.target, costs);
          c.joined = p.concurrency >= 1 ? p.requests : PerSecond(0);
          c.batch = p.concurrency, c.ttft = p.ttft, c.tpot = p.tpot;
          c.choice.adapters = adapter_view(*replica, p, ask.request);
          fill_prefill(c, *replica, ask.request, ask.target, costs, q.nic_rate * tp);
          fill_decode(c, *replica, ask.request, ask.target, costs);
          all.push_back(std::move(c));
        }
        if (ask.tp > 0) break;
      }
    }
  }
  return all;
}

int gpus_of(const Carried& c, double replicas) {
  return static_cast<int>(std::ceil(replicas / c.each)) * c.choice.tp;
}

ServingChoice joined_choice(const Carried& c, double replicas) {
  ServingChoice choice = c.choice;
  choice.replicas = replicas;
  choice.gpus = gpus_of(c, replicas);
  choice.batch = c.batch;
  choice.users = c.batch * replicas;
  choice.requests = c.joined * replicas;
  choice.ttft = c.ttft, choice.tpot = c.tpot;
  return choice;
}

ServingChoice apart_choice(const Carried& c, double prefill, double decode, double output) {
  ServingChoice choice = c.choice;
  choice.apart = true;
  choice.prefill = prefill;
  choice.replicas = prefill + decode;
  choice.gpus = gpus_of(c, choice.replicas);
  choice.batch = c.decode_batch;
  choice.requests = min(c.prefill * prefill, c.decode * decode);
  choice.ttft = c.prefill_ttft, choice.tpot = c.decode_tpot;
  choice.users = choice.requests.base() * (choice.ttft + choice.tpot * (output - 1)).base();
  return choice;
}

}  // namespace

std::vector<ServingChoice> serving_within(const machine::Models& models, const ServingAsk& ask,
                                          int gpus) {
  std::vector<ServingChoice> choices;
  for (const Carried& c : carried_by(models, ask)) {
    const double n = std::floor(static_cast<double>(gpus) * c.each / c.choice.tp);
    if (ask.joined && n >= 1 && c.joined > PerSecond(0)) choices.push_back(joined_choice(c, n));
    if (!ask.apart || n < 2 || c.prefill <= PerSecond(0) || c.decode <= PerSecond(0)) continue;
    // p X_p = (n - p) X_d; takes the better of the two neighbouring whole numbers.
    const double even = n * c.decode.base() / (c.decode + c.prefill).base();
    const auto at = [&](double p) {
      p = std::clamp(p, 1.0, n - 1);
      return apart_choice(c, p, n - p, ask.request.output);
    };
    const ServingChoice below = at(std::floor(even));
    const ServingChoice above = at(std::ceil(even));
    choices.push_back(below.requests >= above.requests ? below : above);
  }
  std::ranges::stable_sort(choices, std::greater{}, &ServingChoice::users);
  return choices;
}

std::vector<ServingChoice> serving_for(const machine::Models& models, const ServingAsk& ask,
                                       PerSecond rate) {
  std::vector<ServingChoice> choices;
  for (const Carried& c : carried_by(models, ask)) {
    const auto replicas = [&](PerSecond each) {
      return serving::replicas_needed(rate, each, kReplicaLoad);
    };
    if (ask.joined && c.joined > PerSecond(0)) {
      choices.push_back(joined_choice(c, replicas(c.joined)));
    }
    if (!ask.apart || c.prefill <= PerSecond(0) || c.decode <= PerSecond(0)) continue;
    choices.push_back(apart_choice(c, replicas(c.prefill), replicas(c.decode), ask.request.output));
  }
  std::ranges::stable_sort(choices, {}, &ServingChoice::gpus);
  return choices;
}

}  // namespace orrery::jobs
