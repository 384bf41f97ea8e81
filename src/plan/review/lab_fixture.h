// For tests of reviews: a template's review, made once, to copy and change; or a design in a few lines.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {

inline design::Design lab_design(std::string_view name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

inline const Review& lab_review(const std::string& name) {
  static auto* const kAll = new std::map<std::string, Review>;
  auto found = kAll->find(name);
  if (found == kAll->end()) {
    found = kAll->emplace(name, run_stages(lab_design(name), machine::known())).first;
  }
  return found->second;
}

// A template with lines of its file changed, as an author would.
inline Review edited_review(std::string_view name,
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
  return run_stages(design ? *design : design::Design{}, machine::known());
}

// A small design written by hand: its text without the first lines, reviewed.
inline Review hand_review(const std::string& text) {
  const auto d =
      design_text::read_design("orrery: 1\nname: a\n" + text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

}  // namespace orrery::review
