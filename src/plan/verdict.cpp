#include "plan/verdict.h"

namespace orrery {

const Figure* Verdict::figure(Layer layer, std::string_view id, std::string_view section) const {
  for (const Section& s : sections) {
    if (s.layer != layer || (!section.empty() && s.name != section)) continue;
    for (const Figure& f : s.figures) {
      if (f.id == id) return &f;
    }
  }
  return nullptr;
}

bool Verdict::passes() const {
  for (const Finding& f : findings) {
    if (f.severity == Severity::error) return false;
  }
  for (const GoalOutcome& g : goals) {
    if (!g.met) return false;
  }
  return true;
}

}  // namespace orrery
