// What a rule found: what is wrong, where, why, and the edit that mends it. Pure data.
#pragma once

#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "model/design_text/change.h"
#include "model/figures/section.h"

namespace orrery::rules {

// A rule that the design breaks (error, warning), or something worth knowing (note).
struct Finding {
  Severity severity = Severity::warning;
  std::string rule;  // "facility.rack-above-cooling", as `orrery explain rules` lists them
  figures::Layer layer = figures::Layer::facility;
  Place place;
  std::string what;
  std::string why;
  std::string fix;
  std::optional<design_text::Change> edit;  // cures the finding with one click
};

}  // namespace orrery::rules
