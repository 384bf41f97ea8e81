#include "catalog/policy_facts.h"

#include <algorithm>

namespace orrery {

const char* to_text(EngineStatus s) {
  switch (s) {
    case EngineStatus::active:
      return "active";
    case EngineStatus::maintenance:
      return "maintenance";
    case EngineStatus::archived:
      return "archived";
  }
  return "?";
}

bool ExportControl::covers(const std::string& country) const {
  return std::ranges::find(countries, country) != countries.end();
}

}  // namespace orrery
