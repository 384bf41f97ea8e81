// The page of training's accuracy, whole, from four rows; tests that settings are found for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "study/score/one_mfu.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_tests.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

RowFields page_row(const std::string& id, const RowFields& more) {
  return with_fields({{"id", id},
                      {"gpu", "h100-sxm"},
                      {"model", "llama-3-8b"},
                      {"n_gpus", "8"},
                      {"seq", "4096"},
                      {"gbs", "16"},
                      {"mbs", "1"},
                      {"tp", "2"},
                      {"pp", "1"},
                      {"cp", "1"},
                      {"precision", "bf16"},
                      {"framework", "nemo"},
                      {"release", "24.07"},
                      {"certainty", "read"},
                      {"source", "s"}},
                     more);
}

std::string page_line(const char* who, const char* of, const ScoreSummary& s) {
  return fmt::format("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.1f} % |\n", who, of, s.scored,
                     100 * s.median_ape, 100 * s.mean_ape, 100 * s.p90_ape);
}

ScoreSummary alone(const ScoredRow& row) { return summarise(std::vector<const ScoredRow*>{&row}); }

TEST(TrainingPage, of_four_rows) {
  const CsvTable table =
      table_of({page_row("kor22_a", {{"tokens_per_s_per_gpu", "9000"}}),
                page_row("simumax_b", {{"tokens_per_s_per_gpu", "14000"}, {"peak_gib", "60"}}),
                page_row("h200_c", {{"gpu", "h200-sxm"}, {"tokens_per_s_per_gpu", "11500"}}),
                page_row("other", {{"model", "unheard"}})});
  const Score score = score_training(table, known_inputs()).value();
  const auto& rows = score.series[0].rows;
  ASSERT_EQ(rows.size(), 3U);
  ASSERT_EQ(score.series[1].rows.size(), 1U);
  const ScoreSummary all = totals_of(score.series[0]);
  const std::string& text = score.preface;
  const std::size_t at = text.find("| model | rows | scored | median | mean | p90 |\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(
      text.substr(at),
      "| model | rows | scored | median | mean | p90 |\n|---|---|---:|---:|---:|---:|\n" +
          page_line("Orrery", "all that count", all) +
          page_line("one MFU a chip and precision (spreadsheet)", "dense rows",
                    score_one_mfu(table, known_inputs())) +
          page_line("Orrery", "Korthikanti 2022, 8 A100 rows", alone(rows[0])) +
          "| Calculon (published validation) | Korthikanti 2022, 8 A100 rows | 8 | | 3.7 % | |\n" +
          page_line("Orrery, time", "SimuMax 1.2, 8 x B200", alone(rows[1])) +
          page_line("Orrery, peak memory", "SimuMax 1.2, 8 x B200",
                    alone(score.series[1].rows[0])) +
          "| SimuMax (its own 43 rows) | 8 x B200 | 43 | | time -13.5 to +0.1 %, memory within "
          "1.4 % | |\n" +
          page_line("Orrery", "one H200", alone(rows[2])) + "\n");
  EXPECT_EQ(text.substr(0, text.find(" of the measured values")),
            fmt::format("# Accuracy of training predictions\n\n"
                        "Written by `orrery score training data/validation/training.csv --format "
                        "markdown`. 4 rows, 3 scored, 1 skipped with a reason; {:.0f} %",
                        100 * all.coverage));
}

constexpr std::string_view kSettingsHead =
    "accelerator,engine,model,precision,isl,osl,prefill_replicas,prefill_devices,prefill_ep,"
    "prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,decode_batch,clients,"
    "since,until,set\n";

TestAsk plain_ask() {
  return {.accelerator = "gb200",
          .engine = "trtllm",
          .model = "deepseek-ai/DeepSeek-R1",
          .precision = "fp4",
          .run = "a",
          .day = {},
          .input = 1024,
          .output = 512,
          .clients = 8,
          .prefill_devices = 4,
          .prefill_ep = 4,
          .decode_devices = 8};
}

// A setting is of its accelerator, engine, model, format and lengths, all of them.
TEST(TrainingPage, a_setting_is_of_its_own_test) {
  const auto found = [](const std::string& head) {
    const std::string line = head + ",1,4,4,1,3,8,8,0,0,32,8,2026-01-01,,\n";
    const CsvTable table = CsvTable::parse(std::string(kSettingsHead) + line, "t.csv").value();
    return settings_for(table, std::vector{plain_ask()})[0].size();
  };
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp4,1024,512"), 1U);
  EXPECT_EQ(found("gb300,trtllm,DeepSeek,fp4,1024,512"), 0U);
  EXPECT_EQ(found("gb200,sglang,DeepSeek,fp4,1024,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,Llama,fp4,1024,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp8,1024,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp4,1025,512"), 0U);
  EXPECT_EQ(found("gb200,trtllm,DeepSeek,fp4,1024,513"), 0U);
}

}  // namespace
}  // namespace orrery::score
