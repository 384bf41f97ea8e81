// Adapters (LoRA) of a service: the question to the serving model, and its figures.
#pragma once

#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/figures/figure.h"
#include "model/jobs/predict_serving.h"

namespace orrery::jobs {

serving::AdapterSet adapter_set(const design::Adapters& adapters);

// At one load of a replica.
struct AdapterView {
  serving::ReplicaAdapters adapters;
  serving::SlotUse slots;
  Seconds wait;  // for a slot, mean
};
AdapterView adapter_view(const serving::Replica& replica, const serving::ServingPoint& point,
                         const serving::RequestShape& request);
// None of a replica without adapters; `error` is that of its latencies.
std::vector<figures::Figure> adapter_figures(const AdapterView& view, double error);

}  // namespace orrery::jobs
