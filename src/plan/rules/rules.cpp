#include "plan/rules/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::rules {

namespace {

// Adds the amount that the edit writes to the text, so that text and edit cannot differ.
void name_amount(Finding& f) {
  if (!f.edit) return;
  const std::string& value = f.edit->value;
  const auto whole = parse_integer(value);
  if (!whole && !parse_any_quantity(value)) return;
  const bool said = f.fix.find(value) != std::string::npos ||
                    (whole && f.fix.find(grouped(*whole)) != std::string::npos);
  if (!said) f.fix += fmt::format(" Edit: {} = {}.", f.edit->path, value);
}

}  // namespace

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const auto& table : {workload_rules(), load_rules(), ledger_rules(), fabric_rules(),
                            storage_rules(), facility_rules(), policy_rules()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

std::vector<Finding> check_rules(const review::Review& review) {
  std::vector<Finding> findings;
  for (const Rule& rule : all_rules()) rule.check(review, rule, findings);
  for (Finding& f : findings) name_amount(f);
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, a.place.line, a.place.column) <
           std::tuple(b.severity, b.place.line, b.place.column);
  });
  return findings;
}

std::vector<std::string> tiers_used(const design::Workload& w) {
  std::vector<std::string> used;
  if (const auto* train = std::get_if<design::Train>(&w.task)) {
    if (!train->dataset.tier.empty()) used.push_back(train->dataset.tier);
    if (train->features && !train->features->tier.empty()) used.push_back(train->features->tier);
    if (train->checkpoint) {
      used.insert(used.end(), train->checkpoint->to.begin(), train->checkpoint->to.end());
    }
  } else if (const auto* serve = std::get_if<design::Serve>(&w.task)) {
    if (!serve->weights_tier.empty()) used.push_back(serve->weights_tier);
    if (serve->kv_tier && serve->kv_tier->tier != design::kHostMemory) {
      used.push_back(serve->kv_tier->tier);
    }
    if (serve->retrieval) used.push_back(serve->retrieval->tier);
  } else if (const auto* batch = std::get_if<design::Batch>(&w.task)) {
    if (!batch->dataset.tier.empty()) used.push_back(batch->dataset.tier);
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

Finding finding_at(const review::Review& review, const Rule& rule, const std::string& path) {
  Finding f{.severity = rule.severity, .rule = rule.id, .layer = rule.layer};
  f.place = place_of(review.design(), path);
  return f;
}

}  // namespace orrery::rules
