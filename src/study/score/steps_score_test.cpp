#include "study/score/steps_score.h"

#include <gtest/gtest.h>

#include <string>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

Score steps_of(std::string_view text) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  return *score_steps(*CsvTable::parse(text, "steps.csv"), inputs);
}

// 25 prefill and decode steps of an 8B model on one H200; a 128-token prompt is bound by the host.
TEST(StepsScore, OneH200) {
  const Score score = steps_of(catalog::embedded_text("validation/h200_steps.csv").value());
  EXPECT_TRUE(score.skipped.empty());
  const ScoreSummary time = totals_of(score.series[0]);
  EXPECT_EQ(time.scored, 25);
  EXPECT_LT(time.median_ape, 0.06);
  EXPECT_LT(time.p90_ape, 0.10);
  const ScoreSummary watts = totals_of(score.series[1]);
  EXPECT_EQ(watts.scored, 21);
  EXPECT_LT(watts.median_ape, 0.03);
  EXPECT_LT(watts.p90_ape, 0.06);
}

TEST(StepsScore, WhatItCannotPredictIsSkippedWithAReason) {
  const Score score = steps_of(
      "id,model,phase,batch,tokens_or_context,seconds\n"
      "a,unheard-of,decode,1,512,0.005\n"
      "b,8b,dreaming,1,512,0.005\n"
      "c,8b,decode,1,512,\n");
  ASSERT_EQ(score.skipped.size(), 2u);
  EXPECT_EQ(score.skipped[0].reason, "unknown model");
  EXPECT_EQ(score.skipped[1].reason, "unknown phase");
  EXPECT_EQ(score.series[0].rows.size(), 1u);
}

}  // namespace
}  // namespace orrery::score
