#include "layers/traffic/autoscaler.h"

#include <algorithm>
#include <cmath>

namespace orrery::traffic {

AutoscalePolicy::AutoscalePolicy(const Autoscaler& scaler, int replicas)
    : scaler_(scaler), last_(std::clamp(replicas, scaler.least, scaler.most)), held_(last_) {
  wanted_.emplace_back(0, last_);
}

int AutoscalePolicy::look(double at, double in_flight) {
  constexpr double kRounding = 1e-9;
  constexpr double kTolerance = 0.1;  // Kubernetes' default
  seen_.emplace_back(at, in_flight);
  // Keeps the newest look that is at least `lag` old, and none before it.
  while (seen_.size() > 1 && seen_[1].first <= at - scaler_.lag) seen_.pop_front();
  if (seen_.front().first <= at - scaler_.lag) {
    const double replicas = seen_.front().second / scaler_.target;
    if (std::fabs(replicas / held_ - 1) > kTolerance) {
      const double wanted = std::ceil(replicas - kRounding);
      last_ = static_cast<int>(std::clamp<double>(wanted, scaler_.least, scaler_.most));
    } else {
      last_ = held_;
    }
  }
  wanted_.emplace_back(at, last_);
  while (wanted_.front().first < at - scaler_.hold) wanted_.pop_front();
  int most = last_;
  for (const auto& [when, value] : wanted_) most = std::max(most, value);
  return held_ = most;
}

}  // namespace orrery::traffic
