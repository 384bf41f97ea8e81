// Compares a run with the review of the same design: the goals of both, and the figures that differ
// by more than their intervals allow, with the reason if one is known.
#pragma once

#include <string_view>
#include <vector>

#include "plan/verdict/verdict.h"
#include "twin/run/run.h"

namespace orrery::report {

struct JudgedGoal {
  const figures::GoalOutcome* outcome = nullptr;
  bool by_run = false;  // false: by the review, because the run does not have this figure
};
// Returns every goal of the design in its order, with pointers into the run and the review.
std::vector<JudgedGoal> goals_of(const run::Run& run, const verdict::Verdict& review);

struct Difference {
  const figures::Section* section = nullptr;  // section of the run
  const figures::Figure* plan = nullptr;
  const figures::Figure* run = nullptr;
  std::string_view because;  // empty: reason not known
};
// Returns the figures that run and review share and whose 80 % intervals are more than 1 % of the
// value apart.
std::vector<Difference> differences(const verdict::Verdict& review, const run::Run& run);

}  // namespace orrery::report
