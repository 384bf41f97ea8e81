// The claims ledger: rules of thumb that published design guides give, recomputed by the layers.
//
// A claim is tried in one or more cases: a computed figure each, held against a stated criterion.
//   every case meets it  -> holds           some do -> holds only if (the condition is computed)
//   none does            -> wrong (the right figure stands beside it)
//   a claim about the state of a project that agrees with the catalog's dated facts -> as of
// "About" is within 5 % unless the criterion says otherwise; "under", "over" and ranges are
// inequalities. data/claims.csv holds the claims and the verdict last recorded; a test fails when a
// verdict moves. Wrong where the cases tried are not the ones a reader has in mind: they are
// listed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/figures/figure.h"
#include "model/machine/models.h"

namespace orrery::calc {

enum class ClaimVerdict { holds, holds_only_if, wrong, as_of };
const char* to_text(ClaimVerdict v);  // "holds-only-if", as the file writes it

// A row of data/claims.csv.
struct Claim {
  std::string id;
  std::string claim;
  std::string figure;  // as the guide gives it
  std::string guide;
  std::string recompute_from;
  ClaimVerdict recorded = ClaimVerdict::holds;
};

// An interval that a computed figure must lie in.
struct Criterion {
  double low = 0;
  double high = 0;
  figures::Unit unit = figures::Unit::count;
  std::string text;  // "within 5 % of 2 TB/s"

  bool meets(double value) const { return value >= low && value <= high; }
};

struct ClaimCase {
  figures::Number figure;
  bool meets = false;
};

// What a check computes; the verdict follows from the cases.
struct ClaimFinding {
  Criterion criterion;
  std::vector<ClaimCase> cases = {};
  std::vector<figures::Number> beside = {};  // thresholds and context, not tried
  std::string only_if = {};                  // the condition, where some cases meet the criterion
  std::string instead = {};                  // the right figure, where none does
  std::string remark = {};                   // worth knowing in any case
  bool is_status = false;                    // about the state of a project at a date
};

struct ClaimCheck {
  Claim claim;
  ClaimFinding finding;
  ClaimVerdict verdict = ClaimVerdict::holds;
  std::string statement;  // the condition, the right figure or the computed one, in a sentence
};

// In the order of the file. A row with an unknown verdict is a fault.
Result<std::vector<Claim>> read_claims(const catalog::Knowledge& knowledge);
// Recomputes all of them. A claim without a check, or a check without a claim, is a fault.
Result<std::vector<ClaimCheck>> check_claims(const machine::Models& models);

ClaimVerdict verdict_of(const ClaimFinding& finding);

}  // namespace orrery::calc
