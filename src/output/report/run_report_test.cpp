#include "output/report/run_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "output/report/document_fixture.h"
#include "output/report/run_diff.h"
#include "output/report/run_fixture.h"
#include "output/report/verdict_report.h"

namespace orrery::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

TEST(RunReport, an_interrupted_run_is_marked) {
  run::Run run = example_run();
  EXPECT_THAT(to_text(document_of(run)), Not(HasSubstr("Interrupted")));
  run.is_whole = false;
  EXPECT_THAT(to_text(document_of(run)), HasSubstr("Interrupted"));
}

TEST(RunReport, json_has_every_field) {
  const Json j = Json::parse(console_json_of(example_run()));
  EXPECT_EQ(j["seed"], 17);
  EXPECT_EQ(j["simulated_s"], 600);
  EXPECT_EQ(j["events"], 12345);
  EXPECT_EQ(j["accelerators"], 16);
  EXPECT_EQ(j["energy_j"], 77);
  EXPECT_FALSE(j["passes"]);
  EXPECT_EQ(j["gpu_seconds"]["productive"], 6000);
  EXPECT_EQ(j["gpu_seconds"]["idle"], 1400);
  EXPECT_EQ(j["goals"][0]["metric"], "m1");
  EXPECT_EQ(j["goals"][0]["bound"], 0.85);
  EXPECT_EQ(j["goals"][0]["low"], 0.8);
  EXPECT_EQ(j["goals"][0]["high"], 0.95);
  EXPECT_TRUE(j["goals"][0]["met"]);
  EXPECT_FALSE(j["goals"][0]["met_over_interval"]);
  EXPECT_EQ(j["goals_left_to_plan"], Json({"cost <= 1 MUSD/y"}));
  const Json& f = j["figures"][0];
  EXPECT_EQ(f["layer"], "failure");
  EXPECT_EQ(f["section"], "pretrain");
  EXPECT_EQ(f["value"], 0.9);
  EXPECT_EQ(f["low"], 0.85);
  EXPECT_EQ(f["high"], 0.92);
  EXPECT_EQ(j["limits"][0]["limit"], "repairs");
  EXPECT_EQ(j["waterfalls"][0]["steps"][1], Json({{"cause", "work done again"}, {"share", 0.2}}));
}

TEST(RunReport, series_times_are_bin_starts) {
  const auto table = CsvTable::parse(series_csv(example_run()), "series.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->columns(), testing::ElementsAre("t_s", "a, b", "c"));
  EXPECT_EQ(table->number(table->rows()[0], "t_s"), 0);
  EXPECT_EQ(table->number(table->rows()[1], "t_s"), 300);
  EXPECT_EQ(table->number(table->rows()[1], "a, b"), 3);
  EXPECT_EQ(table->number(table->rows()[1], "c"), 4);
}

TEST(RunReport, events_have_a_host_or_a_value) {
  std::vector<Json> lines;
  for (const std::string_view line : split(events_jsonl(example_run()), '\n')) {
    if (!line.empty()) lines.push_back(Json::parse(line));
  }
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0],
            Json({{"t_s", 1.5}, {"kind", "begin"}, {"track", "pretrain"}, {"name", "productive"}}));
  EXPECT_EQ(lines[1]["kind"], "instant");
  EXPECT_EQ(lines[1]["host"], 5);
  EXPECT_EQ(lines[2]["value"], 30);
  EXPECT_FALSE(lines[2].contains("host"));
  EXPECT_EQ(lines[3]["kind"], "end");
}

// The trace event format: microseconds; one thread per track, named once.
TEST(RunReport, trace_has_a_thread_per_track_and_microseconds) {
  const Json events = Json::parse(trace_json(example_run()))["traceEvents"];
  std::map<std::string, int> threads;
  for (const Json& e : events) {
    if (e["ph"] == "M") threads[e["args"]["name"]] = e["tid"];
  }
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_NE(threads["pretrain"], threads["train"]);
  std::vector<Json> spans;
  for (const Json& e : events) {
    if (e["ph"] != "M") spans.push_back(e);
  }
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0]["ph"], "B");
  EXPECT_EQ(spans[0]["ts"], 1.5e6);
  EXPECT_EQ(spans[0]["tid"], threads["pretrain"]);
  EXPECT_EQ(spans[1]["ph"], "i");
  EXPECT_EQ(spans[1]["tid"], threads["train"]);
  EXPECT_EQ(spans[2]["args"]["value"], 30);
  EXPECT_EQ(spans[3]["ph"], "E");
}

TEST(RunReport, a_run_passes_if_feasible_and_all_goals_are_met) {
  run::Run run = stopped_run();
  const auto passes = [&run] { return Json::parse(console_json_of(run))["passes"].get<bool>(); };
  EXPECT_FALSE(passes());
  run.infeasible.clear();
  EXPECT_TRUE(passes());
  run.goals[0].met = false;
  EXPECT_FALSE(passes());
}

TEST(RunReport, a_run_without_time_has_no_shares) {
  const auto lines = lines_of(document_of(run_with({}, 0.5)));
  int rows = 0;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("nan"), std::string::npos) << line;
    rows += line.ends_with(" | 0 | 0 %") ? 1 : 0;
  }
  EXPECT_EQ(static_cast<std::size_t>(rows), words_of(cluster::Share{}).rows().size());
}

}  // namespace
}  // namespace orrery::report
