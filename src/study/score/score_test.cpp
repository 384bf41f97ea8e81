#include "study/score/score.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

using Json = nlohmann::json;

Score two_series() {
  Score s{.kind = "k", .rows = 3, .series = {{"time", "s", {}}, {"watts", "W", {}}}};
  s.series[0].rows = {
      {.id = "a",
       .predicted = {110, 90, 120},
       .measured = 100.0,
       .groups = {"gpu=x"},
       .note = "why"},
      {.id = "b", .predicted = {80, 70, 90}, .measured = 100.0, .groups = {"gpu=y"}}};
  s.series[1].rows = {
      {.id = "a", .predicted = {600, 500, 700}, .measured = 400.0, .groups = {"gpu=x"}}};
  s.skipped = {{"z", "reason"}};
  return s;
}

TEST(Score, every_series_has_summary_and_groups) {
  const Json j = Json::parse(score_json(two_series()));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["kind"], "k");
  EXPECT_EQ(j["rows"], 3);
  EXPECT_EQ(j["scored"], 2);
  EXPECT_NEAR(j["median_ape"].get<double>(), 0.15, 1e-12);
  EXPECT_NEAR(j["mean_ape"].get<double>(), 0.15, 1e-12);
  EXPECT_NEAR(j["groups"]["gpu=x"]["median_ape"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(j["groups"]["gpu=y"]["mean_ape"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(j["groups"]["gpu=x"]["coverage"], 1.0);
  EXPECT_EQ(j["groups"]["gpu=y"]["coverage"], 0.0);
  EXPECT_EQ(j["watts"]["scored"], 1);
  EXPECT_NEAR(j["watts"]["p90_ape"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(j["watts"]["groups"]["gpu=x"]["p90_ape"].get<double>(), 0.5, 1e-12);
  ASSERT_EQ(j["worst"].size(), 2U);
  EXPECT_EQ(j["worst"][0]["id"], "b");
  EXPECT_EQ(j["worst"][0]["predicted"], 80);
  EXPECT_EQ(j["worst"][0]["measured"], 100);
  EXPECT_NEAR(j["worst"][0]["ape"].get<double>(), 0.2, 1e-12);
  EXPECT_FALSE(j["worst"][0].contains("note"));
  EXPECT_EQ(j["worst"][1]["note"], "why");
  EXPECT_EQ(j["skipped"][0]["id"], "z");
}

ScoredRow judged(std::string id, Estimate predicted, std::optional<double> measured,
                 bool counts = true, std::vector<std::string> groups = {"gpu=x"}) {
  return {.id = std::move(id),
          .predicted = std::move(predicted),
          .measured = measured,
          .counts = counts,
          .groups = std::move(groups),
          .note = "n|"};
}

// Errors are of the measured value: 120 for 100 is 20 %, 100 for 120 is 16.7 %.
TEST(Score, ape_is_relative_to_the_measurement) {
  EXPECT_DOUBLE_EQ(judged("a", {120, 90, 130}, 100).ape(), 0.2);
  EXPECT_DOUBLE_EQ(judged("a", {100, 90, 130}, 120).ape(), 20.0 / 120);
  EXPECT_TRUE(judged("a", {120, 100, 130}, 100).covered());
  EXPECT_TRUE(judged("a", {120, 100, 130}, 130).covered());
  EXPECT_FALSE(judged("a", {120, 101, 130}, 100).covered());
  EXPECT_FALSE(judged("a", {120, 100, 130}, 131).covered());
  EXPECT_FALSE(judged("a", {120, 100, 130}, std::nullopt).covered());
}

Score eleven_rows() {
  Score s{.kind = "k", .rows = 13, .series = {{"time", "s", {}}}, .skipped = {{"z", "why"}}};
  for (int i = 0; i <= 10; ++i) {  // errors of 0 to 10 %
    const double p = 100 + i;
    s.series[0].rows.push_back(judged(fmt::format("r{}", i), {p, p - 5, p + 5}, 100));
  }
  s.series[0].rows.push_back(judged("blank", {1, 1, 1}, std::nullopt));
  s.series[0].rows.push_back(
      judged("ill", {900, 1, 2}, 100, false, {"gpu=x", "quality=C", "certainty=recalled"}));
  return s;
}

TEST(Score, summaries_use_counted_measured_rows) {
  const ScoreSummary s = totals_of(eleven_rows().series[0]);
  EXPECT_EQ(s.scored, 11);
  EXPECT_NEAR(s.median_ape, 0.05, 1e-12);
  EXPECT_NEAR(s.mean_ape, 0.05, 1e-12);
  EXPECT_NEAR(s.p90_ape, 0.09, 1e-12);
  EXPECT_NEAR(s.coverage, 6.0 / 11, 1e-12) << "those within 5";
  std::map<std::string, int> groups;
  for (const GroupSummary& g : groups_of_series(eleven_rows().series[0])) {
    groups[g.name] = g.summary.scored;
  }
  EXPECT_EQ(groups["gpu=x"], 11);
  EXPECT_EQ(groups["quality=C"], 1);
  EXPECT_EQ(groups["certainty=recalled"], 1);
  const Score skewed_rows = eleven_rows();
  const auto worst = worst_rows(skewed_rows.series[0], 3);
  ASSERT_EQ(worst.size(), 3U);
  EXPECT_EQ(worst[0]->id, "r10");
  EXPECT_EQ(worst[2]->id, "r8");
  // One outlier moves the mean, not the median.
  Score skewed = eleven_rows();
  skewed.series[0].rows[10].predicted.value = 300;
  EXPECT_NEAR(totals_of(skewed.series[0]).median_ape, 0.05, 1e-12);
}

ScoredRow row(std::string id, double predicted, double measured, bool counts = true) {
  return {.id = std::move(id),
          .predicted = within(predicted, 0.1, 0.1, Basis::fitted, "test"),
          .measured = measured,
          .counts = counts,
          .groups = {"gpu=x", counts ? "certainty=read" : "certainty=recalled"}};
}

Score example() {
  return {.kind = "training",
          .rows = 5,
          .series = {{"tokens/s",
                      "tokens_per_s_per_gpu",
                      {row("a", 100, 100), row("b", 110, 100), row("c", 100, 125),
                       row("d", 300, 100, false)}}},
          .skipped = {{"e", "no such model"}}};
}

TEST(Score, summaries_follow_their_definitions) {
  const ScoreSummary s = totals_of(example().series[0]);
  EXPECT_EQ(s.scored, 3);
  EXPECT_DOUBLE_EQ(s.median_ape, 0.1);
  EXPECT_NEAR(s.mean_ape, 0.1, 1e-12);
  EXPECT_NEAR(s.p90_ape, 0.18, 1e-12);
  EXPECT_DOUBLE_EQ(s.coverage, 2.0 / 3);
}

TEST(Score, uncounted_rows_have_their_own_group) {
  int in_gpu = 0;
  int recalled = 0;
  for (const GroupSummary& g : groups_of_series(example().series[0])) {
    if (g.name == "gpu=x") in_gpu = g.summary.scored;
    if (g.name == "certainty=recalled") recalled = g.summary.scored;
  }
  EXPECT_EQ(in_gpu, 3);
  EXPECT_EQ(recalled, 1);
  EXPECT_EQ(worst_rows(example().series[0], 10).size(), 3u);
}

TEST(Score, json_has_the_keys_of_the_contract) {
  const std::string json = score_json(example());
  for (const char* key : {"\"schema_version\": 1", "\"kind\": \"training\"", "\"rows\": 5",
                          "\"scored\": 3", "\"median_ape\"", "\"mean_ape\"", "\"p90_ape\"",
                          "\"coverage\"", "\"groups\"", "\"skipped\"", "\"reason\"", "\"worst\""}) {
    EXPECT_NE(json.find(key), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace orrery::score
