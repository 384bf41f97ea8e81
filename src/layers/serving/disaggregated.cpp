#include "layers/serving/disaggregated.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/workload/model_math.h"

namespace orrery::serving {
namespace {

constexpr int kHalvings = 60;

struct PrefillRate {
  Seconds prompt;      // from the prompt's start to its first token
  PerSecond requests;  // per replica
  Watts power;
};

// Waiting short prompts share a step, up to the engine's token budget. An engine's prompts take
// longer than the model's by the fitted factor `prompt_wait`.
PrefillRate prefill_rate(const DisaggregatedPool& pool, const RequestShape& r) {
  const Replica& replica = pool.replica;
  const double chunks = std::ceil(r.input / replica.limits.token_budget);
  const double ranks = replica.split.attention_dp;
  const auto step = [&](double prompts) {
    return step_time(replica,
                     {.prompts = prompts,
                      .prompt_tokens = r.input / chunks,
                      .prompt_cached = r.input * (chunks - 1) / (2 * chunks)},
                     pool.costs);
  };
  const double full = ranks * std::max(1.0, std::floor(replica.limits.token_budget / r.input));
  const StepTime shared = step(full);
  return {.prompt = step(ranks).total * chunks,
          .requests = full / (shared.total * chunks * replica.tuning.prompt_wait),
          .power = shared.power};
}

}  // namespace

DisaggregatedPoint disaggregated_loop(const DisaggregatedPool& prefill,
                                      const DisaggregatedPool& decode, const RequestShape& r,
                                      double concurrency, BytesPerSecond transfer_rate) {
  DisaggregatedPoint p;
  const PrefillRate rate = prefill_rate(prefill, r);
  const double servers = prefill.replicas * prefill.replica.split.attention_dp;
  const double most = rate.requests.base() * prefill.replicas;
  const Bytes keys =
      workload::kv_bytes(prefill.replica.model, r.input, prefill.replica.precision.kv);
  p.prefill = rate.prompt;
  p.prefill_power = rate.power;
  p.transfer = transfer_rate > BytesPerSecond(0) ? keys / transfer_rate : Seconds(0);
  const double steps = std::max(1.0, r.output - 1) / r.accepted_per_step;
  const auto decode_step = [&](double b) {
    const double each = std::max(1.0, b / decode.replicas);
    return step_time(decode.replica,
                     {.decoding = each / decode.replica.split.pp,
                      .context = r.input + r.output / 2,
                      .tokens_per_step = r.checked_per_step},
                     decode.costs);
  };
  const auto rate_of = [&](double b) { return b / (steps * decode_step(b).total.base()); };
  const auto first = [&](double x) {
    const double rho = std::min(x / most, 0.9999);
    const double queue = math::pow(rho, std::sqrt(2 * (servers + 1)) - 1) / (servers * (1 - rho)) *
                         rate.prompt.base() / 2;
    return rate.prompt.base() + queue + p.transfer.base();
  };
  double low = 0;
  // A request without a place to decode has no first token either, because decode replicas deliver
  // it.
  double high = std::min(concurrency, decode.replicas * most_running(decode.replica, r));
  for (int i = 0; i < kHalvings; ++i) {
    const double b = (low + high) / 2;
    const double x = rate_of(b);
    (x < most && b + x * first(x) <= concurrency ? low : high) = b;
  }
  p.decoding = low;
  const StepTime step = decode_step(low);
  p.requests = PerSecond(std::min(rate_of(low), most));
  p.prefill_load = p.requests.base() / most;
  p.tpot = step.total * (steps / std::max(1.0, r.output - 1));
  p.decode_power = step.power;
  const engines::ServingTuning& tuning = prefill.replica.tuning;
  const Seconds overhead = around_first_token(prefill.replica);
  // The factor by which an engine's prompts take longer applies on separate replicas too.
  p.ttft = max(Seconds(first(p.requests.base())) + rate.prompt * (tuning.prompt_wait - 1),
               Seconds((concurrency - low) / std::max(1e-9, p.requests.base()))) +
           overhead;
  if (r.requests_per_client > 0) {
    p.ttft +=
        step.total * tuning.poll_steps + Seconds(concurrency / most / 2 / r.requests_per_client);
  }
  return p;
}

}  // namespace orrery::serving
