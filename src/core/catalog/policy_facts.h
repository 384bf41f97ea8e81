// Facts for rules of the review: which serving engines are maintained, and which accelerators need
// an export licence for which countries. A control row is a prompt to ask counsel, not legal
// advice: the rules change several times a year, and licences exist.
#pragma once

#include <string>
#include <vector>

#include "core/base/words.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

enum class EngineStatus { active, maintenance, archived };

inline constexpr Word<EngineStatus> kEngineStatusWords[] = {
    {EngineStatus::active, "active"},
    {EngineStatus::maintenance, "maintenance"},
    {EngineStatus::archived, "archived"}};
constexpr WordTable<EngineStatus> words_of(EngineStatus) { return kEngineStatusWords; }
constexpr std::string_view to_text(EngineStatus s) { return word_of(s); }

struct ServingEngine {
  std::string id;
  std::string name;
  EngineStatus status = EngineStatus::active;
  std::string status_since;  // ISO date; empty if active from the start
  std::string replaced_by;   // what its maintainers recommend instead
  std::string note;
  Provenance provenance;
};

struct ExportControl {
  std::string id;
  std::string accelerator_id;
  std::string rule;                    // "ECCN 3A090.a"
  std::vector<std::string> countries;  // ISO 3166 alpha-3, lower case
  std::string note;
  Provenance provenance;

  bool covers(const std::string& country) const;
};

}  // namespace orrery::catalog
