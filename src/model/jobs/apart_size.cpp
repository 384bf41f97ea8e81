#include "model/jobs/apart_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::jobs {
namespace {

constexpr double kManyReplicas = 1e6;

}  // namespace

ApartSize apart_size(const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::RequestShape& request, const serving::ServingTarget& target,
                     BytesPerSecond link, const ApartAsk& ask) {
  // A single decode replica whose prefill side is never the limit.
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
    s.infeasible = "a step of this split never ends: no known link joins its devices";
    return s;
  }
  const auto needed = [&](PerSecond each) {
    return std::max(1.0, serving::replicas_needed(ask.peak, each, ask.load));
  };
  s.decode = needed(s.decode_rate);
  s.prefill = ask.prefill ? *ask.prefill : needed(s.prefill_rate);
  if (s.prefill_rate * s.prefill <= ask.peak) {
    s.infeasible =
        fmt::format("{:.0f} prefill replicas handle {:.1f} prompts per second, but {:.1f} arrive",
                    s.prefill, s.prefill * s.prefill_rate.base(), ask.peak.base());
  }
  return s;
}

}  // namespace orrery::jobs
