#include "study/score/serving_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

std::string serving_table(const std::string& rows) {
  return "id,backend,model_path,system,precision,mode,isl,osl,batch_size,tp_size,mtp,"
         "decode_tp_size,prefill_tp_size,silicon_ttft_ms,silicon_tpot_ms\n" +
         rows;
}

TEST(ServingScore, times_are_in_milliseconds_with_groups) {
  const Score s = *score_serving(
      *CsvTable::parse(
          serving_table("a,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,"
                        "0,,,100,10\n"
                        "b,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,128,"
                        "8,,0,4,4,100,10\n"),
          "r.csv"),
      known_inputs());
  ASSERT_EQ(s.series[0].rows.size(), 2U);
  const ScoredRow& tpot = s.series[0].rows[0];
  const ScoredRow& ttft = s.series[1].rows[0];
  EXPECT_GT(tpot.predicted.value, 3);
  EXPECT_LT(tpot.predicted.value, 60);
  EXPECT_GT(ttft.predicted.value, 2 * tpot.predicted.value);
  EXPECT_EQ(tpot.measured, 10);
  EXPECT_EQ(ttft.measured, 100);
  EXPECT_THAT(tpot.groups, testing::IsSupersetOf({"class=dense", "workers=one kind",
                                                  "mode, speculation=agg off or unknown"}));
  const ScoredRow& apart = s.series[0].rows[1];
  EXPECT_THAT(apart.groups, testing::Contains("workers=apart, unpublished"));
  // Unpublished replicas: guesses may halve the time, fewer replicas lengthen it a little.
  EXPECT_NEAR(apart.predicted.high / apart.predicted.value, 1.3, 1e-9);
  EXPECT_NEAR(apart.predicted.value / apart.predicted.low, 1.9, 1e-9);
}

// Third-party rows that stay outside the repository: the test runs if they are next to it.
constexpr const char* kRows = ORRERY_SOURCE_DIR "/../shared/thirdparty/serving.csv";

// All rows with ORRERY_FULL, else every twelfth.
TEST(ServingScore, dense_models_match_published_rows) {
  std::ifstream file(kRows);
  if (!file) GTEST_SKIP() << "no " << kRows;
  const int every = std::getenv("ORRERY_FULL") != nullptr ? 1 : 12;
  std::string text;
  std::string line;
  for (int i = 0; std::getline(file, line); ++i) {
    if (i == 0 || i % every == 0) text += line + '\n';
  }
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const Score score = *score_serving(*CsvTable::parse(text, "serving.csv"), inputs);
  std::map<std::string, ScoreSummary> tpot;
  for (const GroupSummary& g : groups_of_series(score.series[0])) tpot[g.name] = g.summary;
  const ScoreSummary& dense = tpot["model=meta-llama/Llama-3.1-70B"];
  EXPECT_GE(dense.scored, 400 / every);
  EXPECT_LT(dense.median_ape, 0.10);
  EXPECT_LT(dense.p90_ape, 0.22);
  EXPECT_LT(totals_of(score.series[0]).median_ape, 0.20);
  std::map<std::string, ScoreSummary> ttft;
  for (const GroupSummary& g : groups_of_series(score.series[1])) ttft[g.name] = g.summary;
  EXPECT_LT(ttft["model=meta-llama/Llama-3.1-70B"].median_ape, 0.25);
  const double coverage = totals_of(score.series[0]).coverage;
  EXPECT_GT(coverage, 0.70);
  EXPECT_LT(coverage, 0.92);
  EXPECT_GT(totals_of(score.series[1]).coverage, 0.6);
}

TEST(ServingScore, rows_outside_the_model_are_skipped) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const std::string_view text =
      "id,backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,"
      "batch_size,tp_size,silicon_ttft_ms,silicon_tpot_ms\n"
      "a,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,1024,fp8,fp8,,,100,10\n"
      "b,vllm,meta-llama/Llama-3.1-70B,h200_sxm,int4,agg,1024,1024,int4_wo,int4_wo,8,4,100,10\n"
      "c,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,1024,fp8,fp8,8,4,100,10\n"
      "d,vllm,meta-llama/Llama-3.1-70B,h200_sxm,,agg,1024,1024,,,8,1,100,10\n";
  const Score score = *score_serving(*CsvTable::parse(text, "rows.csv"), inputs);
  ASSERT_EQ(score.skipped.size(), 3u);
  EXPECT_NE(score.skipped[0].reason, "");
  EXPECT_EQ(score.skipped[1].reason, "weight-only format");
  EXPECT_NE(score.skipped[2].reason.find("leave no room"), std::string::npos);
  EXPECT_EQ(score.series[0].rows.size(), 1u);
}

// The source names the clients; replicas of prefill and decode are counted separately.
TEST(ServingScore, disaggregated_rows_are_scored) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const std::string_view text =
      "id,silicon_data_source,backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,"
      "moe_quant_mode,prefill_num_workers,prefill_tp_size,decode_num_workers,decode_tp_size,"
      "silicon_ttft_ms,silicon_tpot_ms\n"
      "a,db; silicon_concurrency=64; x,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,1024,"
      "fp8,fp8,2,4,1,4,100,10\n"
      "b,db; silicon_concurrency=64; x,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,1024,"
      "fp8,fp8,2,4,4,4,100,10\n";
  const Score score = *score_serving(*CsvTable::parse(text, "rows.csv"), inputs);
  ASSERT_EQ(score.series[0].rows.size(), 2u);
  // Four decode replicas share the same clients: each step is shorter.
  EXPECT_LT(score.series[0].rows[1].predicted.value, score.series[0].rows[0].predicted.value);
  EXPECT_GT(score.series[1].rows[0].predicted.value, 0);
}

}  // namespace
}  // namespace orrery::score
