#include "core/catalog/policy_facts.h"

#include <algorithm>

namespace orrery::catalog {

bool ExportControl::covers(const std::string& country) const {
  return std::ranges::find(countries, country) != countries.end();
}

}  // namespace orrery::catalog
