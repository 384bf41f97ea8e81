// The stages told as sections of the verdict: figures with their interval, origin and arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "plan/plan/stages.h"
#include "plan/plan/verdict.h"

namespace orrery::plan {

// "1 node", "127 nodes".
inline std::string how_many(std::int64_t n, const char* noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::vector<figures::Section> compute_sections(const Review& review);
std::vector<figures::Section> training_sections(
    const Review& review);  // training, storage, failure
std::vector<figures::Section> serving_sections(const Review& review);
std::vector<figures::Section> cluster_sections(const Review& review);
std::vector<figures::Section> pipeline_sections(const Review& review);
std::vector<figures::Section> fabric_sections(const Review& review);
std::vector<figures::Section> storage_sections(const Review& review);
std::vector<figures::Section> facility_sections(const Review& review);
std::vector<figures::Section> cost_sections(const Review& review);

// In the order of Layer.
std::vector<figures::Section> all_sections(const Review& review);

}  // namespace orrery::plan
