// What the tests of the views share: designs from texts and templates, and answers as texts.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::report {

inline design::Design design_of(std::string_view text) {
  auto d = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(d.has_value()) << (d ? "" : to_text(d.error()));
  return d ? *std::move(d) : design::Design{};
}

inline design::Design template_design(std::string_view name) {
  const auto found = design_text::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return design_of(found ? found->text : "");
}

inline std::string text_of(const Result<std::string>& answer) {
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : to_text(answer.error()));
  return answer.value_or("{}");
}

}  // namespace orrery::report
