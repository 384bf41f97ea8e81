#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "study/calc/calculators.h"

namespace orrery::cli {
namespace {

using CalcVerb = VerbTest;

// What a calculator asks for has a standing value, or may be left out.
TEST_F(CalcVerb, every_calculator_has_defaults) {
  for (const calc::Calculator& c : calc::calculators()) {
    const VerbAnswer a = say({"calc", std::string(c.name)});
    EXPECT_EQ(a.code, ExitCode::good) << c.name << ": " << a.err;
    EXPECT_FALSE(a.out.empty()) << c.name;
  }
}

}  // namespace
}  // namespace orrery::cli
