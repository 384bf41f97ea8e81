#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "core/base/text.h"
#include "study/calc/calculators.h"

namespace orrery::cli {
namespace {

using CalcVerb = VerbTest;

// Every parameter of a calculator has a default or may be omitted.
TEST_F(CalcVerb, every_calculator_has_defaults) {
  for (const calc::Calculator& c : calc::calculators()) {
    const VerbAnswer a = say({"calc", std::string(c.name)});
    EXPECT_EQ(a.code, ExitCode::good) << c.name << ": " << a.err;
    EXPECT_FALSE(a.out.empty()) << c.name;
    for (const std::string_view line : split(a.out, '\n')) EXPECT_LE(line.size(), 100U) << line;
  }
}

}  // namespace
}  // namespace orrery::cli
