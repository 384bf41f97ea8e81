#include "study/score/storage_score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

Result<Score> score_of(const std::string& text) {
  const auto table = CsvTable::parse(text, "rows.csv");
  EXPECT_TRUE(table.has_value());
  return score_storage(*table, {.models = machine::known(), .model = {}});
}

TEST(StorageScore, PublishedTrainingRows) {
  const auto score =
      score_of(catalog::embedded_text("validation/mlperf_storage_v1.0_training.csv").value());
  ASSERT_TRUE(score.has_value());
  EXPECT_EQ(score->rows, 132);
  EXPECT_TRUE(score->skipped.empty());
  const ScoreSummary s = totals_of(score->series[0]);
  EXPECT_EQ(s.scored, 132);
  EXPECT_LT(s.median_ape, 0.02);
  EXPECT_LT(s.p90_ape, 0.075);
  EXPECT_NEAR(s.coverage, 0.8, 0.03);
}

TEST(StorageScore, CheckpointRowsFromTheOthersOfTheirSystem) {
  const auto score = score_of(catalog::embedded_text("validation/checkpoint_truth.csv").value());
  ASSERT_TRUE(score.has_value());
  ASSERT_EQ(score->series.size(), 3u);
  const ScoreSummary rate = totals_of(score->series[0]);
  EXPECT_EQ(rate.scored, 5);
  EXPECT_LT(rate.median_ape, 0.05);
  const ScoreSummary size = totals_of(score->series[1]);
  EXPECT_EQ(size.scored, 10);
  EXPECT_LT(size.p90_ape, 0.0002);
  EXPECT_EQ(static_cast<int>(score->skipped.size()) + rate.scored, score->rows);
  // No row is fitted to itself, so each is a prediction: none is off by a tenth.
  const ScoreSummary read = totals_of(score->series[2]);
  EXPECT_EQ(read.scored, 5);
  for (const std::size_t series : {0u, 2u}) {
    for (const ScoredRow& row : score->series[series].rows) {
      if (!row.measured) continue;
      EXPECT_LT(std::abs(row.predicted.value / *row.measured - 1), 0.10) << row.id;
    }
  }
}

TEST(StorageScore, ThirtyNodesFromTen) {
  const auto score = score_of(catalog::embedded_text("validation/checkpoint_truth.csv").value());
  ASSERT_TRUE(score.has_value());
  for (const ScoredRow& row : score->series[0].rows) {
    if (!row.id.contains("llama3-1t/30 data nodes")) continue;
    ASSERT_TRUE(row.measured.has_value());
    EXPECT_LT(std::abs(row.predicted.value / *row.measured - 1), 0.05);
    return;
  }
  FAIL() << "the row is not scored";
}

TEST(StorageScore, PredictsWithTheMeasuredColumnBlank) {
  const auto score = score_of(
      "submitter,system_path,model,accelerator,num_accelerators,MiB_per_s\n"
      "a,b,unet3d,h100,10,\na,c,unet3d,mi300x,10,\n");
  ASSERT_TRUE(score.has_value());
  ASSERT_EQ(score->series[0].rows.size(), 1u);
  EXPECT_NEAR(score->series[0].rows[0].predicted.value, 10 * 3029.9 * 0.9 * 1.017, 5);
  EXPECT_FALSE(score->series[0].rows[0].measured.has_value());
  ASSERT_EQ(score->skipped.size(), 1u);
  EXPECT_EQ(score->skipped[0].reason, "no workload unet3d for mi300x");
}

TEST(StorageScore, OtherTablesAreRefused) {
  const auto score = score_of("a,b\n1,2\n");
  ASSERT_FALSE(score.has_value());
  EXPECT_EQ(score.error().front().code, "score.columns");
}

}  // namespace
}  // namespace orrery::score
