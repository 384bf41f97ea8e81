#include "study/calc/claims.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/csv.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

constexpr std::string_view kClaimsFile = "claims.csv";
constexpr std::string_view kInputsFile = "claims_inputs.csv";
constexpr std::array kVerdicts = {ClaimVerdict::holds, ClaimVerdict::holds_only_if,
                                  ClaimVerdict::wrong, ClaimVerdict::as_of};

std::optional<ClaimVerdict> verdict_from(std::string_view text) {
  for (const ClaimVerdict v : kVerdicts) {
    if (text == to_text(v)) return v;
  }
  return std::nullopt;
}

Basis basis_from(std::string_view text) {
  for (const Basis b :
       {Basis::measured, Basis::fitted, Basis::vendor, Basis::paper, Basis::derived}) {
    if (text == to_text(b)) return b;
  }
  return Basis::assumed;
}

Result<std::vector<ClaimInput>> read_inputs(const catalog::Knowledge& knowledge) {
  auto table = knowledge.table(kInputsFile);
  if (!table) return std::unexpected(std::move(table.error()));
  std::vector<ClaimInput> out;
  for (const CsvRow& row : table->rows()) {
    const auto field = [&](std::string_view name) { return std::string(table->text(row, name)); };
    out.push_back({.id = field("id"),
                   .value = field("value"),
                   .what = field("what"),
                   .source = field("source"),
                   .basis = basis_from(field("basis"))});
  }
  return out;
}

std::vector<ClaimRule> all_claim_rules() {
  std::vector<ClaimRule> all;
  for (const auto part : {hardware_claims(), checkpoint_claims(), storage_claims(),
                          training_claims(), serving_claims(), site_claims(), money_claims()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// "H100 SXM5 80GB 3.35 TB/s; A100 ...": the computed figures themselves.
std::string computed_text(const ClaimFinding& f) {
  std::string out;
  for (const ClaimCase& c : f.cases) {
    if (!out.empty()) out += "; ";
    out += fmt::format("{}: {}", c.figure.label, show(c.figure.estimate.value, c.figure.unit));
  }
  return out;
}

std::string statement_of(const ClaimFinding& f, ClaimVerdict verdict) {
  std::string out;
  switch (verdict) {
    case ClaimVerdict::holds:
      out = computed_text(f);
      break;
    case ClaimVerdict::holds_only_if:
      out = "only if " + (f.only_if.empty()
                              ? labels_of(f, true) + " is meant, not " + labels_of(f, false)
                              : f.only_if);
      break;
    case ClaimVerdict::wrong:
      out = f.instead.empty() ? computed_text(f) : f.instead;
      break;
    case ClaimVerdict::as_of:
      out = labels_of(f, true, "and");
      break;
  }
  return f.remark.empty() ? out : out + ". " + f.remark;
}

}  // namespace

const char* to_text(ClaimVerdict v) {
  switch (v) {
    case ClaimVerdict::holds:
      return "holds";
    case ClaimVerdict::holds_only_if:
      return "holds-only-if";
    case ClaimVerdict::wrong:
      return "wrong";
    case ClaimVerdict::as_of:
      return "as-of";
  }
  return "";
}

ClaimVerdict verdict_of(const ClaimFinding& f) {
  const auto met = std::ranges::count(f.cases, true, &ClaimCase::meets);
  if (met == 0) return ClaimVerdict::wrong;
  if (met < std::ssize(f.cases)) return ClaimVerdict::holds_only_if;
  return f.is_status ? ClaimVerdict::as_of : ClaimVerdict::holds;
}

Result<std::vector<Claim>> read_claims(const catalog::Knowledge& knowledge) {
  auto table = knowledge.table(kClaimsFile);
  if (!table) return std::unexpected(std::move(table.error()));
  std::vector<Claim> out;
  Diagnostics faults;
  for (const CsvRow& row : table->rows()) {
    const auto field = [&](std::string_view name) { return std::string(table->text(row, name)); };
    const auto recorded = verdict_from(field("verdict"));
    if (!recorded) {
      faults.push_back({.code = "claims.verdict",
                        .place = {table->file(), row.line, 0},
                        .what = fmt::format("'{}' is not a verdict", field("verdict")),
                        .why = "a verdict is holds, holds-only-if, wrong or as-of"});
      continue;
    }
    out.push_back({.id = field("id"),
                   .claim = field("claim"),
                   .figure = field("figure"),
                   .guide = field("guide"),
                   .recompute_from = field("recompute_from"),
                   .recorded = *recorded});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

Result<std::vector<ClaimCheck>> check_claims(const machine::Models& models) {
  auto claims = read_claims(*models.knowledge);
  if (!claims) return std::unexpected(std::move(claims.error()));
  auto inputs = read_inputs(*models.knowledge);
  if (!inputs) return std::unexpected(std::move(inputs.error()));
  const ClaimContext context{models, *inputs};
  const std::vector<ClaimRule> rules = all_claim_rules();
  std::vector<ClaimCheck> out;
  Diagnostics faults;
  for (const ClaimRule& r : rules) {
    if (std::ranges::find(*claims, r.id, &Claim::id) == claims->end()) {
      faults.push_back(
          {.code = "claims.unknown", .what = fmt::format("the check of '{}' has no claim", r.id)});
    }
  }
  for (const Claim& claim : *claims) {
    const auto rule = std::ranges::find(rules, claim.id, &ClaimRule::id);
    if (rule == rules.end()) {
      faults.push_back({.code = "claims.unchecked",
                        .what = fmt::format("nothing recomputes the claim '{}'", claim.id)});
      continue;
    }
    ClaimFinding finding = rule->check(context);
    const ClaimVerdict verdict = verdict_of(finding);
    std::string statement = statement_of(finding, verdict);
    out.push_back({claim, std::move(finding), verdict, std::move(statement)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

}  // namespace orrery::calc
