// How many replicas a service should have: the requests in flight, seen with a delay, against a
// target.
//
//   wanted = ceil(requests in flight, `lag` ago / target), within [least, most]
// If the load per replica is within a tenth of the target, nothing changes (Kubernetes' tolerance;
// without it, fewer replicas hold requests longer, which asks for more replicas again). Replicas
// are added at once; they are removed only if no look of the last `hold` wanted more (Kubernetes'
// HorizontalPodAutoscaler with a stabilisation window). It is a policy without a clock or replicas,
// so it drives a fleet of simulated engines (fleet.h) and a service in a run
// (processes/service_process.h) alike. Looks come in order of time, one every `period`.
#pragma once

#include <deque>
#include <utility>

namespace orrery::traffic {

struct Autoscaler {
  double target = 0;  // outstanding requests per replica; 0: no autoscaling
  double period = 15;
  double lag = 15;
  double hold = 0;
  int least = 1;
  int most = 1;
};

class AutoscalePolicy {
 public:
  // `replicas` is the number wanted so far.
  AutoscalePolicy(const Autoscaler& scaler, int replicas);
  int look(double at, double in_flight);

 private:
  Autoscaler scaler_;
  std::deque<std::pair<double, double>> seen_;  // time, requests in flight
  std::deque<std::pair<double, int>> wanted_;   // time, replicas
  int last_ = 0;                                // replicas wanted at the last look
  int held_ = 0;                                // wanted at the last look, after applying `hold`
};

}  // namespace orrery::traffic
