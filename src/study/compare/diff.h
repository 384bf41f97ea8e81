// Two designs compared: what differs, what that does to cost and goodput, and which section did it.
//
// Each section of the file that differs (site, fleet, fabric ...) is put into the first design
// alone and reviewed: the change of cost and goodput is that section's own. The changes that
// sections cause only together are the remainder, and are shown as such.
#pragma once

#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/machine/models.h"
#include "plan/review/stages.h"
#include "plan/verdict/verdict.h"

namespace orrery::compare {

struct SectionEffect {
  std::string section;  // "fabric"; "together" for the remainder
  double cost_usd_per_year = 0;
  double goodput = 0;        // difference
  double unit_cost_usd = 0;  // per useful accelerator-hour
};

struct FigureChange {
  figures::Layer layer = figures::Layer::compute;
  std::string section;
  std::string label;
  figures::Unit unit = figures::Unit::count;
  double before = 0;
  double after = 0;

  double relative() const { return before != 0 ? after / before - 1 : 0; }
};

struct DesignDiff {
  std::string before_name;
  std::string after_name;
  std::string before_digest;
  std::string after_digest;
  std::string verdict;             // one line, short enough for a pull request
  std::vector<std::string> lines;  // "- old" and "+ new" of the canonical text
  std::vector<SectionEffect> effects;
  std::vector<FigureChange> figures;  // largest relative change first
  std::vector<rules::Finding> fixed;
  std::vector<rules::Finding> broken;
  bool passed_before = false;
  bool passes_after = false;

  bool same() const { return before_digest == after_digest; }
};

DesignDiff compare(const design::Design& before, const design::Design& after,
                   const machine::Models& models);

// The same for designs that are reviewed already, with spends or without.
struct Reviewed {
  const review::Review& stages;
  const verdict::Verdict& verdict;
};
DesignDiff compare(const Reviewed& before, const Reviewed& after, const machine::Models& models);

}  // namespace orrery::compare
