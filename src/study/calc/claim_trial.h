// What the checks of claims are written with: criteria, cases, facts with sources.
//
// To add a claim: a row in data/claims.csv, a function in the claims_*.cpp of its subject, and its
// line in that file's table. Facts that no catalog table holds are rows of data/claims_inputs.csv.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "study/calc/claims.h"

namespace orrery::calc {

inline constexpr double kAbout = 0.05;

Criterion about(double claimed, figures::Unit unit, double tolerance = kAbout);
Criterion between(double low, double high, figures::Unit unit);
Criterion at_least(double low, figures::Unit unit);
Criterion at_most(double high, figures::Unit unit);

// A fact that a check needs and the catalog has no table for.
struct ClaimInput {
  std::string id;
  std::string value;
  std::string what;
  std::string source;
  Basis basis = Basis::assumed;

  double number() const;  // not-a-number where the value is a date or a version
  Estimate estimate() const;
};

struct ClaimContext {
  const machine::Models& models;
  std::span<const ClaimInput> inputs;

  // An empty row where there is none: its figures fail the criterion and the test names the claim.
  const catalog::Catalog& catalog() const { return models.catalog(); }
  const ClaimInput& input(std::string_view id) const;
  const catalog::Accelerator& accelerator(std::string_view id) const;
  const catalog::Node& node(std::string_view id) const;
  const catalog::ModelShape& model(std::string_view id) const;
  const catalog::CoolingMethod& cooling(std::string_view id) const;
};

// Computed here, with a half-width as a fraction.
Estimate computed(double value, double width, std::string reference);

// One more case, held against the finding's criterion.
void try_case(ClaimFinding& f, std::string label, Estimate e, std::string formula = {});
// A figure in any unit that is shown and not tried.
void show_beside(ClaimFinding& f, std::string label, figures::Unit unit, Estimate e,
                 std::string formula = {});
// A fact of a dated row against what the claim says: meets where it begins with it.
void try_fact(ClaimFinding& f, const std::string& label, std::string_view fact,
              std::string_view claimed, std::string reference);

// "a, b or c" of the labels of the cases that meet (or do not).
std::string labels_of(const ClaimFinding& f, bool meets, std::string_view joined_by = "or");

struct ClaimRule {
  std::string_view id;
  ClaimFinding (*check)(const ClaimContext& c);
};

std::span<const ClaimRule> hardware_claims();
std::span<const ClaimRule> checkpoint_claims();
std::span<const ClaimRule> storage_claims();
std::span<const ClaimRule> training_claims();
std::span<const ClaimRule> serving_claims();
std::span<const ClaimRule> site_claims();
std::span<const ClaimRule> money_claims();

}  // namespace orrery::calc
