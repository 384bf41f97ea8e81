// Goals of a design held against figures, whoever found them: the review or a run.
#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "model/design/design.h"
#include "model/machine/section.h"

namespace orrery::machine {

struct GoalOutcome {
  std::string text;  // as written
  Place place;
  std::string metric;
  Unit unit = Unit::ratio;
  Estimate actual;
  double bound = 0;
  bool at_least = true;
  bool known = true;  // some figure gives it; else there is nothing to show
  bool met = false;
  bool likely = false;  // met over the whole interval, not only at its middle
};

// A goal whose metric no section has is not known, and so not met.
std::vector<GoalOutcome> judge_goals(const design::Design& design,
                                     const std::vector<Section>& sections);

}  // namespace orrery::machine
