#include "output/report/layout_report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "output/report/calculation_report.h"
#include "output/report/claims_report.h"
#include "output/report/diff_report.h"
#include "output/report/rank_report.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

search::FoundLayouts found_layouts() {
  const search::LayoutQuestion q{
      .model = "llama-3-8b", .gpus = 8, .batch = 64, .sequence = 4096, .vp = 1};
  const machine::Models& models = machine::known();
  const search::LayoutSearch search(models, query_of(q, models.catalog(), nullptr).value(), 3);
  std::vector<training::SearchResult> parts;
  for (std::int64_t c = 0; c < search.chunks(); ++c) parts.push_back(search.search_chunk(c));
  return search.describe(search.join(parts), true);
}

std::string ungrouped(std::string number) {
  std::erase(number, ',');
  return number;
}

// Text and JSON have the same numbers, and the parts of a layout add up to its step.
TEST(LayoutReport, text_and_json_have_the_same_layouts) {
  const search::FoundLayouts found = found_layouts();
  ASSERT_GE(found.described.size(), 2U);
  const Json j = Json::parse(json_of("llama-3-8b", std::vector{found}))["searches"][0];
  const Document d = document_of(found);
  const auto block = std::ranges::find_if(
      d.blocks, [](const Block& b) { return std::holds_alternative<Table>(b); });
  ASSERT_NE(block, d.blocks.end());
  const Table& table = std::get<Table>(*block);
  for (std::size_t i = 0; i < found.described.size(); ++i) {
    const jobs::TrainingPrediction& p = found.described[i];
    const Json& row = j["layouts"][i];
    double sum = 0;
    for (const Json& part : row["parts_s"]) sum += part.get<double>();
    EXPECT_NEAR(sum, row["step_time_s"], 1e-9 * sum);
    EXPECT_EQ(row["step_time_low_s"], p.step_time_s.low);
    EXPECT_EQ(row["step_time_high_s"], p.step_time_s.high);
    EXPECT_LT(row["step_time_low_s"], row["step_time_s"]);
    EXPECT_GT(row["step_time_high_s"], row["step_time_s"]);
    EXPECT_NEAR(row["memory_gib"].get<double>() * 1073741824.0, p.memory.peak.base(), 1);
    const std::vector<std::string>& cells = table.rows[i];
    EXPECT_EQ(cells[1], to_text(p.layout));
    EXPECT_NEAR(std::stod(ungrouped(cells[3])), row["tokens_per_s_per_gpu"], 0.51);
    EXPECT_NEAR(std::stod(cells[4]), 100 * row["mfu"].get<double>(), 0.06);
    EXPECT_NEAR(std::stod(cells[5]), row["memory_gib"], 0.06);
    EXPECT_EQ(row.contains("why_slower"), i > 0);
    if (i > 0) {
      EXPECT_THAT(cells[6], HasSubstr(row["why_slower"].get<std::string>()));
      EXPECT_NE(row["why_slower"].get<std::string>().front(), '-');
    }
  }
}

TEST(LayoutReport, every_candidate_is_accounted_for) {
  search::FoundLayouts found = found_layouts();
  const Json j = Json::parse(json_of("m", std::vector{found}))["searches"][0];
  EXPECT_EQ(j["candidates"].get<int>(), j["refused"].get<int>() + j["too_large"].get<int>() +
                                            j["bounded"].get<int>() + j["evaluated"].get<int>());
  EXPECT_TRUE(j["complete"]);
  found.whole = false;
  found.described.clear();
  EXPECT_FALSE(Json::parse(json_of("m", std::vector{found}))["searches"][0]["complete"]);
}

}  // namespace
}  // namespace orrery::report
