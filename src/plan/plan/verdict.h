// The verdict: what the review of a design says, layer by layer. Pure data; report/ renders it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/bill.h"
#include "model/design/change.h"
#include "model/figures/goals.h"
#include "model/figures/section.h"

namespace orrery::plan {

// A rule that the design breaks (error, warning) or something worth knowing (note).
struct Finding {
  Severity severity = Severity::warning;
  std::string rule;  // "facility.rack-above-cooling", as `orrery explain rules` lists them
  figures::Layer layer = figures::Layer::facility;
  Place place;
  std::string what;
  std::string why;
  std::string fix;
  std::optional<design::Change> edit;  // that cures it, for one click
};

// One change worth money: what it adds to the yearly cost, and what a useful unit costs before and
// after.
struct Spend {
  std::string what;  // "checkpoint asynchronously"
  design::Change change;
  double cost_usd_per_year = 0;
  double goodput_before = 0;
  double goodput_after = 0;
  double unit_cost_before_usd = 0;  // per useful GPU-hour
  double unit_cost_after_usd = 0;
};

struct Verdict {
  std::string design;
  std::string version;
  std::string digest;
  std::string summary;  // one sentence: passes or fails, and what binds
  std::vector<figures::Section> sections;
  std::vector<Finding> findings;  // errors first, then by place
  std::vector<figures::GoalOutcome> goals;
  std::vector<Spend> spends;        // best first; empty where nothing pays
  std::vector<std::string> coarse;  // layers whose model is still plain, and how far off it may be
  catalog::Bill bill;

  // nullptr where there is none; `section` empty means the first section of the layer that has it.
  const figures::Figure* figure(figures::Layer layer, std::string_view id,
                                std::string_view section = {}) const;
  bool passes() const;  // no error among the findings and every goal met
};

}  // namespace orrery::plan
