// For tests of sections: a figure among them, and the width of its interval.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/figures/section.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::verdict {

// A figure by its id, in the first section that has it; an empty one if there is none.
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
