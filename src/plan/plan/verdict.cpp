#include "plan/plan/verdict.h"

namespace orrery::plan {

const machine::Figure* Verdict::figure(machine::Layer layer, std::string_view id,
                                       std::string_view section) const {
  for (const machine::Section& s : sections) {
    if (s.layer != layer || (!section.empty() && s.name != section)) continue;
    for (const machine::Figure& f : s.figures) {
      if (f.id == id) return &f;
    }
  }
  return nullptr;
}

bool Verdict::passes() const {
  for (const Finding& f : findings) {
    if (f.severity == Severity::error) return false;
  }
  for (const machine::GoalOutcome& g : goals) {
    if (!g.met) return false;
  }
  return true;
}

}  // namespace orrery::plan
