// For tests of rules and edits: what one rule alone says of a review.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/review/lab_fixture.h"
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

inline std::string edit_of(const std::optional<design_text::Change>& edit) {
  return edit ? edit->path + " = " + edit->value : "none";
}
inline std::string edit_of(const Finding& f) { return edit_of(f.edit); }

inline std::vector<std::string> edits_by(const review::Review& review, std::string_view id) {
  std::vector<std::string> all;
  for (const Finding& f : findings_by(review, id)) all.push_back(edit_of(f));
  return all;
}

struct Said {
  std::string path;  // of the design, where it stands
  std::string what;
  std::string why;
  std::string fix;
  std::string edit = "none";  // "path = value"
};

inline void expect_said(const review::Review& review, const Finding& f, const Said& said) {
  EXPECT_EQ(f.what, said.what);
  EXPECT_EQ(f.why, said.why);
  EXPECT_EQ(f.fix, said.fix);
  EXPECT_EQ(edit_of(f), said.edit);
  const Place place = place_of(review.design(), said.path);
  EXPECT_EQ(f.place.line, place.line) << said.path;
  EXPECT_EQ(f.place.column, place.column) << said.path;
  for (const Rule& rule : all_rules()) {
    if (rule.id != f.rule) continue;
    EXPECT_EQ(f.severity, rule.severity);
    EXPECT_EQ(f.layer, rule.layer);
  }
}

}  // namespace orrery::rules
