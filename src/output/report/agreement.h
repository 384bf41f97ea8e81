// A run beside the review of the same design: the goals of both, and the figures that are further
// apart than their intervals allow, with the reason where one is known.
#pragma once

#include <string_view>
#include <vector>

#include "plan/verdict/verdict.h"
#include "twin/run/run.h"

namespace orrery::report {

struct JudgedGoal {
  const figures::GoalOutcome* outcome = nullptr;
  bool by_run = false;  // else the review's: a run does not know its figure
};
// Every goal of the design in its order; they point into the run and the review.
std::vector<JudgedGoal> goals_of(const run::Run& run, const verdict::Verdict& review);

struct Difference {
  const figures::Section* section = nullptr;  // of the run
  const figures::Figure* plan = nullptr;
  const figures::Figure* run = nullptr;
  std::string_view because;  // empty: not known
};
// Figures that both say and whose 80 % intervals are more than 1 % of the value apart.
std::vector<Difference> differences(const verdict::Verdict& review, const run::Run& run);

}  // namespace orrery::report
