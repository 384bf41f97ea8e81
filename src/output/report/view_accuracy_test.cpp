#include "output/report/view_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

// Training takes seconds; docs/accuracy.md and its own tests hold it.
class AccuracyOf : public testing::TestWithParam<std::string> {};

TEST_P(AccuracyOf, totals_are_those_of_the_points) {
  const Json v = Json::parse(text_of(accuracy_view_json(GetParam(), machine::known())));
  ASSERT_FALSE(v["series"].empty());
  const Json& s = v["series"][0];
  double sum = 0;
  int counted = 0, covered = 0;
  for (const Json& p : s["points"]) {
    const double measured = p["measured"];
    EXPECT_NEAR(p["ape_ratio"].get<double>(),
                std::abs(p["predicted"].get<double>() - measured) / measured, 1e-9);
    EXPECT_LE(p["low"], p["predicted"]);
    EXPECT_GE(p["high"], p["predicted"]);
    if (!p["counts"]) continue;
    ++counted;
    sum += p["ape_ratio"].get<double>();
    covered += p["covered"].get<bool>();
  }
  ASSERT_GT(counted, 10);
  EXPECT_EQ(s["totals"]["scored"], counted);
  EXPECT_NEAR(s["totals"]["mean_ape_ratio"].get<double>(), sum / counted, 1e-9);
  EXPECT_NEAR(s["totals"]["coverage_ratio"].get<double>(), 1.0 * covered / counted, 1e-9);
  // Nine of ten rows are no further off than the figure that says so, and half than the median.
  const auto share_within = [&](const char* figure) {
    int within = 0;
    for (const Json& p : s["points"]) {
      within += p["counts"].get<bool>() &&
                p["ape_ratio"].get<double>() <= s["totals"][figure].get<double>() + 1e-12;
    }
    return 1.0 * within / counted;
  };
  EXPECT_NEAR(share_within("p90_ape_ratio"), 0.9, 1.0 / counted + 0.01);
  EXPECT_NEAR(share_within("median_ape_ratio"), 0.5, 1.0 / counted + 0.01);
  EXPECT_FALSE(s["worst"].empty());
}
INSTANTIATE_TEST_SUITE_P(kinds, AccuracyOf, testing::Values("collectives", "storage", "steps"));

TEST(view_accuracy, every_kind_has_rows_in_the_binary) {
  const Json v = Json::parse(accuracy_kinds_json(*machine::known().knowledge));
  EXPECT_EQ(v["kinds"].size(), 4U);
  for (const Json& k : v["kinds"]) EXPECT_GT(k["rows"], 10) << k;
  const auto r = accuracy_view_json("weather", machine::known());
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().front().code, "accuracy.unknown");
}

}  // namespace
}  // namespace orrery::report
