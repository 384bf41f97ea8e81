// The verdict: what the review of a design says, layer by layer. It is pure data; report/ renders
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/bill.h"
#include "model/figures/goals.h"
#include "model/figures/section.h"
#include "plan/review/stages.h"
#include "plan/rules/finding.h"
#include "plan/rules/spend.h"

namespace orrery::verdict {

struct Verdict {
  std::string design;
  std::string version;
  std::string digest;
  std::string summary;  // one sentence: passes or fails, and what binds
  std::vector<figures::Section> sections;
  std::vector<rules::Finding> findings;  // errors first, then by place
  std::vector<figures::GoalOutcome> goals;
  std::vector<rules::Spend> spends;  // best first; empty if nothing pays
  // layers whose model is still coarse, and how far off it may be
  std::vector<std::string> coarse;
  catalog::Bill bill;

  // Returns nullptr if there is none; an empty `section` means the first section of the layer that
  // has it.
  const figures::Figure* figure(figures::Layer layer, std::string_view id,
                                std::string_view section = {}) const;
  bool passes() const;  // true if no finding is an error and every goal is met
};

// What verdict_of does besides reading the review.
struct VerdictOptions {
  bool spends = true;  // try the changes of spend.cpp; each costs a review of its own
  bool insist = true;  // assert what invariants.h promises, in debug builds
};

// What the review comes to: sections, rules, goals and spends.
Verdict verdict_of(const review::Review& review, VerdictOptions options = {});
Verdict verdict_of(const design::Design& design, const machine::Models& models,
                   VerdictOptions options = {});

}  // namespace orrery::verdict
