#include "storage/retention.h"

#include <algorithm>
#include <cmath>

namespace orrery::storage {

RetentionVolume retain(Bytes checkpoint, Seconds run, const RetentionPolicy& policy) {
  RetentionVolume v;
  v.saves = policy.interval.base() > 0 ? std::floor(run / policy.interval) : 0;
  const double every = std::max(1.0, policy.warm_every);
  const double in_window =
      policy.interval.base() > 0 ? std::floor(policy.warm_window / policy.interval / every) : 0;
  const double milestones =
      policy.milestone.base() > 0 ? 1 + std::floor(run / policy.milestone) : 0;

  v.hot = checkpoint * (std::min<double>(policy.newest_hot, v.saves) + 1);
  v.warm = checkpoint * std::min(in_window, std::floor(v.saves / every));
  v.cold = checkpoint * std::min(milestones, v.saves);
  v.total = v.hot + v.warm + v.cold;
  v.undeleted = checkpoint * v.saves;
  v.mean_write = policy.interval.base() > 0 ? checkpoint / policy.interval : BytesPerSecond(0);
  v.written_per_day = v.mean_write * days(1);
  v.to_warm = v.warm.base() > 0 ? v.mean_write / every : BytesPerSecond(0);
  v.to_cold = milestones > 0 ? checkpoint / policy.milestone : BytesPerSecond(0);
  return v;
}

}  // namespace orrery::storage
