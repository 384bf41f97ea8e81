// The stages told as sections of the verdict: figures with their interval, origin and arithmetic.
#pragma once

#include <vector>

#include "plan/stages.h"
#include "plan/verdict.h"

namespace orrery {

std::vector<Section> compute_sections(const Review& review);
std::vector<Section> training_sections(const Review& review);  // training, storage, failure
std::vector<Section> serving_sections(const Review& review);
std::vector<Section> cluster_sections(const Review& review);
std::vector<Section> fabric_sections(const Review& review);
std::vector<Section> storage_sections(const Review& review);
std::vector<Section> facility_sections(const Review& review);
std::vector<Section> cost_sections(const Review& review);

// In the order of Layer.
std::vector<Section> all_sections(const Review& review);

}  // namespace orrery
