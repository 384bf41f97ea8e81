// Adapters (LoRA) of a service: how the serving model is asked about them, and their figures.
#pragma once

#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/figures/figure.h"
#include "model/jobs/predict_serving.h"

namespace orrery::jobs {

serving::AdapterSet adapter_set(const design::Adapters& adapters);

// With adapters, only requests for the same adapter share a prefix: sets the part of the shared
// prefix that the cache of a replica at its capacity still holds.
void settle_prefixes(serving::RequestShape& request, const design::Serve& serve,
                     const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::ServingTarget& target);

// Adapters at one load of a replica.
struct AdapterView {
  serving::ReplicaAdapters adapters;
  serving::SlotUse slots;
  Seconds wait;  // mean wait for a slot
};
AdapterView adapter_view(const serving::Replica& replica, const serving::ServingPoint& point,
                         const serving::RequestShape& request);
// Returns no figures for a replica without adapters; `error` is that of its latencies.
std::vector<figures::Figure> adapter_figures(const AdapterView& view, double error);

}  // namespace orrery::jobs
