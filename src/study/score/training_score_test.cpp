#include "study/score/training_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/base/statistics.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/one_mfu.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"
#include "study/score/training_rows.h"

namespace orrery::score {
namespace {

using testing::AllOf;
using testing::HasSubstr;

jobs::ServingQuery gathered(const char* model, double clients) {
  const catalog::Catalog& catalog = machine::known().catalog();
  jobs::ServingQuery q;
  q.model = *catalog.model(model);
  q.accelerator = catalog.accelerator("b200-sxm");
  q.engine = "trtllm";
  q.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  q.split.tp = 4;
  q.request = {.input = 1024, .output = 1024};
  q.concurrency = clients;
  return q;
}

// Prompts of DeepSeek's shape gather from 64 clients on; other mixtures do not.
TEST(TrainingScore, only_latent_attention_gathers_for_experts) {
  EXPECT_EQ(load_of_test(gathered("deepseek-v3", 64)).gathering.iterations, 40);
  EXPECT_DOUBLE_EQ(load_of_test(gathered("deepseek-v3", 64)).gathering.tokens, 0.8 * 8192);
  EXPECT_EQ(load_of_test(gathered("deepseek-v3", 63)).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(gathered("mixtral-8x7b", 64)).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(gathered("llama-3-8b", 64)).gathering.iterations, 20);
  jobs::ServingQuery wide = gathered("deepseek-v3", 64);
  wide.precision.experts = catalog::Dtype::fp4;
  EXPECT_EQ(load_of_test(wide).gathering.iterations, 0);
}

TEST(TrainingScore, rows_have_groups_and_notes) {
  const CsvTable table =
      *CsvTable::parse(training_csv("a,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,25.02,read,"
                                    "9000,50,600,x\n"
                                    "b,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,25.04,read,"
                                    "6000,,,x\n"
                                    "c,h100-sxm,8,llama-3-8b,4096,16,,,,,fp8,nemo,25.04,recalled,"
                                    "12000,,,y z\n"),
                       "t.csv");
  const Score s = score_training(table, known_inputs()).value();
  ASSERT_EQ(s.series[0].rows.size(), 3U);
  EXPECT_THAT(
      s.series[0].rows[0].groups,
      testing::IsSupersetOf({"class=dense 16-bit", "class=dense bf16", "layout=published"}));
  EXPECT_THAT(s.series[0].rows[2].groups,
              testing::IsSupersetOf(
                  {"class=dense 8-bit or less", "layout=unpublished", "certainty=recalled"}));
  EXPECT_THAT(s.series[0].rows[0].note, AllOf(HasSubstr("25.04"), HasSubstr("6000")));
  EXPECT_THAT(s.series[0].rows[1].note, AllOf(HasSubstr("25.02"), HasSubstr("9000")))
      << "either way";
  EXPECT_THAT(s.series[0].rows[2].note, HasSubstr("chosen"));
  EXPECT_THAT(s.series[0].rows[2].note, HasSubstr("% of the step"));
  ASSERT_EQ(s.series[1].rows.size(), 1U);
  // 8.03e9 parameters: 2 + 4 B and an eighth of 12 B are 56 GiB, and activations; in GiB.
  EXPECT_GT(s.series[1].rows[0].predicted.value, 55);
  EXPECT_LT(s.series[1].rows[0].predicted.value, 75);
  EXPECT_EQ(s.series[2].rows.size(), 1U);
  EXPECT_GT(s.series[2].rows[0].predicted.value, 300);
}

// Two rows at half and at all of one ideal: the median of both is three quarters, so they are off
// by half and by a quarter.
TEST(TrainingScore, the_one_mfu_baseline_is_computed_by_hand) {
  const CsvTable table = *CsvTable::parse(
      training_csv("a,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,,read,5000,,,x\n"
                   "b,h100-sxm,8,llama-3-8b,4096,16,1,1,1,1,bf16,nemo,,read,10000,,"
                   ",x\n"
                   "c,h100-sxm,8,mixtral-8x7b,4096,16,1,1,1,1,bf16,nemo,,read,1,,,x\n"),
      "t.csv");
  const ScoreSummary s = score_one_mfu(table, known_inputs());
  EXPECT_EQ(s.scored, 2);
  EXPECT_NEAR(s.mean_ape, (0.5 + 0.25) / 2, 1e-9);
}

// The run that a row belongs to: nine sizes of Megatron-Core 0.8 are one, and so are MegaScale's
// scales.
std::string case_of(std::string_view id) {
  for (const std::string_view whole : {"mcore08_mixtral", "mcore08", "megascale", "llama3-405b"}) {
    if (id.starts_with(whole)) return std::string(whole);
  }
  return std::string(id);
}

// The 32B of Megatron-Core 0.8, whose microbatch is not published, is 15 % too slow and just
// outside its interval; every other row is nearer and inside.
TEST(TrainingScore, published_runs_are_within_15_percent) {
  const ScoreInputs inputs{machine::known(), nullptr};
  std::map<std::string, std::vector<double>> cases;
  std::vector<double> all;
  int far = 0;
  int out = 0;
  int rows = 0;
  for (const CsvRow& row : outside_rows().rows()) {
    const auto read = read_training_row(outside_rows(), row, inputs);
    ASSERT_TRUE(read) << read.error();
    const auto p = predict_training(inputs.models, read->query);
    ASSERT_TRUE(p) << read->id << ": " << to_text(p.error());
    const Estimate& e = p->tokens_per_s_per_gpu;
    const double measured = *read->tokens_per_s_per_gpu;
    const double miss = std::abs(e.value / measured - 1);
    ++rows;
    cases[case_of(read->id)].push_back(miss);
    all.push_back(miss);
    far += miss > 0.15 ? 1 : 0;
    out += measured < e.low || measured > e.high ? 1 : 0;
  }
  int far_cases = 0;
  for (auto& [name, misses] : cases) far_cases += quantile(misses, 0.5) > 0.15 ? 1 : 0;
  EXPECT_GE(rows, 21);
  EXPECT_EQ(far_cases, 0);
  EXPECT_LE(far, 1);
  EXPECT_LE(out, 1);
  EXPECT_LE(quantile(all, 0.5), 0.06);
}

// Llama 3's own layout: 126 layers and two slots for embedding and loss on 16 x 8 chunks.
TEST(TrainingScore, embedding_and_loss_take_a_slot_each) {
  training::TrainingJob job{.model = *machine::known().catalog().model("llama-3.1-405b"),
                            .sequence = 8192,
                            .batch = 2048,
                            .gpus = 8192};
  const training::Layout published{.tp = 8, .pp = 16, .vp = 8, .dp = 64};
  EXPECT_FALSE(refuse_layout(job, published)) << *refuse_layout(job, published);
  job.model.layers = 124;
  EXPECT_TRUE(refuse_layout(job, published));
}

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

TEST(TrainingScore, totals_of_published_rows) {
  const ScoreSummary all = totals_of(published_score().series[0]);
  EXPECT_GE(all.scored, 0.94 * published_score().rows);
  EXPECT_LE(all.median_ape, 0.03);
  EXPECT_LE(all.p90_ape, 0.12);
  EXPECT_GE(all.coverage, 0.76);
  EXPECT_LE(all.coverage, 0.86);
  EXPECT_LE(of_group("class=dense bf16").median_ape, 0.05);
}

// TorchTitan publishes what its allocator reserves, and custom loops keep temporaries that no count
// of states includes; their interval covers this.
TEST(TrainingScore, peak_memory_is_in_its_interval) {
  const ScoreSummary all = totals_of(published_score().series[1]);
  EXPECT_EQ(all.scored, 81);
  EXPECT_LE(all.median_ape, 0.03);
  EXPECT_GE(all.coverage, 0.76);
}

// Frozen weights have neither gradients nor their copies: 8B with adapters, fully recomputed, is
// weights (15 GiB), logits and layer inputs.
TEST(TrainingScore, adapters_need_no_memory_for_frozen_gradients) {
  for (const ScoredRow& row : published_score().series[1].rows) {
    if (row.id != "h200m_01" && row.id != "h200m_02" && row.id != "h200m_03") continue;
    EXPECT_NEAR(row.predicted.value / *row.measured, 1, 0.05) << row.id;
  }
}

// Korthikanti et al. 2022, table 5: the eight rows that Calculon is validated on.
TEST(TrainingScore, korthikanti_is_within_4_percent) {
  const ScoreSummary eight = of_rows(0, "kor22");
  EXPECT_EQ(eight.scored, 8);
  EXPECT_LE(eight.mean_ape, 0.04);
}

// A compiled step of 125M parameters takes 20 ms, a tenth of it the compiler's own host work before
// each graph, which no parameter here covers: only that row is held to twelve per cent.
TEST(TrainingScore, one_h200_is_within_5_percent) {
  for (std::size_t series : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    for (const ScoredRow& row : published_score().series[series].rows) {
      if (!row.id.starts_with("h200_")) continue;
      const bool compiled_125m = series == 0 && row.id == "h200_00";
      EXPECT_LE(row.ape(), compiled_125m ? 0.12 : 0.05)
          << row.id << " in " << published_score().series[series].name;
    }
  }
}

TEST(TrainingScore, simumax_memory_is_within_3_percent) {
  const ScoreSummary memory = of_rows(1, "simumax");
  EXPECT_EQ(memory.scored, 28);
  EXPECT_LE(memory.median_ape, 0.03);
}

TEST(TrainingScore, the_model_beats_one_mfu) {
  const ScoreSummary one_mfu = score_one_mfu(published_rows(), {machine::known(), nullptr});
  const ScoreSummary all = totals_of(published_score().series[0]);
  EXPECT_LT(all.median_ape, 0.5 * one_mfu.median_ape);
  EXPECT_LT(all.p90_ape, 0.5 * one_mfu.p90_ape);
}

TEST(TrainingScore, unusable_rows_are_skipped_with_a_reason) {
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

TEST(TrainingScore, predictions_need_no_measured_column) {
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
