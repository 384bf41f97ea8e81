// A run is told so that it adds up: what causes take and what is left, the book of GPU-seconds, the
// times of its events; and two runs by what each cause gives.
#include "output/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "output/report/run_diff.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

world::RunEvent logged_event(double t_s, sim::TraceKind kind, const char* track, const char* name,
                             double value) {
  return {.at = sim::SimTime::from(Seconds(t_s)),
          .kind = kind,
          .track = track,
          .name = name,
          .value = value};
}

figures::Figure run_figure(figures::FigureId kind, double value, double low, double high) {
  return {.kind = kind,
          .estimate = {.value = value, .low = low, .high = high},
          .formula = {},
          .inputs = {}};
}

run::Run told_run() {
  using enum sim::TraceKind;
  run::Run run{.design = "hall",
               .version = "3",
               .digest = "abc",
               .simulated = Seconds(600),
               .seed = 17,
               .events = 12345,
               .replications = 1,
               .accelerators = 16,
               .summary = "Ran."};
  run.goals = {{.text = "g1",
                .metric = "m1",
                .unit = figures::Unit::ratio,
                .actual = {0.9, 0.8, 0.95},
                .bound = 0.85,
                .met = true,
                .likely = false},
               {.text = "g2",
                .metric = "m2",
                .unit = figures::Unit::ratio,
                .actual = {0.5, 0.4, 0.6},
                .bound = 0.7}};
  run.goals_left_to_plan = {"cost <= 1 MUSD/y"};
  run.sections = {{.layer = figures::Layer::failure,
                   .name = "pretrain",
                   .summary = "8 hosts",
                   .figures = {run_figure(figures::FigureId::goodput, 0.9, 0.85, 0.92)},
                   .limit = "repairs"}};
  run.gpu_seconds = {6000, 1000, 500, 400, 300, 1400};  // 9,600 in all
  run.energy_j = 77;
  run.waterfalls = {{.job = "pretrain",
                     .steps = {{cluster::Cause::productive, 0.7},
                               {cluster::Cause::lost, 0.2},
                               {cluster::Cause::save, 0.1}}}};
  run.series = {.bin = Seconds(300), .columns = {"a, b", "c"}, .means = {{1, 2}, {3, 4}}};
  run.log = {logged_event(1.5, begin, "pretrain", "productive", -1),
             logged_event(2, instant, "train", "NIC", 5),
             logged_event(2, value, "pretrain", "saves every, s", 30),
             logged_event(2.5, end, "pretrain", "productive", -1)};
  return run;
}

TEST(run_report, what_is_left_after_each_cause_ends_at_what_was_productive) {
  const std::string text = to_text(document_of(told_run()));
  EXPECT_THAT(text, HasSubstr("  work done again                    20 %           80 %\n"));
  EXPECT_THAT(text, HasSubstr("  saving                             10 %           70 %\n"));
  EXPECT_THAT(text, HasSubstr("  productive                                        70 %\n"));
}

// 6,000 of 9,600 GPU-seconds are 62.5 %.
TEST(run_report, the_book_of_gpu_seconds_adds_up) {
  const std::string text = to_text(document_of(told_run()));
  EXPECT_THAT(text, HasSubstr("6,000"));
  EXPECT_THAT(text, HasSubstr("62.5 %"));
  EXPECT_THAT(text, HasSubstr("16 accelerators x 10 min"));
  EXPECT_THAT(text, HasSubstr("9,600"));
}

TEST(run_report, a_goal_is_missed_met_by_luck_or_left_to_the_plan) {
  const std::string text = to_text(document_of(told_run()));
  EXPECT_THAT(text, HasSubstr("g1                met, but not over the interval  90 %"));
  EXPECT_THAT(text, HasSubstr("g2                missed"));
  EXPECT_THAT(text, HasSubstr("cost <= 1 MUSD/y  `orrery plan` says"));
}

TEST(run_report, a_run_that_was_stopped_says_so_and_counts_its_replications) {
  run::Run run = told_run();
  EXPECT_THAT(to_text(document_of(run)), Not(HasSubstr("Interrupted")));
  EXPECT_THAT(to_text(document_of(run)),
              HasSubstr("seed 17, 1 replication, 12,345 events, design digest abc"));
  run.is_whole = false;
  run.replications = 4;
  EXPECT_THAT(to_text(document_of(run)), HasSubstr("Interrupted"));
  EXPECT_THAT(to_text(document_of(run)), HasSubstr("4 replications, "));
}

TEST(run_report, json_has_every_field_under_its_own_name) {
  const Json j = Json::parse(console_json_of(told_run()));
  EXPECT_EQ(j["seed"], 17);
  EXPECT_EQ(j["simulated_s"], 600);
  EXPECT_EQ(j["events"], 12345);
  EXPECT_EQ(j["accelerators"], 16);
  EXPECT_EQ(j["energy_j"], 77);
  EXPECT_FALSE(j["passes"]) << "a goal is missed";
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

TEST(run_report, the_series_counts_its_time_in_bins) {
  const auto table = CsvTable::parse(series_csv(told_run()), "series.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->columns(), testing::ElementsAre("t_s", "a, b", "c"));
  EXPECT_EQ(table->number(table->rows()[0], "t_s"), 0);
  EXPECT_EQ(table->number(table->rows()[1], "t_s"), 300);
  EXPECT_EQ(table->number(table->rows()[1], "a, b"), 3);
  EXPECT_EQ(table->number(table->rows()[1], "c"), 4);
}

TEST(run_report, an_event_is_a_line_with_its_host_or_its_value) {
  std::vector<Json> lines;
  for (const std::string_view line : split(events_jsonl(told_run()), '\n')) {
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

// The trace event format: microseconds; one thread a track, named once.
TEST(run_report, the_trace_has_a_thread_for_each_track_and_times_in_microseconds) {
  const Json events = Json::parse(trace_json(told_run()))["traceEvents"];
  std::map<std::string, int> threads;
  for (const Json& e : events) {
    if (e["ph"] == "M") threads[e["args"]["name"]] = e["tid"];
  }
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_NE(threads["pretrain"], threads["train"]);
  std::vector<Json> told;
  for (const Json& e : events) {
    if (e["ph"] != "M") told.push_back(e);
  }
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0]["ph"], "B");
  EXPECT_EQ(told[0]["ts"], 1.5e6);
  EXPECT_EQ(told[0]["tid"], threads["pretrain"]);
  EXPECT_EQ(told[1]["ph"], "i");
  EXPECT_EQ(told[1]["tid"], threads["train"]);
  EXPECT_EQ(told[2]["args"]["value"], 30);
  EXPECT_EQ(told[3]["ph"], "E");
}

// The same design with half of the lost work gone to saving, and goodput as before but for a hair.
run::Run other_run() {
  run::Run run = told_run();
  run.design = "hall 2";
  run.waterfalls[0].steps = {{cluster::Cause::productive, 0.75},
                             {cluster::Cause::lost, 0.05},
                             {cluster::Cause::save, 0.2}};
  run.sections[0].figures = {run_figure(figures::FigureId::goodput, 0.91, 0.86, 0.93)};
  return run;
}

TEST(run_diff, what_each_cause_gives_adds_up_to_the_change_of_goodput) {
  const Json j = Json::parse(json_of(told_run(), other_run()));
  const Json& job = j["jobs"][0];
  EXPECT_EQ(job["goodput_before_ratio"], 0.7);
  EXPECT_EQ(job["goodput_after_ratio"], 0.75);
  double gives = 0;
  for (const Json& c : job["causes"]) {
    gives += c["before_ratio"].get<double>() - c["after_ratio"].get<double>();
  }
  EXPECT_NEAR(gives, 0.05, 1e-12);
  ASSERT_EQ(job["causes"].size(), 2U) << "those that did not move are left out";
  EXPECT_EQ(job["causes"][0]["cause"], "work done again") << "the largest first, either way";
  EXPECT_EQ(job["causes"][0]["before_ratio"], 0.2);
  EXPECT_EQ(job["causes"][0]["after_ratio"], 0.05);
}

TEST(run_diff, a_cause_that_takes_less_gives_goodput) {
  const std::string text = to_text(document_of(told_run(), other_run()));
  EXPECT_THAT(text, HasSubstr("hall -> hall 2, simulated for 10 min"));
  EXPECT_THAT(text, HasSubstr("Goodput of pretrain: 70 % -> 75 %"));
  EXPECT_THAT(text, HasSubstr("  work done again    20 %    5 %  +15.000 points\n"));
  EXPECT_THAT(text, HasSubstr("  saving             10 %   20 %  -10.000 points\n"));
}

TEST(run_diff, a_difference_within_both_intervals_is_called_so) {
  const auto within = [](double value, double low, double high) {
    run::Run after = told_run();
    after.sections[0].figures = {run_figure(figures::FigureId::goodput, value, low, high)};
    return Json::parse(json_of(told_run(), after))["figures"][0]["within_intervals"].get<bool>();
  };
  // Before: 0.9 in 0.85 .. 0.92.
  EXPECT_TRUE(within(0.91, 0.86, 0.93));
  EXPECT_FALSE(within(0.95, 0.8, 0.99)) << "after is above what was before";
  EXPECT_FALSE(within(0.8, 0.7, 0.95)) << "after is below what was before";
  EXPECT_FALSE(within(0.91, 0.905, 0.93)) << "before is below what is after";
  EXPECT_FALSE(within(0.86, 0.8, 0.89)) << "before is above what is after";
}

TEST(run_diff, only_what_moved_is_listed_and_only_against_its_own_section) {
  EXPECT_THAT(to_text(document_of(told_run(), told_run())), HasSubstr("None."));
  run::Run before = told_run(), after = told_run();
  before.sections.push_back(before.sections[0]);
  before.sections[1].name = "finetune";
  before.sections[1].figures[0].estimate.value = 0.3;
  after.sections = before.sections;
  after.sections[1].figures[0].estimate.value = 0.31;
  const Json figures = Json::parse(json_of(before, after))["figures"];
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0]["section"], "finetune");
  EXPECT_EQ(figures[0]["before"], 0.3);
  EXPECT_EQ(figures[0]["after"], 0.31);
}

}  // namespace
}  // namespace orrery::report
