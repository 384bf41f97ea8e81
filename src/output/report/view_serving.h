// A service of a design for drawing: latencies and goodput as the load of a replica changes, the
// load at which objectives fail, the loss of a replica at the peak, other ways to serve the same
// traffic, and the iterations of one replica in its busiest hour.
//
// Levels are windows of requests simulated one by one (processes/service_windows.h). Ways to serve
// are closed forms (jobs/serving_choices.h), so they may differ from the levels by the errors of
// both. Iterations are those of one replica that does both prefill and decode, even if the design
// separates them. `breaks_at` is interpolated between the last level that meets every objective and
// the first that does not.
#pragma once

#include <functional>
#include <string>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::report {

// Most iterations in a drawing.
inline constexpr std::size_t kMostIterations = 240;

// `workload` is a name; empty: the first that serves a transformer. Fails with
// "serving.no-workload" or "serving.infeasible", and with "serving.too-large" if `stop` becomes
// true because the client left or the simulation takes too long.
Result<std::string> serving_view_json(const review::Review& review, const std::string& workload,
                                      const std::function<bool()>& stop = {});

}  // namespace orrery::report
