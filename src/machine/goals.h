// Goals of a design held against figures, whoever found them: the review or a run.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/estimate.h"
#include "design/design.h"
#include "machine/section.h"

namespace orrery::machine {

struct GoalOutcome {
  std::string text;  // as written
  Place place;
  std::string metric;
  Unit unit = Unit::ratio;
  Estimate actual;
  double bound = 0;
  bool at_least = true;
  bool met = false;
  bool likely = false;  // met over the whole interval, not only at its middle
};

// A goal whose metric no section has is missed, and says so in its text.
std::vector<GoalOutcome> judge_goals(const design::Design& design,
                                     const std::vector<Section>& sections);

}  // namespace orrery::machine
