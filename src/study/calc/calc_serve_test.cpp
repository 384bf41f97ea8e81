#include <gtest/gtest.h>

#include <string>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "study/calc/calculators.h"

namespace orrery::calc {
namespace {

Result<Calculation> edge_answer(const char* question, const CalcTexts& given) {
  return calculate(*find_calculator(question), given, machine::known());
}

TEST(CalcServe, adapters_share_replicas) {
  const auto refused = edge_answer("serve", {{"model", "llama-3-8b"},
                                             {"gpus", "1"},
                                             {"adapters", "20"},
                                             {"dtype", "bf16"},
                                             {"engine", "vllm"},
                                             {"roles", "apart"}});
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().size(), 1U);
  EXPECT_EQ(refused.error()[0].code, "usage.value");
}

TEST(CalcServe, slices_serve_together_and_alone) {
  const CalcTexts given{{"model", "llama-3-8b"}, {"slice", "3g.40gb"}, {"gpus", "1"}};
  CalcTexts apart = given;
  apart["roles"] = "apart";
  const auto roles = edge_answer("serve", apart);
  ASSERT_FALSE(roles);
  CalcTexts wide = given;
  wide["tp"] = "2";
  const auto tp = edge_answer("serve", wide);
  ASSERT_FALSE(tp);
  CalcTexts other = given;
  other["slice"] = "9g.900gb";
  const auto none = edge_answer("serve", other);
  ASSERT_FALSE(none);
  other["accelerator"] = "mi300x";
  EXPECT_NE(edge_answer("serve", other).error()[0].code, "");
}

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

// Two slices do less than the whole, and more than half of it; no link joins them.
TEST(CalcServe, users_on_slices) {
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

TEST(CalcServe, users_of_adapters) {
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
  EXPECT_EQ(code({{"rank", "16"}}), "usage.value");
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

TEST(CalcServe, rates_are_rounded_to_four_digits) {
  const Calculation c = served_to_the_digit({{"rate", "1.23456789"}});
  EXPECT_EQ(c.answer.find("1.235 requests per second need "), 0U) << c.answer;
  const double gpus = served_value(c, "gpus");
  const double rent = served_value(c, "rent");
  for (const figures::Number& f : c.figures) {
    if (f.id != "rent") continue;
    EXPECT_EQ(f.formula, significant(gpus, 9) + " accelerators x " + significant(rent / gpus, 3) +
                             " USD per hour");
    EXPECT_EQ(f.estimate.low, f.estimate.high) << "a list price";
  }
  // An hour's rent over an hour's tokens of this rate.
  EXPECT_NEAR(served_value(c, "usd_per_mtoken"), rent / (1.23456789 * 98.765432 * 3600) * 1e6,
              1e-6);
}

TEST(CalcServe, a_first_token_is_twice_as_uncertain) {
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
