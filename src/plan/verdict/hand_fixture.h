// For tests that write a small design by hand: its text without the first lines, reviewed.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/figures/section.h"
#include "plan/verdict/lab_fixture.h"

namespace orrery::verdict {

inline review::Review hand_review(const std::string& text) {
  const auto d =
      design_text::read_design("orrery: 1\nname: a\n" + text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return review::run_stages(d ? *d : design::Design{}, machine::known());
}

inline std::vector<std::string> edits_by(const review::Review& review, std::string_view id) {
  std::vector<std::string> all;
  for (const rules::Finding& f : findings_by(review, id)) all.push_back(edit_of(f));
  return all;
}

// A figure by its id, of the first section that has it; an empty one where there is none.
inline figures::Number hand_figure(const std::vector<figures::Section>& sections,
                                   std::string_view id) {
  for (const figures::Section& s : sections) {
    for (const figures::Figure& f : s.figures) {
      if (f.id() == id) return number_of(f);
    }
  }
  return {};
}

// Its interval is as wide as these shares of its value, below and above.
inline void expect_ends(const figures::Number& f, double below, double above) {
  const double value = f.estimate.value;
  ASSERT_NE(value, 0) << f.id;
  EXPECT_NEAR(f.estimate.low, value * (1 - below), 1e-9 * value) << f.id;
  EXPECT_NEAR(f.estimate.high, value * (1 + above), 1e-9 * value) << f.id;
}

}  // namespace orrery::verdict
