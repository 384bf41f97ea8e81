// The rules of the review: one row and one function each; all of them run.
//
// A rule reads the finished stages and writes Findings; it computes nothing that a stage computes.
// To add one: write the function in the rules_*.cpp of its subject and add its row to that file's
// table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/review/stages.h"
#include "plan/rules/finding.h"

namespace orrery::rules {

struct Rule {
  const char* id;  // "policy.residency"
  figures::Layer layer;
  Severity severity;    // of the rule's findings
  const char* summary;  // what must hold, in one sentence
  const char* source;   // where the rule comes from
  void (*check)(const review::Review& review, const Rule& rule, std::vector<Finding>& findings);
};

std::span<const Rule> policy_rules();
std::span<const Rule> fabric_rules();
std::span<const Rule> storage_rules();
std::span<const Rule> workload_rules();
std::span<const Rule> load_rules();
std::span<const Rule> ledger_rules();
std::span<const Rule> facility_rules();

std::vector<Rule> all_rules();
// Runs all rules. Errors come first, then warnings, then notes; within each by place.
std::vector<Finding> check_rules(const review::Review& review);

// Returns the labels of the tiers that a workload names to read or write.
std::vector<std::string> tiers_used(const design::Workload& workload);

// Makes a finding of `rule` at a path of the design.
Finding finding_at(const review::Review& review, const Rule& rule, const std::string& path);

}  // namespace orrery::rules
