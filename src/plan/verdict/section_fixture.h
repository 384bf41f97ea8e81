// For tests of sections: a section and a figure by name, and the text of a figure.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "plan/review/lab_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {

inline const figures::Section& words_section(const std::vector<figures::Section>& all,
                                             std::string_view name) {
  for (const figures::Section& s : all) {
    if (s.name == name) return s;
  }
  ADD_FAILURE() << "no section " << name;
  static const figures::Section none;
  return none;
}

inline const figures::Figure* words_figure(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return &f;
  }
  return nullptr;
}

struct Words {
  double value = 0, below = 0, above = 0;
  Basis basis = Basis::derived;
  std::string formula = {};
};

inline void expect_words(const figures::Section& s, std::string_view id, const Words& w) {
  const figures::Figure* f = words_figure(s, id);
  ASSERT_NE(f, nullptr) << id << " of " << s.name;
  const double slack = 1e-9 * std::fabs(w.value) + 1e-12;
  EXPECT_NEAR(f->estimate.value, w.value, slack) << id;
  EXPECT_NEAR(f->estimate.low, w.value * (1 - w.below), slack) << id;
  EXPECT_NEAR(f->estimate.high, w.value * (1 + w.above), slack) << id;
  EXPECT_EQ(f->estimate.basis, w.basis) << id;
}

inline const figures::Section& section_named(const std::vector<figures::Section>& all,
                                             figures::Layer layer, std::string_view name) {
  for (const figures::Section& s : all) {
    if (s.layer == layer && s.name == name) return s;
  }
  ADD_FAILURE() << "no section " << name;
  static const figures::Section none;
  return none;
}

inline figures::Number figure_of_section(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return number_of(f);
  }
  ADD_FAILURE() << "no figure " << id << " in " << s.name;
  return {};
}

inline bool has_figure(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return true;
  }
  return false;
}

inline void expect_figure(const figures::Section& s, std::string_view id, double value, double low,
                          double high) {
  const figures::Number f = figure_of_section(s, id);
  const double slack = 1e-9 * std::fabs(value) + 1e-12;
  EXPECT_NEAR(f.estimate.value, value, slack) << id;
  EXPECT_NEAR(f.estimate.low, low, slack) << id;
  EXPECT_NEAR(f.estimate.high, high, slack) << id;
}

inline Estimate figure_of(const review::Review& r, figures::Layer layer, std::string_view id) {
  const Verdict v = verdict_of(r, {.spends = false});
  const figures::Figure* f = v.figure(layer, id);
  EXPECT_NE(f, nullptr) << id;
  return f ? f->estimate : Estimate{};
}

}  // namespace orrery::verdict
