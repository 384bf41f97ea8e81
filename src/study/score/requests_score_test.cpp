#include "study/score/requests_score.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/jobs/predict_serving.h"
#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

constexpr std::string_view kIndex =
    "id,log,gpu,model,engine,tp,attention_dp,ep,blocks,max_num_batched_tokens,max_num_seqs,"
    "calibrates\n"
    "own,own.jsonl,l40s,meta-llama/Llama-3.1-8B,vllm,1,1,1,4000,2048,32,1\n"
    "lost,lost.jsonl,l40s,meta-llama/Llama-3.1-8B,vllm,1,1,1,4000,2048,32,0\n";

// A log as a device would write it whose memory is a fifth slower than the catalog's says.
std::string log_of_slow_memory() {
  machine::Models models = machine::known();
  for (compute::Relative& r : models.kernels.relatives) {
    if (r.accelerator == "l40s") r.memory_efficiency *= 0.8;
  }
  jobs::ServingQuery q;
  q.model = *models.catalog().model("llama-3-8b");
  q.accelerator = models.catalog().accelerator("l40s");
  q.blocks = 4000;
  q.streams = false;
  q.limits = engines::EngineLimits{.token_budget = 2048, .max_sequences = 32};
  const auto arrivals = traffic::open_load({.rate = 4,
                                            .requests = 96,
                                            .prompt = {.length = 500, .least_share = 0.5},
                                            .output = {.length = 40, .least_share = 0.5}});
  const auto records = jobs::replay_requests(models, q, arrivals, true);
  std::string text;
  for (const traffic::RequestRecord& r : *records) {
    text += fmt::format(
        "{{\"input_toks\": {}, \"output_toks\": {}, \"queued_ts\": {}, \"first_token_ts\": {}, "
        "\"last_token_ts\": {}}}\n",
        r.prompt, r.output, 100 + r.arrived, 100 + r.first, 100 + r.last);
  }
  return text;
}

TEST(RequestsScore, HalfOfALogCalibratesItsDevice) {
  const std::string log = log_of_slow_memory();
  ScoreInputs inputs{.models = machine::known(), .model = {}};
  inputs.log = [&log](std::string_view name) {
    return name == "own.jsonl" ? std::optional(log) : std::nullopt;
  };
  const Score score = *score_requests(*CsvTable::parse(kIndex, "index.csv"), inputs);
  ASSERT_EQ(score.skipped.size(), 1u);
  EXPECT_EQ(score.skipped[0].reason, "no log lost.jsonl");
  for (std::size_t i = 0; i < score.series.size(); ++i) {
    ASSERT_EQ(score.series[i].rows.size(), 1u);
    EXPECT_LT(score.series[i].rows[0].ape(), i < 3 ? 0.04 : 0.12) << score.series[i].name;
  }
  // "calibration=compute x 1.02, bandwidth x 0.81, 0.2 ms a step"
  const std::string& told = score.series[0].rows[0].groups[0];
  EXPECT_NEAR(std::stod(told.substr(told.find("bandwidth x ") + 12)), 0.8, 0.1) << told;
  EXPECT_LT(std::stod(told.substr(told.rfind(',') + 1)), 20) << told;
}

TEST(RequestsScore, WithoutAFolderOfLogsEveryRowSaysSo) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const Score score = *score_requests(*CsvTable::parse(kIndex, "index.csv"), inputs);
  ASSERT_EQ(score.skipped.size(), 2u);
  EXPECT_NE(score.skipped[0].reason.find("--logs"), std::string::npos);
}

}  // namespace
}  // namespace orrery::score
