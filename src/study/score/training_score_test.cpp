#include "study/score/training_score.h"

#include <gtest/gtest.h>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/one_mfu.h"

namespace orrery::score {
namespace {

const CsvTable& published_rows() {
  static const CsvTable table = catalog::embedded_table("validation/training.csv").value();
  return table;
}

const Score& published_score() {
  static const Score score = *score_training(published_rows(), {machine::known(), nullptr});
  return score;
}

ScoreSummary of_rows(std::size_t series, std::string_view prefix) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& r : published_score().series[series].rows) {
    if (r.id.starts_with(prefix)) rows.push_back(&r);
  }
  return summarise(rows);
}

ScoreSummary of_group(std::string_view name) {
  for (const GroupSummary& g : groups_of_series(published_score().series[0])) {
    if (g.name == name) return g.summary;
  }
  return {};
}

TEST(TrainingScore, TotalsOfThePublishedRows) {
  const ScoreSummary all = totals_of(published_score().series[0]);
  EXPECT_GE(all.scored, 0.94 * published_score().rows);
  EXPECT_LE(all.median_ape, 0.03);
  EXPECT_LE(all.p90_ape, 0.12);
  EXPECT_GE(all.coverage, 0.76);
  EXPECT_LE(all.coverage, 0.86);
  EXPECT_LE(of_group("class=dense bf16").median_ape, 0.05);
}

// What TorchTitan publishes is what its allocator reserves, and own loops keep temporaries that no
// count of states knows; their interval says so.
TEST(TrainingScore, PeakMemoryLiesInItsInterval) {
  const ScoreSummary all = totals_of(published_score().series[1]);
  EXPECT_EQ(all.scored, 81);
  EXPECT_LE(all.median_ape, 0.03);
  EXPECT_GE(all.coverage, 0.76);
}

// Frozen weights have neither gradients nor their copies: 8B with adapters, fully recomputed, is
// weights (15 GiB), logits and layer inputs.
TEST(TrainingScore, AdaptersTakeNoMemoryOfFrozenGradients) {
  for (const ScoredRow& row : published_score().series[1].rows) {
    if (row.id != "h200m_01" && row.id != "h200m_02" && row.id != "h200m_03") continue;
    EXPECT_NEAR(row.predicted.value / *row.measured, 1, 0.05) << row.id;
  }
}

// Korthikanti et al. 2022, table 5: the eight rows that Calculon is validated on.
TEST(TrainingScore, KorthikantiWithinFourPercent) {
  const ScoreSummary eight = of_rows(0, "kor22");
  EXPECT_EQ(eight.scored, 8);
  EXPECT_LE(eight.mean_ape, 0.04);
}

// A compiled step of 125M parameters takes 20 ms, a tenth of it the compiler's own host work before
// each graph, which no parameter here is of: that row alone is held to twelve per cent.
TEST(TrainingScore, OneH200WithinFivePercentInTimeMemoryAndWatts) {
  for (std::size_t series : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    for (const ScoredRow& row : published_score().series[series].rows) {
      if (!row.id.starts_with("h200_")) continue;
      const bool compiled_125m = series == 0 && row.id == "h200_00";
      EXPECT_LE(row.ape(), compiled_125m ? 0.12 : 0.05)
          << row.id << " in " << published_score().series[series].name;
    }
  }
}

TEST(TrainingScore, SimumaxPeakMemoryWithinThreePercent) {
  const ScoreSummary memory = of_rows(1, "simumax");
  EXPECT_EQ(memory.scored, 28);
  EXPECT_LE(memory.median_ape, 0.03);
}

TEST(TrainingScore, BeatsTheSpreadsheetClearly) {
  const ScoreSummary one_mfu = score_one_mfu(published_rows(), {machine::known(), nullptr});
  const ScoreSummary all = totals_of(published_score().series[0]);
  EXPECT_LT(all.median_ape, 0.5 * one_mfu.median_ape);
  EXPECT_LT(all.p90_ape, 0.5 * one_mfu.p90_ape);
}

TEST(TrainingScore, RowsThatCannotBeAskedAreSkippedWithAReason) {
  const auto table = CsvTable::parse(
      "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,framework,certainty\n"
      "a,h100-sxm,8,no-such-model,4096,8,1,1,1,1,8,1,1,bf16,default,read\n"
      "b,no-such-gpu,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,bf16,default,read\n"
      "c,h100-sxm,8,llama-3-8b,4096,8,1,3,1,1,8,1,1,bf16,default,read\n"
      "d,a100-80-sxm,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,fp8,default,read\n"
      "e,h100-sxm,8,llama-3-8b,4096,8,,,,,,,,bf16,never-heard-of,read\n",
      "rows.csv");
  ASSERT_TRUE(table);
  const auto score = score_training(*table, {machine::known(), nullptr});
  ASSERT_TRUE(score);
  ASSERT_EQ(score->skipped.size(), 4u);
  for (const SkippedRow& row : score->skipped) EXPECT_FALSE(row.reason.empty()) << row.id;
  // An unknown framework and an open layout are predicted, with a wider interval.
  ASSERT_EQ(score->series[0].rows.size(), 1u);
  const Estimate& e = score->series[0].rows[0].predicted;
  EXPECT_GT(e.value, 0);
  EXPECT_GT(e.high / e.low, 1.3);
}

TEST(TrainingScore, PredictionsNeedNoMeasuredColumn) {
  const auto table = CsvTable::parse(
      "id,gpu,n_gpus,model,seq,gbs,mbs,tp,pp,vp,dp,cp,ep,precision,framework,certainty,"
      "tokens_per_s_per_gpu\n"
      "a,h100-sxm,8,llama-3-8b,4096,8,1,1,1,1,8,1,1,bf16,torchtitan,read,\n",
      "rows.csv");
  const auto score = score_training(*table, {machine::known(), nullptr});
  ASSERT_TRUE(score);
  const std::string csv = score_predictions_csv(*score);
  EXPECT_TRUE(csv.starts_with("id,predicted,low,high,basis\na,")) << csv;
  EXPECT_EQ(totals_of(score->series[0]).scored, 0);
}

}  // namespace
}  // namespace orrery::score
