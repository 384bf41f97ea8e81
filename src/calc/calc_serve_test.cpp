// Users on slices of accelerators.
#include <gtest/gtest.h>

#include "calc/calculators.h"
#include "machine/known_fixture.h"

namespace orrery::calc {
namespace {

Result<Calculation> ask_users(const CalcTexts& given) {
  return calculate(*find_calculator("serve"), given, machine::known());
}

double served(const CalcTexts& given, std::string_view id) {
  const auto answer = ask_users(given);
  EXPECT_TRUE(answer.has_value());
  for (const machine::Figure& f : answer ? answer->figures : std::vector<machine::Figure>()) {
    if (f.id == id) return f.estimate.value;
  }
  return -1;
}

// Two of them do less than the whole, and more than half of it; no link joins them.
TEST(Calc, users_on_slices) {
  const CalcTexts given{{"model", "llama-3-8b"}, {"accelerator", "h200-sxm"}, {"slice", "3g.71gb"},
                        {"gpus", "2"},           {"dtype", "bf16"},           {"engine", "vllm"}};
  CalcTexts whole = given;
  whole.erase("slice");
  EXPECT_EQ(served(given, "gpus"), 2);
  EXPECT_LT(served(given, "requests"), served(whole, "requests"));
  EXPECT_GT(served(given, "requests"), served(whole, "requests") * 0.5);
  const auto with = [&](const char* name, const char* text) {
    CalcTexts other = given;
    other[name] = text;
    const auto answer = ask_users(other);
    return answer ? std::string() : answer.error().front().code;
  };
  EXPECT_EQ(with("slice", "3g.40gb"), "usage.value") << "an H100's";
  EXPECT_EQ(with("tp", "2"), "usage.value");
  EXPECT_EQ(with("roles", "apart"), "usage.value");
  EXPECT_EQ(with("tp", "1"), "");
}

}  // namespace
}  // namespace orrery::calc
