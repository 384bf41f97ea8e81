// Users on slices of accelerators, and of adapters.
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/calc/calculators.h"

namespace orrery::calc {
namespace {

Result<Calculation> ask_users(const CalcTexts& given) {
  return calculate(*find_calculator("serve"), given, machine::known());
}

double served(const CalcTexts& given, std::string_view id) {
  const auto answer = ask_users(given);
  EXPECT_TRUE(answer.has_value());
  for (const figures::Number& f : answer ? answer->figures : std::vector<figures::Number>()) {
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

TEST(Calc, users_of_adapters) {
  const CalcTexts plain{{"model", "llama-3-8b"}, {"accelerator", "h200-sxm"}, {"gpus", "1"},
                        {"dtype", "bf16"},       {"engine", "vllm"},          {"roles", "joined"}};
  const auto with = [&](const CalcTexts& more) {
    CalcTexts all = plain;
    all.insert(more.begin(), more.end());
    return all;
  };
  const CalcTexts some = with({{"adapters", "200"}, {"slots", "16"}, {"rank", "16"}});
  EXPECT_LT(served(some, "users"), served(plain, "users"));
  EXPECT_GT(served(some, "users"), 0);
  // 32 layers, rank 16, 2 bytes: 81,920 sides a layer, 16 slots.
  EXPECT_EQ(served(some, "adapter_memory"), 16.0 * 32 * 16 * 2 * 81920);
  EXPECT_EQ(served(plain, "adapter_memory"), -1);
  const CalcTexts all = with({{"adapters", "16"}, {"slots", "16"}});
  EXPECT_EQ(served(all, "adapter_loads"), 0);
  EXPECT_EQ(served(all, "adapter_wait"), 0);
  EXPECT_GT(served(some, "adapter_loads"), 0.1);
  EXPECT_GE(served(all, "users"), served(some, "users"));
  const auto code = [&](const CalcTexts& more) {
    const auto answer = ask_users(with(more));
    return answer ? std::string() : answer.error().front().code;
  };
  EXPECT_EQ(code({{"rank", "16"}}), "usage.value") << "of no adapters";
  EXPECT_EQ(code({{"slots", "4"}}), "usage.value");
  CalcTexts latent = some;
  latent["model"] = "deepseek-v3";
  latent["gpus"] = "8";
  ASSERT_FALSE(ask_users(latent));
  EXPECT_EQ(ask_users(latent).error().front().code, "calc.serve");
  CalcTexts apart = some;
  apart["roles"] = "apart";
  EXPECT_FALSE(ask_users(apart));
}

// The command line reads its standing value; what may be left out is a count, a quantity or an id.
TEST(Calculators, AWholeNumberOrAPlainOneHasAPreset) {
  for (const Calculator& c : calculators()) {
    for (const CalcParameter& p : c.parameters) {
      if (p.kind == ParameterKind::integer || p.kind == ParameterKind::number) {
        EXPECT_FALSE(p.preset.empty()) << c.name << " --" << p.name;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::calc
