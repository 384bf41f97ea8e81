// How many replicas a service should have: the requests in flight, seen late, against a target.
//
//   wanted = ceil(requests in flight, `lag` ago / target), within [least, most]
// Within a tenth of what those wanted before would have, nothing is changed (Kubernetes' tolerance;
// without it fewer replicas hold requests longer, and more are wanted again). More are wanted at
// once; fewer only when no look of the last `hold` wanted more (Kubernetes' HorizontalPodAutoscaler
// with a stabilisation window). A policy: it knows no clock and no replica, so that a fleet of
// simulated engines (fleet.h) and a service in a run (processes/service_process.h) are driven
// alike.
// Looks come in order of time, one every `period`.
#pragma once

#include <deque>
#include <utility>

namespace orrery::traffic {

struct Autoscaler {
  double target = 0;  // outstanding requests a replica; 0: none
  double period = 15;
  double lag = 15;
  double hold = 0;
  int least = 1;
  int most = 1;
};

class AutoscalePolicy {
 public:
  // `replicas` were wanted until now.
  AutoscalePolicy(const Autoscaler& scaler, int replicas);
  int look(double at, double in_flight);

 private:
  Autoscaler scaler_;
  std::deque<std::pair<double, double>> seen_;  // time, requests in flight
  std::deque<std::pair<double, int>> wanted_;   // time, replicas
  int last_ = 0;                                // wanted at the last look
  int held_ = 0;                                // and what came of it, with the hold
};

}  // namespace orrery::traffic
