// A verdict is told whole and under the right names: every number here differs from every other.
#include "output/report/verdict_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "output/report/explain_report.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

figures::Figure told_figure(figures::FigureId kind, double value) {
  return {.kind = kind,
          .estimate = {.value = value,
                       .low = value * 0.5,
                       .high = value * 3,
                       .basis = Basis::vendor,
                       .reference = "nodes/x, y"},
          .formula = {},
          .inputs = {}};
}

verdict::Verdict told_verdict() {
  verdict::Verdict v{.design = "hall", .version = "2", .digest = "abc", .summary = "Fails."};
  v.sections.push_back({.layer = figures::Layer::training, .name = "pre|train", .limit = "links"});
  v.sections.back().figures = {told_figure(figures::FigureId::mfu, 0.4),
                               told_figure(figures::FigureId::run_time, 7200)};
  v.sections.push_back({.layer = figures::Layer::facility, .name = "north"});
  v.sections.back().figures = {told_figure(figures::FigureId::pue, 1.2)};
  v.sections.push_back({.layer = figures::Layer::cost, .name = ""});
  v.sections.back().figures = {told_figure(figures::FigureId::annual, 9e6)};
  v.sections.back().figures.back().inputs = {{"price", "4 USD", "catalog/z"}};
  v.findings = {
      {.severity = Severity::error,
       .rule = "a.b",
       .layer = figures::Layer::storage,
       .place = {"d.yaml", 3, 5},
       .what = "first",
       .why = "shared why",
       .fix = "fix one",
       .edit = design_text::Change{"storage[0].write", "5 GB/s"}},
      {.severity = Severity::error,
       .rule = "a.b",
       .place = {"d.yaml", 7, 9},
       .what = "second",
       .why = "shared why",
       .fix = "fix two"},
      {.severity = Severity::warning, .rule = "a.b", .place = {"d.yaml", 0, 0}, .what = "third"}};
  const auto goal = [](const char* text, double value, bool met, bool likely) {
    return figures::GoalOutcome{.text = text,
                                .metric = std::string("metric ") + text,
                                .unit = figures::Unit::ratio,
                                .actual = {.value = value, .low = value - 0.1, .high = value + 0.2},
                                .bound = value + 0.3,
                                .met = met,
                                .likely = likely};
  };
  v.goals = {goal("g1", 0.1, false, false), goal("g2", 0.2, true, true),
             goal("g3", 0.3, true, false)};
  v.goals.push_back({.text = "g4", .metric = "metric g4", .known = false});
  v.spends = {{.what = "more spares",
               .change = {"fleet[0].spares", "4"},
               .cost_usd_per_year = 123,
               .goodput_before = 0.91,
               .goodput_after = 0.95,
               .unit_cost_before_usd = 2.5,
               .unit_cost_after_usd = 2.25}};
  v.coarse = {"failures: within a factor of 3"};
  v.bill.lines = {{.section = "fleet",
                   .item = "node",
                   .part_id = "dgx",
                   .count = 10,
                   .unit_price = catalog::PriceRange{usd(1), usd(3)},
                   .unit_power = watts(11),
                   .reference = "nodes/dgx"},
                  {.section = "storage",
                   .item = "disk",
                   .count = 2,
                   .unit_price = catalog::PriceRange{usd(15), usd(25)}},
                  {.section = "storage", .item = "rack", .count = 3}};
  return v;
}

template <class T>
std::vector<T> blocks_of(const Document& d) {
  std::vector<T> all;
  for (const Block& b : d.blocks) {
    if (const auto* found = std::get_if<T>(&b)) all.push_back(*found);
  }
  return all;
}

// As programs read it: every number at its name.
TEST(verdict_report, json_has_every_field_under_its_own_name) {
  const verdict::Verdict v = told_verdict();
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
  EXPECT_FALSE(j["bill"][2].contains("unit_price_low_usd")) << "it has no price";
  EXPECT_EQ(j["coarse"], Json({"failures: within a factor of 3"}));
}

TEST(verdict_report, csv_reads_back_as_the_figures) {
  const verdict::Verdict v = told_verdict();
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

// Two errors of one rule stand together, with what they share once; the warning of the same rule is
// another matter.
TEST(verdict_report, findings_of_one_rule_and_weight_stand_together) {
  const std::string text = to_text(document_of(told_verdict()), {.width = 400});
  EXPECT_THAT(text, HasSubstr("BROKEN a.b, 2 times\n"));
  EXPECT_THAT(text,
              HasSubstr("- d.yaml:3:5: first; fix: fix one; edit: storage[0].write: 5 GB/s\n"));
  EXPECT_THAT(text, HasSubstr("- d.yaml:7:9: second; fix: fix two\n"));
  const std::size_t why = text.find("why: shared why");
  ASSERT_NE(why, std::string::npos);
  EXPECT_EQ(text.find("shared why", why + 10), std::string::npos) << "said once";
  EXPECT_THAT(text, HasSubstr("warning a.b at d.yaml\nthird\n"));
}

TEST(verdict_report, a_finding_alone_says_why_and_what_to_do) {
  verdict::Verdict v = told_verdict();
  v.findings.resize(1);
  const std::string text = to_text(document_of(v));
  EXPECT_THAT(text, HasSubstr("BROKEN a.b at d.yaml:3:5\nfirst\n  - why: shared why\n"
                              "  - fix: fix one\n  - edit: storage[0].write: 5 GB/s\n"));
  v.findings.clear();
  EXPECT_THAT(to_text(document_of(v)), HasSubstr("No rule is broken."));
}

TEST(verdict_report, a_goal_is_missed_met_or_met_by_luck) {
  const Document d = document_of(told_verdict());
  const Table goals = blocks_of<Table>(d).front();
  ASSERT_EQ(goals.rows.size(), 4U);
  EXPECT_EQ(goals.rows[0][1], "missed");
  EXPECT_EQ(goals.rows[1][1], "met");
  EXPECT_EQ(goals.rows[2][1], "met, but not over the interval");
  EXPECT_EQ(goals.rows[3][1], "not known: nothing in this design gives it");
  EXPECT_EQ(goals.rows[3][2], "");
  EXPECT_EQ(goals.rows[2][2], "30 %");
  EXPECT_EQ(goals.tones, (std::vector{Tone::bad, Tone::good, Tone::warn, Tone::bad}));
  EXPECT_EQ(blocks_of<Heading>(d).front().tone, Tone::bad);
  EXPECT_EQ(blocks_of<Heading>(d).front().text, "hall, version 2");
  verdict::Verdict passing;
  EXPECT_EQ(blocks_of<Heading>(document_of(passing)).front().tone, Tone::good);
}

TEST(verdict_report, a_site_is_named_beside_its_figures_where_there_are_two) {
  const auto labels = [](const verdict::Verdict& v) {
    std::vector<std::string> all;
    const Tiles tiles = blocks_of<Tiles>(document_of(v)).front();
    for (const Tile& t : tiles.tiles) all.push_back(t.label);
    return all;
  };
  verdict::Verdict v = told_verdict();
  EXPECT_THAT(labels(v), testing::ElementsAre("pre|train: model FLOP/s utilisation",
                                              "pre|train: time from start to end of the run", "PUE",
                                              "cost of a year"));
  v.sections.push_back(v.sections[1]);
  v.sections.back().name = "south";
  EXPECT_THAT(labels(v), testing::ElementsAre("pre|train: model FLOP/s utilisation",
                                              "pre|train: time from start to end of the run",
                                              "north: PUE", "south: PUE", "cost of a year"));
}

// 10 nodes at 1 to 3 USD are 20 USD, 2 disks at 15 to 25 are 40: the larger first, twice as long.
TEST(verdict_report, the_bill_is_drawn_by_what_its_parts_cost) {
  const auto drawings = blocks_of<Drawing>(document_of(told_verdict()));
  ASSERT_EQ(drawings.size(), 2U) << "goals and bill";
  const std::string& svg = drawings[1].svg;
  ASSERT_NE(svg.find(">20 USD<"), std::string::npos) << svg;
  EXPECT_LT(svg.find(">40 USD<"), svg.find(">20 USD<"));
  verdict::Verdict one = told_verdict();
  one.bill.lines.resize(1);
  EXPECT_EQ(blocks_of<Drawing>(document_of(one)).size(), 1U) << "one bar says nothing";
}

TEST(verdict_report, brief_is_the_verdict_without_the_layers) {
  const std::string brief = to_text(document_of(told_verdict(), {.brief = true}));
  EXPECT_THAT(brief, HasSubstr("Key figures"));
  EXPECT_THAT(brief, Not(HasSubstr("limit: links")));
  EXPECT_THAT(to_text(document_of(told_verdict())), HasSubstr("limit: links"));
}

TEST(verdict_report, the_next_spend_says_both_before_and_after) {
  const std::string text = to_text(document_of(told_verdict()));
  EXPECT_THAT(text, HasSubstr("more spares  123 USD/y  91 % -> 95 %"));
  EXPECT_THAT(text, HasSubstr("2.5 -> 2.25"));
}

// A figure with inputs alone is explained as one with a formula is; one with neither is not.
TEST(verdict_report, explained_are_the_figures_that_have_something_behind_them) {
  const std::string text = to_text(document_of(told_verdict(), {.explain = true}));
  EXPECT_THAT(text, HasSubstr("why cost of a year: 9 MUSD/y\n"));
  EXPECT_THAT(text, HasSubstr("price  4 USD  catalog/z"));
  EXPECT_THAT(text, Not(HasSubstr("why model FLOP/s utilisation")));
  EXPECT_THAT(text, HasSubstr("1 USD .. 3 USD"));
  EXPECT_THAT(text, HasSubstr("no public price"));
}

TEST(explain_report, a_figure_in_full_says_its_interval_its_inputs_and_what_binds) {
  const verdict::Verdict v = told_verdict();
  const auto mfu = figures_named(v, "mfu");
  const std::string text = to_text(document_of(mfu, true));
  EXPECT_THAT(text, HasSubstr("training.mfu of pre|train"));
  EXPECT_THAT(text,
              HasSubstr("model FLOP/s utilisation: 40 %, 80 % interval 20 % .. 120 % (vendor)"));
  EXPECT_THAT(text, HasSubstr("What binds here: links"));
  const auto year = figures_named(v, "annual");
  EXPECT_THAT(to_text(document_of(year, true)), HasSubstr("price  4 USD  catalog/z"));
  const std::string list = to_text(document_of(figures_named(v, ""), false));
  EXPECT_THAT(list, HasSubstr("facility.pue"));
  const Json j = Json::parse(json_of(mfu));
  EXPECT_EQ(j["figures"][0]["section"], "pre|train");
  EXPECT_EQ(j["figures"][0]["figure"]["mfu_ratio"]["low"], 0.2);
}

// Suggestions: every name once, whatever shares it.
TEST(explain_report, names_are_layers_figures_and_both_each_once) {
  verdict::Verdict v = told_verdict();
  v.sections.push_back(v.sections[0]);
  EXPECT_THAT(
      figure_names(v),
      testing::ElementsAre("annual", "cost", "cost.annual", "facility", "facility.pue", "mfu",
                           "pue", "run_time", "training", "training.mfu", "training.run_time"));
}

TEST(explain_report, an_abbreviation_is_spelt_out_beside_its_meaning) {
  const std::vector<GlossaryEntry> words = {{"tp", "tensor parallel", "split layers"},
                                            {"rail", "", "a NIC of each node"}};
  const std::string text = to_text(document_of(words));
  EXPECT_THAT(text, HasSubstr("- tp (tensor parallel): split layers\n"));
  EXPECT_THAT(text, HasSubstr("- rail: a NIC of each node\n"));
  EXPECT_EQ(Json::parse(json_of(words))["words"][0]["stands_for"], "tensor parallel");
}

}  // namespace
}  // namespace orrery::report
