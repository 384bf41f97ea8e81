#include "output/report/view_calc.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

Json swept(const CalcSweep& sweep, std::string_view name = "checkpoint") {
  return Json::parse(text_of(calculation_view_json(name, {}, sweep, machine::known())))["sweep"];
}

TEST(ViewCalc, each_point_has_value_low_and_high) {
  const CalcSweep sweep{"write", 10, 100, 4, false};
  const Json swept_view = Json::parse(
      text_of(calculation_view_json("checkpoint", {}, sweep, machine::known())))["sweep"];
  ASSERT_EQ(swept_view["x"].size(), 4U);
  ASSERT_FALSE(swept_view["series"].empty());
  for (const Json& s : swept_view["series"]) {
    std::string names;
    for (const auto& [key, value] : s.items()) names += key + ' ';
    EXPECT_EQ(names, "high key label low unit value ");
    ASSERT_EQ(s["value"].size(), 4U) << s["key"];
    ASSERT_EQ(s["low"].size(), 4U) << s["key"];
    ASSERT_EQ(s["high"].size(), 4U) << s["key"];
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_LE(s["low"][i].get<double>(), s["value"][i].get<double>()) << s["key"];
      EXPECT_GE(s["high"][i].get<double>(), s["value"][i].get<double>()) << s["key"];
    }
  }
}

Json answer(std::string_view name, const calc::CalcTexts& given,
            const std::optional<CalcSweep>& sweep = std::nullopt) {
  return Json::parse(text_of(calculation_view_json(name, given, sweep, machine::known())));
}

std::string refused(std::string_view name, const calc::CalcTexts& given,
                    const std::optional<CalcSweep>& sweep = std::nullopt) {
  const auto r = calculation_view_json(name, given, sweep, machine::known());
  return r ? "" : to_text(r.error());
}

TEST(ViewCalc, every_calculator_answers_with_its_presets_and_can_be_swept) {
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

TEST(ViewCalc, a_sweep_equals_single_calculations) {
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

TEST(ViewCalc, a_point_without_an_answer_is_null) {
  const Json s = answer("memory", {{"tp", "2"}}, CalcSweep{"gpus", 6, 8, 3, false})["sweep"];
  EXPECT_EQ(s["x"], Json({6.0, 7.0, 8.0}));
  EXPECT_FALSE(s["series"][0]["value"][0].is_null());
  EXPECT_TRUE(s["series"][0]["value"][1].is_null());
}

TEST(ViewCalc, the_command_reproduces_the_answer) {
  EXPECT_EQ(answer("checkpoint", {{"write", "80 GB/s"}, {"model", "llama-3-70b"}})["command"],
            "orrery calc checkpoint --write \"80 GB/s\"");
  EXPECT_EQ(answer("collective", {{"roce", "true"}, {"ranks", "128"}})["command"],
            "orrery calc collective --ranks 128 --roce");
}

TEST(ViewCalc, refusals_are_those_of_the_command_line) {
  EXPECT_THAT(refused("chekpoint", {}), HasSubstr("calc.unknown"));
  EXPECT_THAT(refused("checkpoint", {{"wrte", "1 GB/s"}}), HasSubstr("'write'"));
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

TEST(ViewCalc, a_sweep_has_a_series_per_figure) {
  const Json all = Json::parse(calculators_json());
  std::string calculator, parameter;
  double low = 0, high = 0;
  for (const Json& c : all["calculators"]) {
    for (const Json& p : c["parameters"]) {
      EXPECT_EQ(p["min"].is_null(), p["max"].is_null());
      EXPECT_EQ(p.contains("scale"), !p["min"].is_null());
      if (!calculator.empty() || p["min"].is_null()) continue;
      calculator = c["name"], parameter = p["name"], low = p["min"], high = p["max"];
    }
  }
  ASSERT_FALSE(calculator.empty());
  const CalcSweep none;
  EXPECT_EQ(none.points, 0);
  EXPECT_EQ(none.from, 0);
  EXPECT_EQ(none.to, 0);
  EXPECT_FALSE(none.log);
  const auto view = calculation_view_json(
      calculator, {}, CalcSweep{.parameter = parameter, .from = low, .to = high, .points = 3},
      machine::known());
  ASSERT_TRUE(view) << to_text(view.error());
  for (const Json& s : Json::parse(*view)["sweep"]["series"]) {
    EXPECT_FALSE(s["label"].get<std::string>().empty());
    EXPECT_TRUE(s.contains("unit"));
    EXPECT_EQ(s["value"].size(), s["low"].size());
  }
  for (const int points : {1, 201}) {
    EXPECT_FALSE(calculation_view_json(
        calculator, {},
        CalcSweep{.parameter = parameter, .from = low, .to = high, .points = points},
        machine::known()));
  }
}

TEST(ViewCalc, a_sweep_has_its_ends_and_rises) {
  const Json log = swept({"write", 1.1, 700, 7, true});
  ASSERT_EQ(log["x"].size(), 7U);
  EXPECT_EQ(log["x"].front(), 1.1);
  EXPECT_EQ(log["x"].back(), 700.0);
  for (std::size_t i = 1; i + 1 < 7; ++i) {
    EXPECT_NEAR(log["x"][i].get<double>() * log["x"][i].get<double>(),
                log["x"][i - 1].get<double>() * log["x"][i + 1].get<double>(), 1e-6);
  }
  // Whole numbers occur once each.
  EXPECT_EQ(swept({"gpus", 1, 3, 9, false}, "memory")["x"], Json({1.0, 2.0, 3.0}));
}

TEST(ViewCalc, a_sweep_has_bounds) {
  const auto code = [](const CalcSweep& s) {
    const auto r = calculation_view_json("checkpoint", {}, s, machine::known());
    return r ? std::string("none") : r.error().front().code;
  };
  EXPECT_EQ(code({"write", 1, 2, 2, false}), "none");
  EXPECT_EQ(code({"write", 1, 2, 200, false}), "none");
  EXPECT_EQ(code({"write", 1, 2, 1, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 1, 2, 201, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 0, 2, 3, true}), "calc.sweep");
  EXPECT_EQ(code({"write", -1, 2, 3, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 2, 2, 3, false}), "calc.sweep");
  EXPECT_EQ(code({"write", 1, std::nan(""), 3, false}), "calc.sweep");
}

TEST(ViewCalc, parameters_with_a_range_are_sliders) {
  const Json list = Json::parse(calculators_json());
  int words = 0, logs = 0, lines = 0;
  for (const Json& c : list["calculators"]) {
    for (const Json& p : c["parameters"]) {
      if (p["kind"] == "id" || p["kind"] == "flag" || p["kind"] == "choice") {
        ++words;
        EXPECT_TRUE(p["min"].is_null()) << p;
        EXPECT_FALSE(p.contains("scale")) << p;
      } else {
        EXPECT_LT(p["min"], p["max"]) << p;
        (p["scale"] == "log" ? logs : lines) += 1;
      }
    }
  }
  EXPECT_GT(words, 10);
  EXPECT_GT(logs, 10);
  EXPECT_GT(lines, 5);
}

}  // namespace
}  // namespace orrery::report
