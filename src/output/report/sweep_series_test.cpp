// Every series of a sweep has a value and an interval at each of its points.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/view_calc.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

TEST(sweep_series, each_point_has_a_value_and_both_ends) {
  const CalcSweep sweep{"write", 10, 100, 4, false};
  const Json told = Json::parse(
      text_of(calculation_view_json("checkpoint", {}, sweep, machine::known())))["sweep"];
  ASSERT_EQ(told["x"].size(), 4U);
  ASSERT_FALSE(told["series"].empty());
  for (const Json& s : told["series"]) {
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

}  // namespace
}  // namespace orrery::report
