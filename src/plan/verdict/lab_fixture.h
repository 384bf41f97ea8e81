// For the tests of rules, edits and sections: a template's review, made once, to copy and change,
// and what one rule alone says of it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {

inline design::Design lab_design(std::string_view name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

inline const review::Review& lab_review(const std::string& name) {
  static auto* const kAll = new std::map<std::string, review::Review>;
  auto found = kAll->find(name);
  if (found == kAll->end()) {
    found = kAll->emplace(name, review::run_stages(lab_design(name), machine::known())).first;
  }
  return found->second;
}

inline std::vector<rules::Finding> findings_by(const review::Review& review, std::string_view id) {
  std::vector<rules::Finding> findings;
  for (const rules::Rule& rule : rules::all_rules()) {
    if (rule.id == id) rule.check(review, rule, findings);
  }
  return findings;
}

inline rules::Finding only_finding(const review::Review& review, std::string_view id) {
  const std::vector<rules::Finding> all = findings_by(review, id);
  EXPECT_EQ(all.size(), 1U) << id;
  return all.empty() ? rules::Finding{} : all.front();
}

inline std::string edit_of(const std::optional<design_text::Change>& edit) {
  return edit ? edit->path + " = " + edit->value : "none";
}
inline std::string edit_of(const rules::Finding& f) { return edit_of(f.edit); }

// A template with lines of its file changed, as an author would.
inline review::Review edited_review(std::string_view name,
                                    const std::vector<design_text::Change>& changes) {
  std::string text(design_text::find_template(name)->text);
  for (const design_text::Change& c : changes) {
    auto edited = design_text::edit_text(text, c, machine::known().catalog());
    EXPECT_TRUE(edited) << c.path << " = " << c.value << '\n'
                        << (edited ? "" : to_text(edited.error()));
    if (edited) text = std::move(edited->text);
  }
  const auto design = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(design) << (design ? "" : to_text(design.error()));
  return review::run_stages(design ? *design : design::Design{}, machine::known());
}

struct Said {
  std::string path;  // of the design, where it stands
  std::string what;
  std::string why;
  std::string fix;
  std::string edit = "none";  // "path = value"
};

inline void expect_said(const review::Review& review, const rules::Finding& f, const Said& said) {
  EXPECT_EQ(f.what, said.what);
  EXPECT_EQ(f.why, said.why);
  EXPECT_EQ(f.fix, said.fix);
  EXPECT_EQ(edit_of(f), said.edit);
  const Place place = place_of(review.design(), said.path);
  EXPECT_EQ(f.place.line, place.line) << said.path;
  EXPECT_EQ(f.place.column, place.column) << said.path;
  for (const rules::Rule& rule : rules::all_rules()) {
    if (rule.id != f.rule) continue;
    EXPECT_EQ(f.severity, rule.severity);
    EXPECT_EQ(f.layer, rule.layer);
  }
}

}  // namespace orrery::verdict
