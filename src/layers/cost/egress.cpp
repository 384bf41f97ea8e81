#include "layers/cost/egress.h"

#include <limits>

namespace orrery::cost {

Usd run_cost(double accelerators, Seconds duration, UsdPerSecond per_useful_hour) {
  return per_useful_hour * duration * accelerators;
}

std::vector<PriceStep> aws_egress_steps() {
  const auto per_gb = [](double v) { return usd(v) / gigabytes(1); };
  return {{terabytes(10), per_gb(0.09)},
          {terabytes(50), per_gb(0.085)},
          {terabytes(150), per_gb(0.07)},
          {Bytes(std::numeric_limits<double>::infinity()), per_gb(0.05)}};
}

Usd egress_cost(Bytes volume, std::span<const PriceStep> steps) {
  Usd cost;
  Bytes done;
  for (std::size_t i = 0; i < steps.size() && done < volume; ++i) {
    const bool last = i + 1 == steps.size();
    const Bytes end = last ? volume : min(volume, steps[i].up_to);
    if (end <= done) continue;
    cost += (end - done) * steps[i].price;
    done = end;
  }
  return cost;
}

}  // namespace orrery::cost
