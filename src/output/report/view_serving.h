// A service of a design for drawing: latencies and goodput as the rate of a replica moves, where
// the objectives break, a replica lost at the peak, other ways to serve the same traffic, and the
// iterations of one replica in its busiest hour.
//
// Levels are windows of requests simulated one by one (processes/service_windows.h); ways to serve
// it are closed forms (jobs/serving_choices.h), so that they may differ from the levels by the
// error of both; iterations are of one replica that does both prefill and decode, also where the
// design has them apart. `breaks_at` is read on a straight line between the last level that meets
// every objective and the first that does not.
#pragma once

#include <functional>
#include <string>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::report {

// Iterations of a picture; more are no picture.
inline constexpr std::size_t kMostIterations = 240;

// `workload` by name; empty: the first that serves a transformer. Faults: "serving.no-workload",
// "serving.infeasible".
// Fails with "serving.too-large" once `stop` says so: nobody waits, or it takes too much time.
Result<std::string> serving_view_json(const review::Review& review, const std::string& workload,
                                      const std::function<bool()>& stop = {});

}  // namespace orrery::report
