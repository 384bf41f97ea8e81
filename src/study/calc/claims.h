// The claims ledger: rules of thumb from published design guides, recomputed by the layers.
//
// A claim is tried in one or more cases: each is a computed figure, compared with a stated
// criterion.
//   every case meets it  -> holds           some do -> holds only if (the condition is computed)
//   none does            -> wrong (with the right figure)
//   a claim about the state of a project that agrees with the catalog's dated facts -> as of
// "About" means within 5 % unless the criterion says otherwise; "under", "over" and ranges are
// inequalities. data/claims.csv holds the claims and the verdict last recorded; a test fails when a
// verdict changes. Wrong if the cases tried are not those that a reader has in mind; they are
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
const char* to_text(ClaimVerdict v);  // "holds-only-if", as in the file

// A row of data/claims.csv.
struct Claim {
  std::string id;
  std::string claim;
  std::string figure;  // as in the guide
  std::string guide;
  std::string recompute_from;
  ClaimVerdict recorded = ClaimVerdict::holds;
};

// An interval that a computed figure must be in.
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

// What a check computes; the verdict follows from its cases.
struct ClaimFinding {
  Criterion criterion;
  std::vector<ClaimCase> cases = {};
  std::vector<figures::Number> beside = {};  // thresholds and context, shown but not compared
  std::string only_if = {};                  // the condition, if some cases meet the criterion
  std::string instead = {};                  // the right figure, if no case does
  std::string remark = {};                   // worth knowing in any case
  bool is_status = false;                    // about the state of a project on a date
};

struct ClaimCheck {
  Claim claim;
  ClaimFinding finding;
  ClaimVerdict verdict = ClaimVerdict::holds;
  std::string statement;  // the condition, the right figure or the computed one, in one sentence
};

// Returns the claims in the order of the file. A row with an unknown verdict is a fault.
Result<std::vector<Claim>> read_claims(const catalog::Knowledge& knowledge);
// Recomputes all claims. A claim without a check, or a check without a claim, is a fault.
Result<std::vector<ClaimCheck>> check_claims(const machine::Models& models);

ClaimVerdict verdict_of(const ClaimFinding& finding);

}  // namespace orrery::calc
