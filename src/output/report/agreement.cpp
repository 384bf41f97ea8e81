#include "output/report/agreement.h"

#include <algorithm>
#include <cmath>

#include "model/figures/because.h"

namespace orrery::report {
namespace {

// Values that differ by less than this share count as equal, however narrow their intervals.
constexpr double kAsGoodAsEqual = 0.01;

const figures::Figure* same_in(const verdict::Verdict& review, const figures::Section& like,
                               const figures::Figure& f) {
  for (const figures::Section& s : review.sections) {
    if (s.layer != like.layer || s.name != like.name) continue;
    for (const figures::Figure& other : s.figures) {
      if (other.kind == f.kind && other.of == f.of) return &other;
    }
  }
  return nullptr;
}

bool are_apart(const Estimate& a, const Estimate& b) {
  const double slack = kAsGoodAsEqual * std::max(std::fabs(a.value), std::fabs(b.value));
  return a.low > b.high + slack || b.low > a.high + slack;
}

}  // namespace

std::vector<JudgedGoal> goals_of(const run::Run& run, const verdict::Verdict& review) {
  std::vector<JudgedGoal> goals;
  for (const figures::GoalOutcome& planned : review.goals) {
    const auto seen = std::ranges::find(run.goals, planned.text, &figures::GoalOutcome::text);
    const bool by_run = seen != run.goals.end();
    goals.push_back({by_run ? &*seen : &planned, by_run});
  }
  return goals;
}

std::vector<Difference> differences(const verdict::Verdict& review, const run::Run& run) {
  std::vector<Difference> all;
  for (const figures::Section& s : run.sections) {
    for (const figures::Figure& f : s.figures) {
      const figures::Figure* planned = same_in(review, s, f);
      if (planned == nullptr || !are_apart(planned->estimate, f.estimate)) continue;
      all.push_back({&s, planned, &f, figures::because(f.kind)});
    }
  }
  return all;
}

}  // namespace orrery::report
