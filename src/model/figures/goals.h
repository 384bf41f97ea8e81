// Judges the goals of a design against figures, from the review or from a run.
//
// Each word of a goal asks one question, and rows of the table of figures answer it (`sources_of`).
// Some figures come from the review only, such as the draw at nameplate. A run does not know them
// and leaves the goal to the review, so the two cannot give one goal different answers because of
// what it means.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "model/design/design.h"
#include "model/figures/section.h"

namespace orrery::figures {

// How one value is picked if several sections have the figure.
enum class Pick { first, largest, smallest, sum };

// What answers a word of a goal: the first of `ids` that any section has.
struct GoalSource {
  std::string_view metric;  // of design::goal_metrics()
  std::vector<FigureId> ids;
  Pick pick = Pick::first;
  double to_goal = 1;  // from the figure's unit to the goal's
};
std::span<const GoalSource> goal_sources();

struct GoalOutcome {
  std::string text;  // as written in the design
  Place place;
  std::string metric;
  Unit unit = Unit::ratio;
  Estimate actual;
  double bound = 0;
  bool at_least = true;
  bool known = true;  // true if some figure gives it; otherwise there is nothing to show
  bool met = false;
  bool likely = false;  // true if the goal is met over the whole interval, not only at its middle
};

// A goal whose metric no section has is not known, and so not met.
std::vector<GoalOutcome> judge_goals(const design::Design& design,
                                     const std::vector<Section>& sections);

}  // namespace orrery::figures
