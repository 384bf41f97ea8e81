// Published runs that no fitted row is of: other people's software, larger machines, models without
// rows. data/validation/training_outside.csv says what each row was read from.
#include <gtest/gtest.h>

#include <map>

#include "core/base/statistics.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/training_explain.h"
#include "study/score/training_rows.h"

namespace orrery::score {
namespace {

const CsvTable& outside_rows() {
  static const CsvTable table = catalog::embedded_table("validation/training_outside.csv").value();
  return table;
}

// The run that a row is of: nine sizes of Megatron-Core 0.8 are one, and so are MegaScale's scales.
std::string case_of(std::string_view id) {
  for (const std::string_view whole : {"mcore08_mixtral", "mcore08", "megascale", "llama3-405b"}) {
    if (id.starts_with(whole)) return std::string(whole);
  }
  return std::string(id);
}

// The 32B of Megatron-Core 0.8, whose microbatch is not published, is 15 % too slow and just
// outside its interval; every other row is nearer and inside.
TEST(TrainingOutside, PublishedRunsLieInTheirIntervalAndWithinFifteenPercent) {
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
TEST(TrainingOutside, EmbeddingAndLossTakeASlotEach) {
  training::TrainingJob job{.model = *machine::known().catalog().model("llama-3.1-405b"),
                            .sequence = 8192,
                            .batch = 2048,
                            .gpus = 8192};
  const training::Layout published{.tp = 8, .pp = 16, .vp = 8, .dp = 64};
  EXPECT_FALSE(refuse_layout(job, published)) << *refuse_layout(job, published);
  job.model.layers = 124;
  EXPECT_TRUE(refuse_layout(job, published));
}

TEST(TrainingOutside, ARowIsExplainedPartByPart) {
  const ScoreInputs inputs{machine::known(), nullptr};
  const auto text = explain_training_row(outside_rows(), inputs, "bloom-176b");
  ASSERT_TRUE(text) << to_text(text.error());
  EXPECT_NE(text->find("matrix products"), std::string::npos) << *text;
  EXPECT_NE(text->find("no fitted row is of its model, framework"), std::string::npos) << *text;
  EXPECT_NE(text->find("times as long"), std::string::npos) << *text;
  EXPECT_FALSE(explain_training_row(outside_rows(), inputs, "no-such-row"));
}

}  // namespace
}  // namespace orrery::score
