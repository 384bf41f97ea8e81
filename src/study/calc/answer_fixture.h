// For tests of calculators: the answer to a question, or its refusal.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/calc/calculators.h"

namespace orrery::calc {

inline Calculation answered(const char* question, const CalcTexts& given = {}) {
  auto answer = calculate(*find_calculator(question), given, machine::known());
  EXPECT_TRUE(answer.has_value()) << question << ": " << (answer ? "" : to_text(answer.error()));
  return answer ? *std::move(answer) : Calculation{};
}

}  // namespace orrery::calc
