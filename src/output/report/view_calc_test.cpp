#include "output/report/view_calc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using Json = nlohmann::json;

Json answer(std::string_view name, const calc::CalcTexts& given,
            const std::optional<CalcSweep>& sweep = std::nullopt) {
  return Json::parse(text_of(calculation_view_json(name, given, sweep, machine::known())));
}

std::string refused(std::string_view name, const calc::CalcTexts& given,
                    const std::optional<CalcSweep>& sweep = std::nullopt) {
  const auto r = calculation_view_json(name, given, sweep, machine::known());
  return r ? "" : to_text(r.error());
}

TEST(view_calc, every_calculator_answers_with_its_presets_and_can_be_swept) {
  const Json list = Json::parse(calculators_json());
  ASSERT_THAT(list["calculators"], SizeIs(14));
  for (const Json& c : list["calculators"]) {
    const std::string name = c["name"];
    EXPECT_FALSE(answer(name, {})["figures"].empty()) << name;
    const bool simulates = name == "kv-tier";  // each of its points takes seconds here
    for (const Json& p : c["parameters"]) {
      if (p["min"].is_null() || (simulates && p["name"] != "room")) continue;
      const CalcSweep sweep{p["name"], p["min"], p["max"], simulates ? 2 : 5, p["scale"] == "log"};
      const Json s = answer(name, {}, sweep)["sweep"];
      ASSERT_GE(s["x"].size(), 2U) << name << ' ' << p["name"];
      for (const Json& series : s["series"]) {
        EXPECT_EQ(series["value"].size(), s["x"].size());
        EXPECT_EQ(series["low"].size(), s["x"].size());
      }
    }
  }
}

TEST(view_calc, a_sweep_is_the_answers_of_its_points) {
  const CalcSweep sweep{"write", 10, 40, 4, false};
  const Json a = answer("checkpoint", {{"params", "70B"}}, sweep);
  EXPECT_EQ(a["sweep"]["x"], Json({10.0, 20.0, 30.0, 40.0}));
  EXPECT_EQ(a["sweep"]["unit"], "GB/s");
  for (const Json& s : a["sweep"]["series"]) {
    if (s["key"] != "write_time_s") continue;
    // 70e9 x 14 B at 10 GB/s.
    EXPECT_NEAR(s["value"][0].get<double>(), 98, 1e-9);
    EXPECT_NEAR(s["value"][3].get<double>(), 24.5, 1e-9);
    return;
  }
  FAIL() << "no write time";
}

TEST(view_calc, a_point_without_an_answer_is_null) {
  const Json s = answer("memory", {{"tp", "2"}}, CalcSweep{"gpus", 6, 8, 3, false})["sweep"];
  EXPECT_EQ(s["x"], Json({6.0, 7.0, 8.0}));
  EXPECT_FALSE(s["series"][0]["value"][0].is_null());
  EXPECT_TRUE(s["series"][0]["value"][1].is_null());
}

TEST(view_calc, the_command_asks_the_same_again) {
  EXPECT_EQ(answer("checkpoint", {{"write", "80 GB/s"}, {"model", "llama-3-70b"}})["command"],
            "orrery calc checkpoint --write \"80 GB/s\"");
  EXPECT_EQ(answer("collective", {{"roce", "true"}, {"ranks", "128"}})["command"],
            "orrery calc collective --ranks 128 --roce");
}

TEST(view_calc, refuses_with_the_words_of_the_command_line) {
  EXPECT_THAT(refused("chekpoint", {}), HasSubstr("calc.unknown"));
  EXPECT_THAT(refused("checkpoint", {{"wrte", "1 GB/s"}}), HasSubstr("did you mean 'write'?"));
  EXPECT_THAT(refused("checkpoint", {{"write", "80"}}), HasSubstr("usage.value"));
  EXPECT_THAT(refused("memory", {{"sharding", "zero9"}}), HasSubstr("one of none, zero1"));
  EXPECT_THAT(refused("memory", {{"gpus", "1e12"}}), HasSubstr("usage.value"));
  EXPECT_THAT(refused("memory", {{"tp", "10000000"}, {"pp", "10000000"}}),
              HasSubstr("calc.layout"));
  EXPECT_THAT(refused("train-time", {{"tokens", "1e300"}, {"params", "1e300"}}),
              HasSubstr("calc.range"));
  EXPECT_THAT(refused("power", {{"matrix", "-1"}}), HasSubstr("share from 0 to 1"));
  EXPECT_THAT(refused("memory", {}, CalcSweep{"model", 1, 2, 5, false}), HasSubstr("calc.sweep"));
  EXPECT_THAT(refused("memory", {}, CalcSweep{"gpus", 2, 1, 5, false}), HasSubstr("calc.sweep"));
  EXPECT_THAT(refused("memory", {}, CalcSweep{"gpus", 1, 2, 500, false}), HasSubstr("calc.sweep"));
}

}  // namespace
}  // namespace orrery::report
