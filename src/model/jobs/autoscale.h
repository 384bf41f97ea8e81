// Replicas that an autoscaler starts at a rate of requests.
#pragma once

#include "layers/serving/steady_state.h"
#include "model/design/design.h"

namespace orrery::jobs {

// Returns the replicas that the autoscaler's target asks for at a rate, within its bounds, given
// the requests per second at which one replica has the target in flight.
int replicas_called(const design::Autoscale& scale, double rate, double rate_at_target);

// Returns that rate in closed form: the rate X at which R requests decode and X TTFT requests wait
// for their first token.
PerSecond rate_in_flight(const serving::Replica& replica, const serving::RequestShape& request,
                         double in_flight, const serving::ServingCosts& costs);

}  // namespace orrery::jobs
