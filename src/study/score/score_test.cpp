#include "study/score/score.h"

#include <gtest/gtest.h>

namespace orrery::score {
namespace {

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

TEST(Score, SummariesFollowTheirDefinitions) {
  const ScoreSummary s = totals_of(example().series[0]);
  EXPECT_EQ(s.scored, 3);
  EXPECT_DOUBLE_EQ(s.median_ape, 0.1);
  EXPECT_NEAR(s.mean_ape, 0.1, 1e-12);
  EXPECT_NEAR(s.p90_ape, 0.18, 1e-12);
  EXPECT_DOUBLE_EQ(s.coverage, 2.0 / 3);
}

TEST(Score, RowsThatDoNotCountStayInTheirOwnGroup) {
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

TEST(Score, JsonHasTheKeysOfTheContract) {
  const std::string json = score_json(example());
  for (const char* key : {"\"schema_version\": 1", "\"kind\": \"training\"", "\"rows\": 5",
                          "\"scored\": 3", "\"median_ape\"", "\"mean_ape\"", "\"p90_ape\"",
                          "\"coverage\"", "\"groups\"", "\"skipped\"", "\"reason\"", "\"worst\""}) {
    EXPECT_NE(json.find(key), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace orrery::score
