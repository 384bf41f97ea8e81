#include "output/report/verdict_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "model/machine/known_fixture.h"
#include "output/report/calculation_report.h"
#include "output/report/explain_report.h"
#include "output/report/layout_report.h"
#include "output/report/rank_report.h"
#include "output/report/run_diff.h"
#include "output/report/run_report.h"
#include "output/report/verdict_fixture.h"
#include "output/report/view_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

template <class T>
std::vector<T> blocks_of(const Document& d) {
  std::vector<T> all;
  for (const Block& b : d.blocks) {
    if (const auto* found = std::get_if<T>(&b)) all.push_back(*found);
  }
  return all;
}

// As programs read it: every number under its name.
TEST(VerdictReport, json_has_every_field) {
  const verdict::Verdict v = example_verdict();
  const Json j = Json::parse(json_of(v));
  EXPECT_EQ(j["design"], "hall");
  EXPECT_EQ(j["version"], "2");
  EXPECT_EQ(j["digest"], "abc");
  EXPECT_FALSE(j["passes"]);
  ASSERT_EQ(j["sections"].size(), 3U);
  const Json& run = j["sections"][0]["figures"]["run_time_s"];
  EXPECT_EQ(run["value"], 7200);
  EXPECT_EQ(run["low"], 3600);
  EXPECT_EQ(run["high"], 21600);
  EXPECT_EQ(run["unit"], "s");
  EXPECT_EQ(run["basis"], "vendor");
  EXPECT_EQ(run["reference"], "nodes/x, y");
  EXPECT_EQ(run["shown"], "2 h");
  EXPECT_EQ(j["sections"][0]["limit"], "links");
  EXPECT_EQ(j["sections"][2]["figures"]["annual_usd_per_year"]["inputs"][0],
            Json({{"name", "price"}, {"value", "4 USD"}, {"reference", "catalog/z"}}));
  const Json& found = j["findings"][0];
  EXPECT_EQ(found["severity"], "error");
  EXPECT_EQ(found["layer"], "storage");
  EXPECT_EQ(found["what"], "first");
  EXPECT_EQ(found["why"], "shared why");
  EXPECT_EQ(found["fix"], "fix one");
  EXPECT_EQ(found["line"], 3);
  EXPECT_EQ(found["column"], 5);
  EXPECT_EQ(found["edit"], Json({{"path", "storage[0].write"}, {"value", "5 GB/s"}}));
  EXPECT_FALSE(j["findings"][1].contains("edit"));
  const Json& goal = j["goals"][2];
  EXPECT_EQ(goal["metric"], "metric g3");
  EXPECT_TRUE(goal["met"]);
  EXPECT_FALSE(goal["met_over_interval"]);
  EXPECT_DOUBLE_EQ(goal["bound"], 0.6);
  EXPECT_DOUBLE_EQ(goal["low"], 0.2);
  EXPECT_DOUBLE_EQ(goal["high"], 0.5);
  EXPECT_EQ(goal["unit"], "ratio");
  EXPECT_TRUE(goal["known"]);
  const Json& unknown = j["goals"][3];
  EXPECT_FALSE(unknown["known"]);
  for (const char* key : {"bound", "value", "low", "high"})
    EXPECT_TRUE(unknown[key].is_null()) << key;
  const Json& spend = j["spends"][0];
  EXPECT_EQ(spend["path"], "fleet[0].spares");
  EXPECT_EQ(spend["value"], "4");
  EXPECT_EQ(spend["cost_usd_per_year"], 123);
  EXPECT_EQ(spend["goodput_before_ratio"], 0.91);
  EXPECT_EQ(spend["goodput_after_ratio"], 0.95);
  EXPECT_EQ(spend["unit_cost_before_usd_per_hour"], 2.5);
  EXPECT_EQ(spend["unit_cost_after_usd_per_hour"], 2.25);
  const Json& line = j["bill"][0];
  EXPECT_EQ(line["count"], 10);
  EXPECT_EQ(line["unit_price_low_usd"], 1);
  EXPECT_EQ(line["unit_price_high_usd"], 3);
  EXPECT_EQ(line["unit_power_w"], 11);
  EXPECT_EQ(line["part"], "dgx");
  EXPECT_FALSE(j["bill"][2].contains("unit_price_low_usd"));
  EXPECT_EQ(j["coarse"], Json({"failures: within a factor of 3"}));
}

TEST(VerdictReport, csv_reads_back_as_the_figures) {
  const verdict::Verdict v = example_verdict();
  const auto table = CsvTable::parse(csv_of(v), "verdict.csv");
  ASSERT_TRUE(table.has_value());
  ASSERT_EQ(table->rows().size(), 4U);
  std::size_t i = 0;
  for (const figures::Section& s : v.sections) {
    for (const figures::Figure& f : s.figures) {
      const CsvRow& row = table->rows()[i++];
      EXPECT_EQ(table->text(row, "layer"), to_text(s.layer));
      EXPECT_EQ(table->text(row, "section"), s.name);
      EXPECT_EQ(table->text(row, "figure"), f.id());
      EXPECT_EQ(table->number(row, "value"), f.estimate.value);
      EXPECT_EQ(table->number(row, "low"), f.estimate.low);
      EXPECT_EQ(table->number(row, "high"), f.estimate.high);
      EXPECT_EQ(table->text(row, "basis"), "vendor");
      EXPECT_EQ(table->text(row, "reference"), "nodes/x, y");
    }
  }
  EXPECT_EQ(table->text(table->rows()[1], "unit"), "s");
}

TEST(VerdictReport, goals_have_a_tone_per_outcome) {
  const Document d = document_of(example_verdict());
  const Table goals = blocks_of<Table>(d).front();
  ASSERT_EQ(goals.rows.size(), 4U);
  EXPECT_EQ(goals.rows[3][2], "");
  EXPECT_EQ(goals.rows[2][2], "30 %");
  EXPECT_EQ(goals.tones, (std::vector{Tone::bad, Tone::good, Tone::warn, Tone::bad}));
  EXPECT_EQ(blocks_of<Heading>(d).front().tone, Tone::bad);
  verdict::Verdict passing;
  EXPECT_EQ(blocks_of<Heading>(document_of(passing)).front().tone, Tone::good);
}

}  // namespace
}  // namespace orrery::report
