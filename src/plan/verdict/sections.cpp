#include "plan/verdict/sections.h"

#include <algorithm>

namespace orrery::verdict {

std::vector<figures::Section> all_sections(const review::Review& review) {
  std::vector<figures::Section> all;
  for (auto* part :
       {compute_sections, training_sections, serving_sections, fabric_sections, storage_sections,
        cluster_sections, pipeline_sections, facility_sections, cost_sections}) {
    for (figures::Section& s : part(review)) all.push_back(std::move(s));
  }
  std::ranges::stable_sort(all, {}, &figures::Section::layer);
  return all;
}

}  // namespace orrery::verdict
