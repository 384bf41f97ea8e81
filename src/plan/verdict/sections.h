// Turns the stages into sections of the verdict: figures with their interval, origin and
// arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "plan/review/stages.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {

// "1 node", "127 nodes".
inline std::string how_many(std::int64_t n, const char* noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::vector<figures::Section> compute_sections(const review::Review& review);
std::vector<figures::Section> training_sections(
    const review::Review& review);  // training, storage, failure
std::vector<figures::Section> serving_sections(const review::Review& review);
std::vector<figures::Section> cluster_sections(const review::Review& review);
std::vector<figures::Section> pipeline_sections(const review::Review& review);
std::vector<figures::Section> fabric_sections(const review::Review& review);
std::vector<figures::Section> storage_sections(const review::Review& review);
std::vector<figures::Section> facility_sections(const review::Review& review);
std::vector<figures::Section> cost_sections(const review::Review& review);

// Returns all sections, in the order of Layer.
std::vector<figures::Section> all_sections(const review::Review& review);

}  // namespace orrery::verdict
