#include "output/report/view_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

// Training takes seconds; docs/accuracy.md and its own tests cover it.
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
  // Nine of ten rows are off by no more than the reported figure, and half by no more than the
  // median.
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

TEST(ViewAccuracy, every_kind_has_embedded_rows) {
  const Json v = Json::parse(accuracy_kinds_json(*machine::known().knowledge));
  EXPECT_EQ(v["kinds"].size(), 4U);
  for (const Json& k : v["kinds"]) EXPECT_GT(k["rows"], 10) << k;
  const auto r = accuracy_view_json("weather", machine::known());
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().front().code, "accuracy.unknown");
}

TEST(ViewAccuracy, every_measured_row_is_a_point) {
  const Json v = Json::parse(text_of(accuracy_view_json("storage", machine::known())));
  EXPECT_EQ(v["schema_version"], 1);
  EXPECT_EQ(v["kind"], "accuracy");
  EXPECT_EQ(v["name"], "storage");
  ASSERT_FALSE(v["series"].empty());
  EXPECT_FALSE(v["series"][0]["points"].empty());
  for (const Json& s : v["skipped"]) {
    EXPECT_FALSE(s["id"].get<std::string>().empty());
    EXPECT_FALSE(s["reason"].get<std::string>().empty());
  }
}

TEST(ViewAccuracy, json_fields_of_accuracy) {
  const auto none = accuracy_view_json(std::string(50, 'x'), machine::known());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error()[0].code, "accuracy.unknown");
  const Json v = Json::parse(text_of(accuracy_view_json("steps", machine::known())));
  EXPECT_EQ(fields_of(v), "kind name preface rows schema_version series skipped");
  EXPECT_EQ(v["kind"], "accuracy");
  EXPECT_EQ(v["name"], "steps");
  ASSERT_EQ(v["series"].size(), 2U);
  const Json& s = v["series"][0];
  EXPECT_EQ(fields_of(s), "groups name points totals unit worst");
  EXPECT_EQ(s["name"], "seconds");
  EXPECT_EQ(s["unit"], "seconds");
  ASSERT_FALSE(s["points"].empty());
  EXPECT_EQ(fields_of(s["points"][0]),
            "ape_ratio counts covered groups high id low measured note predicted");
  EXPECT_EQ(fields_of(s["groups"][0]), "name summary");
  EXPECT_EQ(fields_of(s["totals"]), fields_of(s["groups"][0]["summary"]));
  const Json kinds = Json::parse(accuracy_kinds_json(*machine::known().knowledge));
  EXPECT_EQ(fields_of(kinds), "kind kinds schema_version");
  EXPECT_EQ(fields_of(kinds["kinds"][0]), "label name rows");
  EXPECT_EQ(kinds["kind"], "accuracy-kinds");
}

}  // namespace
}  // namespace orrery::report
