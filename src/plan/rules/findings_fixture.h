// For tests of rules and edits: what one rule alone finds in a review.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/review/stages.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {

inline std::vector<Finding> findings_by(const review::Review& review, std::string_view id) {
  std::vector<Finding> findings;
  for (const Rule& rule : all_rules()) {
    if (rule.id == id) rule.check(review, rule, findings);
  }
  return findings;
}

inline Finding only_finding(const review::Review& review, std::string_view id) {
  const std::vector<Finding> all = findings_by(review, id);
  EXPECT_EQ(all.size(), 1U) << id;
  return all.empty() ? Finding{} : all.front();
}

// The first finding of a rule among all findings, if there is one.
inline std::optional<Finding> finding_of(const review::Review& review, std::string_view rule) {
  for (const Finding& f : check_rules(review)) {
    if (f.rule == rule) return f;
  }
  return std::nullopt;
}

inline std::string edit_of(const std::optional<design_text::Change>& edit) {
  return edit ? edit->path + " = " + edit->value : "none";
}
inline std::string edit_of(const Finding& f) { return edit_of(f.edit); }

inline std::vector<std::string> edits_by(const review::Review& review, std::string_view id) {
  std::vector<std::string> all;
  for (const Finding& f : findings_by(review, id)) all.push_back(edit_of(f));
  return all;
}

// Returns the numbers that a text states, in order: "2 of 1,016 hosts, 1.5 kUSD/y" has 2, 1,016 and
// 1.5. Digits inside names (H100, fp8) do not count.
inline std::vector<std::string> numbers_in(std::string_view text) {
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  const auto in_name = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                               text[i] == '_' || text[i] == '-' || text[i] == '.');
  };
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(at)) continue;
    std::size_t end = at;
    while (is_digit(end) ||
           (end > at && (text[end] == '.' || text[end] == ',') && is_digit(end + 1))) {
      ++end;
    }
    const bool begins = at == 0 || !in_name(at - 1);
    const bool ends =
        end >= text.size() || std::isalpha(static_cast<unsigned char>(text[end])) == 0;
    if (begins && ends) all.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

// The finding is at `path`, offers `edit` ("path = value"), and has its rule's severity and layer.
inline void expect_finding(const review::Review& review, const Finding& f, const std::string& path,
                           const std::string& edit = "none") {
  EXPECT_EQ(edit_of(f), edit);
  const Place place = place_of(review.design(), path);
  EXPECT_EQ(f.place.line, place.line) << path;
  EXPECT_EQ(f.place.column, place.column) << path;
  EXPECT_FALSE(f.what.empty() || f.why.empty() || f.fix.empty());
  for (const Rule& rule : all_rules()) {
    if (rule.id != f.rule) continue;
    EXPECT_EQ(f.severity, rule.severity);
    EXPECT_EQ(f.layer, rule.layer);
  }
}

}  // namespace orrery::rules
