#include "study/score/open_loop_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/machine/known_fixture.h"
#include "study/score/log_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

RowFields open_row(const RowFields& more) {
  return with_fields({{"id", "r"},
                      {"model", "meta-llama/Llama-2-7b-hf"},
                      {"gpu", "h100-sxm"},
                      {"engine", "vllm"},
                      {"tp", "1"},
                      {"rate", "0.05"},
                      {"arrivals", "even"},
                      {"duration_s", ""},
                      {"system_prompts", ""},
                      {"users_per_system_prompt", ""},
                      {"system_prompt_len", ""},
                      {"question_len", ""},
                      {"prompt_len_mean", ""},
                      {"output_len", ""},
                      {"max_num_batched_tokens", ""},
                      {"max_num_seqs", ""},
                      {"workload", "w"},
                      {"failures", ""},
                      {"requests", ""}},
                     more);
}

std::vector<double> open_values(const RowFields& more) {
  const Score s = score_open_loop(table_of({open_row(more)}), known_inputs()).value();
  std::vector<double> all;
  for (const ScoredSeries& series : s.series) {
    all.push_back(series.rows.empty() ? -1 : series.rows[0].predicted.value);
  }
  return all;
}

// A budget matters if many prompts arrive at once: 6,000 tokens in one step or in two.
TEST(OpenLoopScore, open_loop_token_budgets_come_from_the_row) {
  const RowFields crowd = {{"rate", "400"},
                           {"duration_s", "1"},
                           {"question_len", "700"},
                           {"output_len", "20"},
                           {"system_prompts", "400"}};
  const auto values = [&](const RowFields& more) { return open_values(with_fields(crowd, more)); };
  const std::vector<double> blank = values({});
  EXPECT_EQ(values({{"max_num_batched_tokens", "8192"}, {"max_num_seqs", "1024"}}), blank);
  EXPECT_NE(values({{"max_num_batched_tokens", "8738"}}), blank);
  EXPECT_NE(values({{"max_num_seqs", "16"}}), blank);
}

TEST(OpenLoopScore, open_loop_rows_have_groups_and_predictions) {
  const Score s =
      score_open_loop(table_of({open_row({{"failures", "1"}, {"requests", "100"}}),
                                open_row({{"id", "f"}, {"failures", "2"}, {"requests", "100"}}),
                                open_row({{"id", "m"}, {"model", "none"}}),
                                open_row({{"id", "g"}, {"gpu", "abacus"}})}),
                      known_inputs())
          .value();
  ASSERT_EQ(s.skipped.size(), 2U);
  EXPECT_EQ(s.skipped[0].reason, "unknown model");
  EXPECT_TRUE(s.skipped[0].counts);
  EXPECT_EQ(s.skipped[1].reason, "unknown accelerator");
  EXPECT_THAT(s.series[0].rows[0].groups, testing::ElementsAre("model=meta-llama/Llama-2-7b-hf",
                                                               "workload=w", "requests=served"));
  EXPECT_EQ(s.series[0].rows[1].groups[2], "requests=failed");
  EXPECT_TRUE(s.series[0].rows[0].counts);
  EXPECT_FALSE(s.series[0].rows[1].counts);
  const CsvTable csv = CsvTable::parse(score_predictions_csv(s), "p.csv").value();
  const char* columns[] = {"tpot_ms_mean", "ttft_ms_mean", "e2e_ms_mean", "ttft_ms_p99",
                           "e2e_ms_p99"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(*csv.number(csv.rows()[0], columns[i]), s.series[i].rows[0].predicted.value, 0.006)
        << columns[i];
  }
}

// Six system prompts of 300 tokens with four users each and questions of 200; 40 s at 3 per second.
TEST(OpenLoopScore, the_simulated_load_is_that_of_the_row) {
  const Score said = score_open_loop(table_of({hand_open_row({{"tp", "2"},
                                                              {"question_len", "200"},
                                                              {"system_prompt_len", "300"},
                                                              {"output_len", "40"},
                                                              {"max_num_batched_tokens", "600"},
                                                              {"max_num_seqs", "5"},
                                                              {"system_prompts", "6"},
                                                              {"users_per_system_prompt", "4"},
                                                              {"duration_s", "40"},
                                                              {"arrivals", "even"}})}),
                                     known_inputs())
                         .value();
  expect_open(said, open_means({.tp = 2,
                                .budget = 600,
                                .sequences = 5,
                                .cv = 0,
                                .prompt = 500,
                                .output = 40,
                                .requests = 120,
                                .prompts = 24,
                                .systems = 6,
                                .shared = 300}));
  EXPECT_EQ(said.series[0].rows[0].groups[2], "requests=served");
}

constexpr std::string_view kColumns =
    "id,model,gpu,engine,version,tp,max_num_batched_tokens,max_num_seqs,arrivals,rate,duration_s,"
    "workload,system_prompts,users_per_system_prompt,system_prompt_len,question_len,output_len,"
    "requests,failures,ttft_ms_mean,tpot_ms_mean,e2e_ms_mean\n";

TEST(OpenLoopScore, the_load_of_a_row_is_simulated) {
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
  // end to end equals the sum of its parts
  EXPECT_NEAR(value(2, 0), value(1, 0) + 246 * value(0, 0), 1);
  EXPECT_TRUE(score.series[0].rows[0].counts);
  EXPECT_FALSE(score.series[0].rows[1].counts);  // most of its requests failed
  EXPECT_TRUE(score.predictions.starts_with("id,ttft_ms_mean,ttft_ms_p99,tpot_ms_mean"));
}

TEST(OpenLoopScore, a_row_without_a_rate_is_skipped) {
  const std::string head =
      "id,model,gpu,engine,tp,arrivals,rate,duration_s,system_prompts,users_per_system_prompt,"
      "system_prompt_len,question_len,output_len,requests,failures,ttft_ms_mean\n";
  const auto score = [&](const std::string& rows) {
    return *score_open_loop(*CsvTable::parse(head + rows, "o.csv"), known_inputs());
  };
  const std::string common = ",meta-llama/Llama-2-7b-hf,h100-sxm,vllm,1,";
  const Score s = score("a" + common + "constant,8,30,4,2,1000,100,64,240,2,30\n" +  //
                        "b" + common + "even,8,30,4,2,1000,100,64,240,3,30\n" +      //
                        "c" + common + "constant,0,30,4,2,1000,100,64,240,0,30\n" +  //
                        "d" + common + "constant,8,30,240,1,1000,100,64,240,0,30\n");
  ASSERT_EQ(s.skipped.size(), 1U);
  EXPECT_EQ(s.skipped[0].reason, "the row gives no rate");
  const auto at = [&](std::size_t series, std::size_t row) { return s.series[series].rows[row]; };
  EXPECT_TRUE(at(0, 0).counts);
  EXPECT_FALSE(at(0, 1).counts);
  // Requests at even distances wait less than random ones.
  EXPECT_LT(at(1, 1).predicted.value, at(1, 0).predicted.value);
  // Prompts that share nothing cost more to read than those with four system prompts.
  EXPECT_GT(at(1, 2).predicted.value, 1.2 * at(1, 0).predicted.value);
  const auto width = [](const ScoredRow& r) { return r.predicted.high / r.predicted.value - 1; };
  EXPECT_NEAR(width(at(1, 0)), 2 * width(at(0, 0)), 1e-9);
  EXPECT_NEAR(width(at(2, 0)), width(at(0, 0)), 1e-9);
  const Estimate& e = at(0, 0).predicted;
  EXPECT_NEAR(e.low * e.high, e.value * e.value, 1e-9 * e.value * e.value);
}

// A prompt is its system prompt plus its question.
TEST(OpenLoopScore, system_prompts_lengthen_the_prompt) {
  const std::string head =
      "id,model,gpu,engine,tp,arrivals,rate,duration_s,system_prompts,system_prompt_len,"
      "question_len,output_len\n";
  const Score s = *score_open_loop(
      *CsvTable::parse(head +
                           "a,meta-llama/Llama-2-7b-hf,h100-sxm,vllm,1,even,1,20,20,100,100,8\n"
                           "b,meta-llama/Llama-2-7b-hf,h100-sxm,vllm,1,even,1,20,20,3000,100,8\n",
                       "o.csv"),
      known_inputs());
  EXPECT_GT(s.series[1].rows[1].predicted.value, 2 * s.series[1].rows[0].predicted.value);
}

}  // namespace
}  // namespace orrery::score
