#include "plan/rules.h"

#include <algorithm>
#include <tuple>

namespace orrery::plan {

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const auto& table :
       {workload_rules(), fabric_rules(), storage_rules(), facility_rules(), policy_rules()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

std::vector<Finding> check_rules(const Review& review) {
  std::vector<Finding> findings;
  for (const Rule& rule : all_rules()) rule.check(review, rule, findings);
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, a.place.line, a.place.column) <
           std::tuple(b.severity, b.place.line, b.place.column);
  });
  return findings;
}

Finding finding_at(const Review& review, const Rule& rule, const std::string& path) {
  Finding f{.severity = rule.severity, .rule = rule.id, .layer = rule.layer};
  f.place = place_of(review.design(), path);
  return f;
}

}  // namespace orrery::plan
