// Checkpoint runs against published ones that are laid down here: how many others a prediction
// needs, what it is worked out to, and what a workload of the benchmark must say.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "core/catalog/embedded.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_score.h"

namespace orrery::score {
namespace {

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

TEST(CheckpointRows, two_others_of_a_system_are_enough) {
  const Score s = checkpoint_score(kTen + kTwenty, kAsked);
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  EXPECT_TRUE(s.skipped.empty());
  const ScoredRow& row = s.series[0].rows[0];
  EXPECT_EQ(row.id, "S/llama3-8b/30 data nodes");
  EXPECT_NEAR(row.predicted.value, 30, 1e-6);
  EXPECT_NEAR(row.predicted.low, 27, 1e-6);
  EXPECT_NEAR(row.predicted.high, 33, 1e-6);
  EXPECT_EQ(row.measured, 33);
  EXPECT_EQ(row.note, "from 2 other rows of the system");
  EXPECT_TRUE(s.series[1].rows.empty()) << "no size was measured";
  EXPECT_TRUE(s.series[2].rows.empty()) << "no reads are published";
}

TEST(CheckpointRows, one_other_is_not_nor_one_of_another_system_or_without_servers) {
  for (const std::string& published :
       {kTen, kTen + "T,20 data nodes,llama3-70b,,1000,20,50,\n",
        kTen + "S,many data nodes,llama3-70b,,1000,20,50,\n",
        kTen + "S,20 data nodes,llama3-70b,,,20,50,\n",
        kTen + "S,20 data nodes,llama3-70b,,1000,20,,\n", kTen + kAsked}) {
    const Score s = checkpoint_score(published, kAsked);
    EXPECT_TRUE(s.series[0].rows.empty()) << published;
    ASSERT_EQ(s.skipped.size(), 1U);
    EXPECT_EQ(s.skipped[0].reason,
              "fewer than two other published rows of this system with their number of servers: "
              "nothing to predict its rate from");
  }
}

// A client that reads 10 GiB/s: 1000 GiB take one of them 100 s, however many servers there are.
// Rows that do not name their clients had one.
TEST(CheckpointRows, reads_are_bound_by_servers_or_by_clients) {
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
  EXPECT_EQ(rate("30", "2").note, "bound by clients, from 3 other rows of the system");
  EXPECT_NEAR(rate("30", "50").predicted.value, 30, 1e-6);
  EXPECT_EQ(rate("30", "50").note, "bound by servers, from 3 other rows of the system");
  EXPECT_TRUE(checkpoint_score(published, kAsked).series[2].rows.empty()) << "no clients";
  const std::string two = published.substr(0, published.rfind("S,40"));
  const std::string asked = "S,30 data nodes,llama3-8b,2,,,,\n";
  EXPECT_TRUE(checkpoint_score(two, asked).series[2].rows.empty()) << "two are too few";
}

// Four samples of 1 MiB in two seconds: 2 MiB/s, of which half is the mark.
TEST(CheckpointRows, a_workload_has_all_of_its_numbers) {
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

}  // namespace
}  // namespace orrery::score
