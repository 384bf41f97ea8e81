#include "study/score/storage_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

using testing::AllOf;

using testing::HasSubstr;

TEST(StorageScore, checkpoint_sizes_are_exact) {
  const Score s =
      score_storage(CsvTable::parse("system,config,model,checkpoint_GiB,write_s,clients,"
                                    "write_GiB_s,read_s\n"
                                    "own,12 data nodes,llama3-8b,105,,,,\n",
                                    "c.csv")
                        .value(),
                    known_inputs())
          .value();
  const Estimate& e = s.series[1].rows.at(0).predicted;
  EXPECT_NEAR(e.high / e.value, 1.0005, 1e-9);
  EXPECT_NEAR(e.low / e.value, 0.9995, 1e-9);
  EXPECT_EQ(s.series[1].rows[0].id, "own/llama3-8b/12 data nodes");
}

// 3 x 400 records of 114,660 bytes in 0.224 s each at nine tenths, in MiB.
TEST(StorageScore, published_rates_are_predicted_as_such) {
  const Score score = score_storage(table_of({{{"submitter", "s"},
                                               {"system_path", "p"},
                                               {"model", "resnet50"},
                                               {"accelerator", "h100"},
                                               {"num_accelerators", "3"},
                                               {"MiB_per_s", "540"}},
                                              {{"submitter", "s"},
                                               {"system_path", "q"},
                                               {"model", "resnet50"},
                                               {"accelerator", "h100"},
                                               {"num_accelerators", ""}}}),
                                    known_inputs())
                          .value();
  ASSERT_EQ(score.series[0].rows.size(), 1U);
  const ScoredRow& r = score.series[0].rows[0];
  const double mark = 3 * 400 * 114660 / 0.224 / 1048576 * 0.9;
  EXPECT_EQ(r.id, "s/p");
  EXPECT_NEAR(r.predicted.value, 1.017 * mark, 1e-9 * mark);
  EXPECT_NEAR(r.predicted.low, 0.986 * mark, 1e-9 * mark);
  EXPECT_NEAR(r.predicted.high, 1.078 * mark, 1e-9 * mark);
  EXPECT_EQ(r.measured, 540);
  EXPECT_EQ(r.groups, (std::vector<std::string>{"workload=resnet50", "accelerator=h100"}));
  ASSERT_EQ(score.skipped.size(), 1U);
  EXPECT_NE(score.skipped[0].reason, "");
}

// The shipped models with another text of one file.
machine::Models models_reading(std::string_view path, std::string text) {
  static std::deque<std::string> texts;
  static std::deque<std::vector<catalog::EmbeddedFile>> all;
  auto& files =
      all.emplace_back(catalog::embedded_files().begin(), catalog::embedded_files().end());
  texts.push_back(std::move(text));
  for (catalog::EmbeddedFile& file : files) {
    if (file.path == path) file.text = texts.back();
  }
  machine::Models models = machine::known();
  auto knowledge = std::make_shared<catalog::Knowledge>(*models.knowledge);
  knowledge->files = files;
  models.knowledge = knowledge;
  return models;
}

constexpr std::string_view kHeader =
    "system,config,model,clients,checkpoint_GiB,write_GiB_s,write_s,read_s\n";

Score checkpoint_score(const std::string& published, const std::string& asked) {
  const machine::Models models =
      models_reading("validation/checkpoint_truth.csv", std::string(kHeader) + published);
  const CsvTable table = CsvTable::parse(std::string(kHeader) + asked, "c.csv").value();
  return score_storage(table, {.models = models, .model = {}}).value();
}

// Each server writes 1 GiB/s: 1000 GiB take ten of them 100 s and twenty 50 s.
const std::string kTen = "S,10 data nodes,llama3-70b,,1000,10,100,\n";

const std::string kTwenty = "S,20 data nodes,llama3-70b,,1000,20,50,\n";
const std::string kAsked = "S,30 data nodes,llama3-8b,,,33,,\n";

TEST(StorageScore, two_other_rows_of_a_system_suffice) {
  const Score s = checkpoint_score(kTen + kTwenty, kAsked);
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  EXPECT_TRUE(s.skipped.empty());
  const ScoredRow& row = s.series[0].rows[0];
  EXPECT_EQ(row.id, "S/llama3-8b/30 data nodes");
  EXPECT_NEAR(row.predicted.value, 30, 1e-6);
  EXPECT_NEAR(row.predicted.low, 27, 1e-6);
  EXPECT_NEAR(row.predicted.high, 33, 1e-6);
  EXPECT_EQ(row.measured, 33);
  EXPECT_THAT(row.note, HasSubstr("2 other rows"));
  EXPECT_TRUE(s.series[1].rows.empty());
  EXPECT_TRUE(s.series[2].rows.empty());
}

TEST(StorageScore, one_other_row_does_not_suffice) {
  for (const std::string& published :
       {kTen, kTen + "T,20 data nodes,llama3-70b,,1000,20,50,\n",
        kTen + "S,many data nodes,llama3-70b,,1000,20,50,\n",
        kTen + "S,20 data nodes,llama3-70b,,,20,50,\n",
        kTen + "S,20 data nodes,llama3-70b,,1000,20,,\n", kTen + kAsked}) {
    const Score s = checkpoint_score(published, kAsked);
    EXPECT_TRUE(s.series[0].rows.empty()) << published;
    ASSERT_EQ(s.skipped.size(), 1U);
    EXPECT_NE(s.skipped[0].reason, "");
  }
}

// A client that reads 10 GiB/s: 1000 GiB take one of them 100 s, however many servers there are.
// Rows that do not name their clients had one.
TEST(StorageScore, reads_are_limited_by_servers_or_clients) {
  std::string published;
  for (const char* servers : {"10", "20", "40"}) {
    published += "S," + std::string(servers) + " data nodes,llama3-70b,,1000,,,100\n";
  }
  const auto rate = [&](const std::string& servers, const std::string& clients) {
    const Score s =
        checkpoint_score(published, "S," + servers + " data nodes,llama3-8b," + clients + ",,,,\n");
    EXPECT_EQ(s.series[2].rows.size(), 1U);
    return s.series[2].rows.at(0);
  };
  EXPECT_NEAR(rate("30", "2").predicted.value, 20, 1e-6);
  EXPECT_NEAR(rate("30", "2").predicted.low, 15, 1e-6);
  EXPECT_NEAR(rate("30", "2").predicted.high, 25, 1e-6);
  EXPECT_THAT(rate("30", "2").note, AllOf(HasSubstr("clients"), HasSubstr("3 other rows")));
  EXPECT_NEAR(rate("30", "50").predicted.value, 30, 1e-6);
  EXPECT_THAT(rate("30", "50").note, AllOf(HasSubstr("servers"), HasSubstr("3 other rows")));
  EXPECT_TRUE(checkpoint_score(published, kAsked).series[2].rows.empty()) << "no clients";
  const std::string two = published.substr(0, published.rfind("S,40"));
  const std::string asked = "S,30 data nodes,llama3-8b,2,,,,\n";
  EXPECT_TRUE(checkpoint_score(two, asked).series[2].rows.empty());
}

// Four samples of 1 MiB in two seconds: 2 MiB/s, of which half is the mark.
TEST(StorageScore, a_workload_needs_all_its_numbers) {
  const auto scored = [](const std::string& numbers) {
    const machine::Models models =
        models_reading("calibration/mlperf_storage_workloads.csv",
                       "workload,accelerator,batch,record_bytes,compute_s_per_step,AU_threshold\n"
                       "w,x (80 GB)," +
                           numbers + "\n");
    const CsvTable table = table_of({{{"submitter", "a"},
                                      {"system_path", "b"},
                                      {"model", "w"},
                                      {"accelerator", "x"},
                                      {"num_accelerators", "10"},
                                      {"MiB_per_s", "9"}}});
    return score_storage(table, {.models = models, .model = {}}).value();
  };
  const Score s = scored("4,1048576,2,0.5");
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  EXPECT_NEAR(s.series[0].rows[0].predicted.value, 10 * 1.017, 1e-9);
  EXPECT_EQ(s.series[0].rows[0].id, "a/b");
  for (const char* numbers : {",1048576,2,0.5", "4,,2,0.5", "4,1048576,,0.5", "4,1048576,2,"}) {
    const Score none = scored(numbers);
    EXPECT_TRUE(none.series[0].rows.empty()) << numbers;
    ASSERT_EQ(none.skipped.size(), 1U);
    EXPECT_EQ(none.skipped[0].reason, "no workload w for x");
  }
}

// A published row is predicted from the other rows of its system, never from itself.
TEST(StorageScore, a_row_is_not_used_for_its_own_prediction) {
  const CsvTable table =
      machine::known().knowledge->table("validation/checkpoint_truth.csv").value();
  const Score s = score_storage(table, known_inputs()).value();
  ASSERT_FALSE(s.series[0].rows.empty());
  for (const ScoredRow& scored : s.series[0].rows) {
    int others = 0;
    for (const CsvRow& row : table.rows()) {
      const std::string system(table.text(row, "system"));
      const std::string config(table.text(row, "config"));
      const bool counts = config.find(" data nodes") != std::string::npos &&
                          table.number(row, "checkpoint_GiB") && table.number(row, "write_s");
      const bool same = scored.id.starts_with(system + "/");
      const bool own =
          scored.id == system + "/" + std::string(table.text(row, "model")) + "/" + config;
      others += counts && same && !own ? 1 : 0;
    }
    EXPECT_THAT(scored.note, HasSubstr(std::to_string(others) + " other rows")) << scored.id;
  }
}

// 14 bytes of 8 billion parameters are 105 GiB; a read rate is bytes over seconds.
TEST(StorageScore, checkpoints_are_scored_by_other_rows) {
  const Score s = score_storage(catalog::embedded_table("validation/checkpoint_truth.csv").value(),
                                known_inputs())
                      .value();
  for (const ScoredRow& row : s.series[2].rows) {
    ASSERT_TRUE(row.measured);
    EXPECT_GT(*row.measured, 1) << row.id;
    EXPECT_LT(*row.measured, 2000) << row.id;
    EXPECT_NEAR(row.predicted.high / row.predicted.value, 1.25, 1e-9);
  }
  for (const ScoredRow& row : s.series[0].rows)
    EXPECT_NEAR(row.predicted.high / row.predicted.value, 1.1, 1e-9);
}

Result<Score> score_of(const std::string& text) {
  const auto table = CsvTable::parse(text, "rows.csv");
  EXPECT_TRUE(table.has_value());
  return score_storage(*table, {.models = machine::known(), .model = {}});
}

TEST(StorageScore, published_training_rows_are_predicted) {
  const auto score =
      score_of(catalog::embedded_text("validation/mlperf_storage_v1.0_training.csv").value());
  ASSERT_TRUE(score.has_value());
  EXPECT_EQ(score->rows, 132);
  EXPECT_TRUE(score->skipped.empty());
  const ScoreSummary s = totals_of(score->series[0]);
  EXPECT_EQ(s.scored, 132);
  EXPECT_LT(s.median_ape, 0.02);
  EXPECT_LT(s.p90_ape, 0.075);
  EXPECT_NEAR(s.coverage, 0.8, 0.03);
}

TEST(StorageScore, checkpoint_rows_are_predicted_from_their_system) {
  const auto score = score_of(catalog::embedded_text("validation/checkpoint_truth.csv").value());
  ASSERT_TRUE(score.has_value());
  ASSERT_EQ(score->series.size(), 3u);
  const ScoreSummary rate = totals_of(score->series[0]);
  EXPECT_EQ(rate.scored, 5);
  EXPECT_LT(rate.median_ape, 0.05);
  const ScoreSummary size = totals_of(score->series[1]);
  EXPECT_EQ(size.scored, 10);
  EXPECT_LT(size.p90_ape, 0.0002);
  EXPECT_EQ(static_cast<int>(score->skipped.size()) + rate.scored, score->rows);
  // No row is fitted to itself, so each is a prediction: none is off by a tenth.
  const ScoreSummary read = totals_of(score->series[2]);
  EXPECT_EQ(read.scored, 5);
  for (const std::size_t series : {0u, 2u}) {
    for (const ScoredRow& row : score->series[series].rows) {
      if (!row.measured) continue;
      EXPECT_LT(std::abs(row.predicted.value / *row.measured - 1), 0.10) << row.id;
    }
  }
}

TEST(StorageScore, thirty_nodes_are_predicted_from_ten) {
  const auto score = score_of(catalog::embedded_text("validation/checkpoint_truth.csv").value());
  ASSERT_TRUE(score.has_value());
  for (const ScoredRow& row : score->series[0].rows) {
    if (!row.id.contains("llama3-1t/30 data nodes")) continue;
    ASSERT_TRUE(row.measured.has_value());
    EXPECT_LT(std::abs(row.predicted.value / *row.measured - 1), 0.05);
    return;
  }
  FAIL() << "the row is not scored";
}

TEST(StorageScore, predictions_need_no_measured_column) {
  const auto score = score_of(
      "submitter,system_path,model,accelerator,num_accelerators,MiB_per_s\n"
      "a,b,unet3d,h100,10,\na,c,unet3d,mi300x,10,\n");
  ASSERT_TRUE(score.has_value());
  ASSERT_EQ(score->series[0].rows.size(), 1u);
  EXPECT_NEAR(score->series[0].rows[0].predicted.value, 10 * 3029.9 * 0.9 * 1.017, 5);
  EXPECT_FALSE(score->series[0].rows[0].measured.has_value());
  ASSERT_EQ(score->skipped.size(), 1u);
  EXPECT_EQ(score->skipped[0].reason, "no workload unet3d for mi300x");
}

TEST(StorageScore, other_tables_are_refused) {
  const auto score = score_of("a,b\n1,2\n");
  ASSERT_FALSE(score.has_value());
  EXPECT_EQ(score.error().front().code, "score.columns");
}

}  // namespace
}  // namespace orrery::score
