#include "layers/storage/cache.h"

#include <algorithm>

#include "core/base/math.h"

namespace orrery::storage {
namespace {

// Halving an interval of length 1 this often reaches the last bit of a double.
constexpr int kBisections = 60;

double lru_shuffled(double c) { return c + (1 - c) * math::log1p(-c); }

// 1 - c ln(c + (1 - c) e^(1/c)), with e^(1/c) moved out of the logarithm, because it overflows
// below c = 0.0014.
double random_shuffled(double c) { return -c * math::log((1 - c) + c * math::exp(-1 / c)); }

// Finds the root below 1 of h = e^(-(1-h)/c); h = 1 is always another root. f(h) = h - e^(-(1-h)/c)
// is negative at 0 and positive just below 1, because its slope there is 1 - 1/c < 0.
double random_fixed(double c) {
  double low = 0;
  double high = 1 + c * math::log(c);  // where f is largest: right of the root, left of 1
  for (int i = 0; i < kBisections; ++i) {
    const double h = (low + high) / 2;
    (h < math::exp(-(1 - h) / c) ? low : high) = h;
  }
  return (low + high) / 2;
}

double random_rate(EpochOrder order, double c) {
  return order == EpochOrder::shuffled ? random_shuffled(c) : random_fixed(c);
}

}  // namespace

double hit_rate(catalog::EvictionPolicy policy, EpochOrder order, double cache_share) {
  const double c = std::clamp(cache_share, 0.0, 1.0);
  if (c <= 0) return 0;
  if (c >= 1) return 1;
  switch (policy) {
    case catalog::EvictionPolicy::pin:
    case catalog::EvictionPolicy::belady:
      return c;
    case catalog::EvictionPolicy::lru:
      return order == EpochOrder::shuffled ? lru_shuffled(c) : 0;
    case catalog::EvictionPolicy::random:
      return random_rate(order, c);
  }
  return 0;
}

double mean_hit_rate(double warm_hit_rate, double epochs) {
  if (epochs <= 1) return 0;
  return warm_hit_rate * (epochs - 1) / epochs;
}

}  // namespace orrery::storage
