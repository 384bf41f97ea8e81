// To how many digits the answers of the question of serving tell what was asked.
#include <gtest/gtest.h>

#include <string>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "study/calc/calculators.h"

namespace orrery::calc {
namespace {

Calculation served_to_the_digit(const CalcTexts& more) {
  CalcTexts given = {
      {"model", "llama-3-8b"}, {"engine", "vllm"},     {"dtype", "bf16"},       {"tp", "1"},
      {"roles", "joined"},     {"input", "1234.5678"}, {"output", "98.765432"}, {"gpus", "2"}};
  given.insert(more.begin(), more.end());
  const auto answer = calculate(*find_calculator("serve"), given, machine::known());
  EXPECT_TRUE(answer) << (answer ? "" : to_text(answer.error()));
  return answer ? *answer : Calculation{};
}

double served_value(const Calculation& c, std::string_view id) {
  for (const figures::Number& f : c.figures) {
    if (f.id == id) return f.estimate.value;
  }
  ADD_FAILURE() << "no figure " << id;
  return 0;
}

TEST(ServeDigits, TokensToSix) {
  const Calculation c = served_to_the_digit({});
  EXPECT_EQ(c.question,
            "Who can be served llama-3-8b on h100-sxm, 1234.57 tokens in and 98.7654 out?");
  EXPECT_NEAR(served_value(c, "output_tokens"), 98.765432 * served_value(c, "requests"), 1e-6);
}

TEST(ServeDigits, RatesToFourAndRentsToThree) {
  const Calculation c = served_to_the_digit({{"rate", "1.23456789"}});
  EXPECT_EQ(c.answer.find("1.235 requests a second need "), 0U) << c.answer;
  const double gpus = served_value(c, "gpus");
  const double rent = served_value(c, "rent");
  for (const figures::Number& f : c.figures) {
    if (f.id != "rent") continue;
    EXPECT_EQ(f.formula, significant(gpus, 9) + " accelerators at " + significant(rent / gpus, 3) +
                             " USD an hour");
    EXPECT_EQ(f.estimate.low, f.estimate.high) << "a list price";
  }
  // An hour's rent over an hour's tokens of this rate.
  EXPECT_NEAR(served_value(c, "usd_per_mtoken"), rent / (1.23456789 * 98.765432 * 3600) * 1e6,
              1e-6);
}

TEST(ServeDigits, AFirstTokenIsTwiceAsUncertain) {
  const Calculation c = served_to_the_digit({});
  double narrow = 0;
  double wide = 0;
  for (const figures::Number& f : c.figures) {
    if (f.id == "tpot") narrow = f.estimate.high / f.estimate.value - 1;
    if (f.id == "ttft") wide = f.estimate.high / f.estimate.value - 1;
  }
  EXPECT_GT(narrow, 0);
  EXPECT_NEAR(wide, 2 * narrow, 1e-9);
}

}  // namespace
}  // namespace orrery::calc
