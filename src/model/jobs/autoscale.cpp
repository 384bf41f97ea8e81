#include "model/jobs/autoscale.h"

#include <algorithm>
#include <cmath>

namespace orrery::jobs {
namespace {

constexpr double kRounding = 1e-9;
constexpr int kFlightBisections = 30;

}  // namespace

int replicas_called(const design::Autoscale& scale, double rate, double rate_at_target) {
  const double wanted = std::ceil(rate / rate_at_target - kRounding);
  return static_cast<int>(std::clamp<double>(wanted, scale.min, scale.max));
}

PerSecond rate_in_flight(const serving::Replica& replica, const serving::RequestShape& request,
                         double in_flight, const serving::ServingCosts& costs) {
  double low = 0;
  double high = in_flight;
  for (int i = 0; i < kFlightBisections; ++i) {
    const double middle = (low + high) / 2;
    const serving::ServingPoint p = steady_arrivals(replica, request, middle, costs);
    // A request that still waits for retrieval is not yet at a replica.
    (middle + p.requests * (p.ttft - request.before) < in_flight ? low : high) = middle;
  }
  return steady_arrivals(replica, request, high, costs).requests;
}

}  // namespace orrery::jobs
