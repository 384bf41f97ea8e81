// Two accelerators with the same model, load, engine and split, as measured by InferenceX: an order
// that `rank` calls decided is never wrong, and its interval of the ratio contains the measured
// one.
//
// The factors of search/rank.cpp were fitted on these rows, so this coverage only shows that the
// two still match. The order of MLPerf's results (search/rank_test.cpp) was not used for the fit.
// Skipped if the rows are absent.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "model/machine/known_fixture.h"
#include "study/score/serving_score.h"
#include "study/search/rank.h"

namespace orrery {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(ORRERY_SOURCE_DIR) / "../shared/thirdparty";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Row {
  Estimate tpot_ms;
  double measured_ms = 0;
};

// One row per system, for everything else being equal.
using Group = std::map<std::string, Row>;

struct Tally {
  int pairs = 0, covered = 0, decided = 0, wrong = 0;
};

void judge(const Row& a, const Row& b, bool mixture, Tally& t) {
  // Rates are the inverse of times, so the lowest rate is the inverse of the longest time.
  const auto rate = [](const Estimate& ms) {
    return Estimate{1 / ms.value, 1 / ms.high, 1 / ms.low};
  };
  const bool first = a.tpot_ms.value < b.tpot_ms.value;
  const Row& fast = first ? a : b;
  const Row& slow = first ? b : a;
  const double predicted = std::log(slow.tpot_ms.value / fast.tpot_ms.value);
  const double measured = std::log(slow.measured_ms / fast.measured_ms);
  ++t.pairs;
  t.covered += std::fabs(predicted - measured) <=
               search::ratio_error(rate(fast.tpot_ms), rate(slow.tpot_ms), mixture);
  if (!search::is_decided(rate(fast.tpot_ms), rate(slow.tpot_ms), mixture)) return;
  ++t.decided;
  t.wrong += measured < 0;
}

std::string key_of(const CsvTable& table, const CsvRow& row) {
  std::string key;
  for (const char* column : {"model_path", "precision", "isl", "osl", "batch_size", "tp_size",
                             "moe_ep_size", "attention_dp_size", "backend", "mtp"}) {
    key += std::string(table.text(row, column)) + "/";
  }
  return key;
}

// The lines of the table that exist for another system too.
std::string shared_rows(const std::string& text, const CsvTable& table) {
  std::map<std::string, std::set<std::string>> systems;
  for (const CsvRow& row : table.rows()) {
    systems[key_of(table, row)].insert(std::string(table.text(row, "system")));
  }
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::string kept = line + "\n";
  for (const CsvRow& row : table.rows()) {
    std::getline(lines, line);
    const bool one_kind = table.text(row, "mode") == "agg";
    if (one_kind && systems[key_of(table, row)].size() > 1) kept += line + "\n";
  }
  return kept;
}

TEST(RankPairs, measured_pairs_are_never_decided_wrongly) {
  const std::string all = read_file(kFolder / "serving.csv");
  if (all.empty()) GTEST_SKIP() << "no " << kFolder / "serving.csv";
  const CsvTable whole = *CsvTable::parse(all, "serving.csv");
  const CsvTable table = *CsvTable::parse(shared_rows(all, whole), "serving.csv");
  const auto score = score::score_serving(table, {.models = machine::known(), .model = {}});
  ASSERT_TRUE(score);
  std::map<std::string, const score::ScoredRow*> by_id;
  for (const score::ScoredRow& r : score->series[0].rows) by_id[r.id] = &r;
  std::map<std::string, Group> groups;
  for (const CsvRow& row : table.rows()) {
    const auto found = by_id.find(std::string(table.text(row, "id")));
    if (found == by_id.end() || !found->second->measured) continue;
    groups[key_of(table, row)].try_emplace(std::string(table.text(row, "system")),
                                           Row{found->second->predicted, *found->second->measured});
  }
  Tally dense, mixtures;
  for (const auto& [key, group] : groups) {
    const bool mixture = key.find("lama") == std::string::npos;
    for (auto a = group.begin(); a != group.end(); ++a) {
      for (auto b = std::next(a); b != group.end(); ++b) {
        judge(a->second, b->second, mixture, mixture ? mixtures : dense);
      }
    }
  }
  for (const Tally& t : {dense, mixtures}) {
    std::printf("%d pairs, %d within the interval, %d decided, %d wrongly\n", t.pairs, t.covered,
                t.decided, t.wrong);
    EXPECT_GE(t.pairs, 40);
    EXPECT_GE(t.covered, 0.7 * t.pairs);
    EXPECT_EQ(t.wrong, 0);
  }
  EXPECT_GE(dense.decided, 0.8 * dense.pairs);
}

}  // namespace
}  // namespace orrery
