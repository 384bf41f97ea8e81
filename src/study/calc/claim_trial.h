// What the checks of claims are written with: criteria, cases, facts with sources.
//
// To add a claim: a row in data/claims.csv, a function in the claims_*.cpp of its subject, and its
// line in that file's table. Facts that are in no catalog table are rows of data/claims_inputs.csv.
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

// A fact that a check needs but no catalog table has.
struct ClaimInput {
  std::string id;
  std::string value;
  std::string what;
  std::string source;
  Basis basis = Basis::assumed;

  double number() const;  // not-a-number if the value is a date or a version
  Estimate estimate() const;
};

struct ClaimContext {
  const machine::Models& models;
  std::span<const ClaimInput> inputs;

  // Returns an empty row if there is none: its figures then fail the criterion, and the test names
  // the claim.
  const catalog::Catalog& catalog() const { return models.catalog(); }
  const ClaimInput& input(std::string_view id) const;
  const catalog::Accelerator& accelerator(std::string_view id) const;
  const catalog::Node& node(std::string_view id) const;
  const catalog::ModelShape& model(std::string_view id) const;
  const catalog::CoolingMethod& cooling(std::string_view id) const;
};

// Returns a computed value with its half-width as a fraction.
Estimate computed(double value, double width, std::string reference);

// Adds a case and compares it with the finding's criterion.
void try_case(ClaimFinding& f, std::string label, Estimate e, std::string formula = {});
// Adds a figure, in any unit, that is shown but not compared.
void show_beside(ClaimFinding& f, std::string label, figures::Unit unit, Estimate e,
                 std::string formula = {});
// Compares a dated fact with what the claim says: it agrees if it begins with that.
void try_fact(ClaimFinding& f, const std::string& label, std::string_view fact,
              std::string_view claimed, std::string reference);

// "a, b or c": the labels of the cases that meet the criterion (or do not).
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
