#include "plan/plan/verdict.h"

namespace orrery::plan {

const figures::Figure* Verdict::figure(figures::Layer layer, std::string_view id,
                                       std::string_view section) const {
  for (const figures::Section& s : sections) {
    if (s.layer != layer || (!section.empty() && s.name != section)) continue;
    for (const figures::Figure& f : s.figures) {
      if (f.id() == id) return &f;
    }
  }
  return nullptr;
}

bool Verdict::passes() const {
  for (const Finding& f : findings) {
    if (f.severity == Severity::error) return false;
  }
  for (const figures::GoalOutcome& g : goals) {
    if (!g.met) return false;
  }
  return true;
}

}  // namespace orrery::plan
