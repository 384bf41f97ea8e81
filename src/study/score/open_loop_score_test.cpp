#include "study/score/open_loop_score.h"

#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/score/offline_score.h"

namespace orrery::score {
namespace {

constexpr std::string_view kColumns =
    "id,model,gpu,engine,version,tp,max_num_batched_tokens,max_num_seqs,arrivals,rate,duration_s,"
    "workload,system_prompts,users_per_system_prompt,system_prompt_len,question_len,output_len,"
    "requests,failures,ttft_ms_mean,tpot_ms_mean,e2e_ms_mean\n";

TEST(OpenLoopScore, TheLoadOfARowIsSimulated) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const std::string text =
      std::string(kColumns) +
      "slow,meta-llama/Llama-2-7b-hf,h100-sxm,vllm,0.15.1,1,2048,128,constant,5,60,chat,11,4,100,"
      "466,247,300,0,,,\n"
      "fast,meta-llama/Llama-2-7b-hf,h100-sxm,vllm,0.15.1,1,2048,128,constant,15,60,chat,11,4,100,"
      "466,247,900,500,30,9,2200\n"
      "none,nobody/"
      "nothing,h100-sxm,vllm,0.15.1,1,2048,128,constant,5,60,chat,11,4,100,466,247,300,0"
      ",,,\n";
  const Score score = *score_open_loop(*CsvTable::parse(text, "rows.csv"), inputs);
  ASSERT_EQ(score.series[0].rows.size(), 2u);
  ASSERT_EQ(score.skipped.size(), 1u);
  EXPECT_EQ(score.skipped[0].reason, "unknown model");
  const auto value = [&](std::size_t series, std::size_t row) {
    return score.series[series].rows[row].predicted.value;
  };
  EXPECT_GT(value(0, 1), value(0, 0));  // more requests at once: slower tokens
  EXPECT_NEAR(value(2, 0), value(1, 0) + 246 * value(0, 0), 1);  // end to end is what its parts say
  EXPECT_TRUE(score.series[0].rows[0].counts);
  EXPECT_FALSE(score.series[0].rows[1].counts);  // most of its requests failed
  EXPECT_TRUE(score.predictions.starts_with("id,ttft_ms_mean,ttft_ms_p99,tpot_ms_mean"));
}

TEST(OfflineScore, ThroughputOfPublishedTables) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const std::string_view text =
      "id,engine,version,model,gpu,precision,parallel,num_gpus,isl,osl,load,metric,value\n"
      "a,TensorRT-LLM,0.21,Llama 3.3 70B,B200,FP4,TP1,1,128,128,all,output tokens/s total,10613\n"
      "b,TensorRT-LLM,0.21,Llama 3.3 70B,H200,FP8,TP2,2,128,2048,all,output tokens/s total,\n"
      "c,TensorRT-LLM,0.21,LLaMA v3.1 8B,H100 80GB HBM3,FP8,TP1,1,128,128,all,requests/s,9\n";
  const Score score = *score_offline(*CsvTable::parse(text, "rows.csv"), inputs);
  ASSERT_EQ(score.series[0].rows.size(), 2u);
  EXPECT_LT(score.series[0].rows[0].ape(), 0.4);
  EXPECT_EQ(score.skipped[0].reason, "another metric");
}

}  // namespace
}  // namespace orrery::score
