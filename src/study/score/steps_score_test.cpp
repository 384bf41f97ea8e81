#include "study/score/steps_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

using testing::ElementsAre;

Score steps_in(const std::string& rows) {
  return *score_steps(
      *CsvTable::parse("id,model,gpu,phase,batch,tokens_or_context,seconds,watts\n" + rows,
                       "s.csv"),
      known_inputs());
}

TEST(StepsScore, unusable_steps_are_skipped_with_a_reason) {
  const Score s = *score_steps(
      *CsvTable::parse("id,model,gpu,phase,batch,tokens_or_context,seconds,watts\n"
                       "a,8b,,idle,1,1,1,\nb,none,,decode,1,1,1,\nc,8b,,decode,2,100,0.5,300\n"
                       "d,llama-3-70b,l40s,decode,1,100,1,\n",
                       "s.csv"),
      known_inputs());
  ASSERT_GE(s.skipped.size(), 2U);
  EXPECT_EQ(s.skipped[0].reason, "unknown phase");
  EXPECT_EQ(s.skipped[1].reason, "unknown model");
  EXPECT_TRUE(s.skipped[0].counts);
  EXPECT_THAT(s.series[0].rows.at(0).groups, ElementsAre("gpu=h200-sxm", "phase=decode"));
  EXPECT_EQ(s.rows, 4);
}

TEST(StepsScore, prefill_takes_longer_than_decode) {
  const Score s = steps_in(
      "a,8b,,prefill,1,4096,0.1,600\nb,8b,,decode,1,4096,0.01,\nc,8b,h100-sxm,decode,1,4096,0.01,\n"
      "d,8b,,decode,,4096,0.01,\ne,8b,,decode,1,,0.01,\nf,8b,abacus,decode,1,1,0.01,\n");
  ASSERT_EQ(s.series[0].rows.size(), 3U);
  ASSERT_EQ(s.skipped.size(), 3U);
  EXPECT_EQ(s.skipped[2].reason, "unknown accelerator");
  const auto seconds = [&](std::size_t i) { return s.series[0].rows[i].predicted.value; };
  EXPECT_GT(seconds(0), 5 * seconds(1));
  EXPECT_GT(seconds(2), 1.1 * seconds(1)) << "3.35 TB/s against 4.8";
  ASSERT_EQ(s.series[1].rows.size(), 1U);
  EXPECT_EQ(s.series[1].rows[0].measured, 600);
  EXPECT_GT(s.series[1].rows[0].predicted.value, 200);
  EXPECT_LT(s.series[1].rows[0].predicted.value, 800);
  EXPECT_EQ(s.series[0].rows[0].measured, 0.1);
}

Score steps_of(std::string_view text) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  return *score_steps(*CsvTable::parse(text, "steps.csv"), inputs);
}

// 25 prefill and decode steps of an 8B model on one H200; a 128-token prompt is bound by the host.
TEST(StepsScore, one_h200_is_predicted) {
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

TEST(StepsScore, unpredictable_rows_are_skipped_with_a_reason) {
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
