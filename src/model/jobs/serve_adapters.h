// Adapters (LoRA) of a service: how the serving model is asked about them, and their figures.
#pragma once

#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/figures/figure.h"
#include "model/jobs/predict_serving.h"

namespace orrery::jobs {

serving::AdapterSet adapter_set(const design::Adapters& adapters);

// Adapters at one load of a replica.
struct AdapterView {
  serving::ReplicaAdapters adapters;
  serving::SlotUse slots;
  Seconds wait;  // mean wait for a slot
};
AdapterView adapter_view(const serving::Replica& replica, const serving::ServingPoint& point,
                         const serving::RequestShape& request);
// Returns no figures for a replica without adapters; `error` is the half-width of its latencies.
std::vector<figures::Figure> adapter_figures(const AdapterView& view, double error);

}  // namespace orrery::jobs
