// Whole documents, block by block: the level of each heading, the side of each column, the rows and
// what is left out where there is nothing to say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "output/report/calculation_report.h"
#include "output/report/document_fixture.h"
#include "output/report/explain_report.h"
#include "output/report/layout_report.h"
#include "output/report/rank_report.h"
#include "output/report/run_diff.h"
#include "output/report/run_report.h"
#include "output/report/verdict_report.h"

namespace orrery::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

figures::Figure block_figure(figures::FigureId kind, double value) {
  return {.kind = kind,
          .estimate = {.value = value,
                       .low = value / 2,
                       .high = value * 1.5,
                       .basis = Basis::vendor,
                       .reference = "ref of " + figures::id_text(kind)},
          .formula = {},
          .inputs = {}};
}

figures::Number block_number(const std::string& id, double value) {
  return {.id = id,
          .label = "the " + id,
          .unit = figures::Unit::ratio,
          .estimate = {.value = value,
                       .low = value / 2,
                       .high = value * 1.5,
                       .basis = Basis::vendor,
                       .reference = "ref of " + id},
          .formula = {},
          .inputs = {}};
}

verdict::Verdict block_verdict() {
  verdict::Verdict v{.design = "hall", .version = "7", .digest = "d1", .summary = "It fails."};
  v.sections = {{.layer = figures::Layer::training,
                 .name = "pretrain",
                 .summary = "sum",
                 .figures = {block_figure(figures::FigureId::mfu, 0.4)},
                 .limit = "links"},
                {.layer = figures::Layer::training, .name = "", .figures = {}},
                {.layer = figures::Layer::cost,
                 .name = "",
                 .figures = {block_figure(figures::FigureId::own_use, 0.2)}}};
  v.sections[0].figures[0].formula = "a / b";
  v.sections[0].figures[0].inputs = {{"a", "4", "from a"}};
  v.findings = {{.severity = Severity::error,
                 .rule = "r.one",
                 .layer = figures::Layer::storage,
                 .place = {"d.yaml", 3, 5},
                 .what = "broken",
                 .why = "because",
                 .fix = "mend it",
                 .edit = design_text::Change{"a.b", "5"}},
                {.severity = Severity::warning, .rule = "r.two", .place = {}, .what = "odd"},
                {.severity = Severity::note, .rule = "r.three", .place = {}, .what = "fyi"},
                {.severity = Severity::warning,
                 .rule = "r.many",
                 .place = {"d.yaml", 1, 2},
                 .what = "w1",
                 .why = "y",
                 .fix = "same"},
                {.severity = Severity::warning,
                 .rule = "r.many",
                 .place = {"d.yaml", 4, 6},
                 .what = "w2",
                 .why = "y",
                 .fix = "same",
                 .edit = design_text::Change{"c", "6"}}};
  v.spends = {{.what = "save less",
               .change = {"p", "q"},
               .cost_usd_per_year = 2000,
               .goodput_before = 0.5,
               .goodput_after = 0.75,
               .unit_cost_before_usd = 4.125,
               .unit_cost_after_usd = 3.5}};
  v.coarse = {"storage: 20 %"};
  v.bill.lines = {{.section = "fleet",
                   .item = "node",
                   .part_id = "dgx",
                   .count = 3,
                   .unit_price = catalog::PriceRange{Usd(100), Usd(300)},
                   .unit_power = Watts(50),
                   .reference = "r"},
                  {.section = "fabric",
                   .item = "cable",
                   .part_id = "",
                   .count = 2,
                   .unit_price = std::nullopt,
                   .unit_power = Watts(1),
                   .reference = "r"}};
  return v;
}

std::string shown(double value) { return show(value, figures::Unit::ratio); }
std::string between(double value) {
  return show_interval({.value = value, .low = value / 2, .high = value * 1.5},
                       figures::Unit::ratio);
}

TEST(report_blocks, a_verdict_in_brief) {
  const auto usd = [](double v) { return show(v, figures::Unit::usd_per_year); };
  EXPECT_THAT(
      lines_of(document_of(block_verdict(), {.brief = true})),
      ElementsAre("h1 bad: hall, version 7", "p: It fails.", "h2: Key figures",
                  fmt::format("tile: pretrain: model FLOP/s utilisation = {} ({})", shown(0.4),
                              between(0.4)),
                  "h2: Rules", "h3 bad: BROKEN r.one at d.yaml:3:5", "p: broken", "- why: because",
                  "- fix: mend it", "- edit: a.b: 5", "h3 warn: warning r.two", "p: odd",
                  fmt::format("h3: {} r.three", to_text(Severity::note)), "p: fyi",
                  "h3 warn: warning r.many, 2 times", "- d.yaml:1:2: w1",
                  "- d.yaml:4:6: w2; edit: c: 6", "- why: y", "- fix: same", "h2: Next best spend",
                  "t LRRR: change | adds | goodput | USD per useful GPU-hour",
                  fmt::format("  save less | {} | {} -> {} | 4.125 -> 3.5", usd(2000), shown(0.5),
                              shown(0.75))));
}

TEST(report_blocks, the_layers_of_a_verdict_and_why_each_figure_is_so) {
  const std::vector<std::string> brief = lines_of(document_of(block_verdict(), {.brief = true}));
  std::vector<std::string> lines = lines_of(document_of(block_verdict(), {.explain = true}));
  ASSERT_GT(lines.size(), brief.size());
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(brief.size()));
  const auto usd = [](double v) { return show(v, figures::Unit::usd); };
  EXPECT_THAT(
      lines,
      ElementsAre(
          "h2: training", "h3: pretrain", "p: sum", "t LRLLL: ",
          fmt::format("  model FLOP/s utilisation | {} | {} | vendor | ref of mfu", shown(0.4),
                      between(0.4)),
          "p: limit: links", "h4: why model FLOP/s utilisation: " + shown(0.4), "v: a / b",
          "t : ", "  a | 4 | from a", "h2: cost", "t LRLLL: ",
          fmt::format(
              "  use that this design makes of what it buys | {} | {} | vendor | ref of own_use",
              shown(0.2), between(0.2)),
          "h2: Bill", "t LLLRRR: section | item | part | count | price each | power each",
          fmt::format("  fleet | node | dgx | 3 | {} .. {} | {}", usd(100), usd(300),
                      show(50, figures::Unit::watts)),
          fmt::format("  fabric | cable |  | 2 | no public price | {}",
                      show(1, figures::Unit::watts)),
          "h2: How far off this may be", "- storage: 20 %", "p: design digest d1"));
}

TEST(report_blocks, a_bare_verdict_says_nothing_that_it_does_not_have) {
  verdict::Verdict v{.design = "hall", .summary = "Fine."};
  v.bill = {};
  EXPECT_THAT(lines_of(document_of(v)), ElementsAre("h1 good: hall", "p: Fine.", "h2: Rules",
                                                    "p: No rule is broken.", "p: design digest "));
  EXPECT_FALSE(VerdictView{}.explain);
  EXPECT_FALSE(VerdictView{}.brief);
}

TEST(report_blocks, goals_of_a_verdict_have_a_tone_each) {
  verdict::Verdict v{.design = "hall", .summary = "s"};
  const auto goal = [](const char* text, bool met, bool likely, bool known) {
    return figures::GoalOutcome{.text = text,
                                .metric = "m",
                                .unit = figures::Unit::ratio,
                                .actual = {.value = 0.4, .low = 0.2, .high = 0.6},
                                .bound = 0.3,
                                .known = known,
                                .met = met,
                                .likely = likely};
  };
  v.goals = {goal("a", true, true, true), goal("b", true, false, true),
             goal("c", false, false, true), goal("d", false, false, false)};
  const std::vector<std::string> lines = lines_of(document_of(v));
  ASSERT_GE(lines.size(), 8U);
  EXPECT_EQ(lines[2], "h2: Goals");
  EXPECT_EQ(lines[3], "t : goal | outcome | value | 80 % interval");
  const std::string value = shown(0.4) + " | " + between(0.4);
  EXPECT_EQ(lines[4], "  good a | met | " + value);
  EXPECT_EQ(lines[5], "  warn b | met, but not over the interval | " + value);
  EXPECT_EQ(lines[6], "  bad c | missed | " + value);
  EXPECT_EQ(lines[7], "  bad d | not known: nothing in this design gives it |  | ");
  EXPECT_EQ(lines[8], "svg: <svg");
}

TEST(report_blocks, findings_in_json_say_what_why_and_how_to_mend) {
  const Json j = Json::parse(json_of(block_verdict()));
  const Json& f = j["findings"][0];
  EXPECT_EQ(f["what"], "broken");
  EXPECT_EQ(f["why"], "because");
  EXPECT_EQ(f["fix"], "mend it");
  EXPECT_EQ(f["line"], 3);
  EXPECT_EQ(f["column"], 5);
  EXPECT_EQ(f["edit"]["value"], "5");
  EXPECT_EQ(j["coarse"][0], "storage: 20 %");
  EXPECT_EQ(j["spends"][0]["value"], "q");
}

run::Run block_run() {
  run::Run run{.design = "hall", .digest = "d2", .simulated = Seconds(600), .seed = 9};
  run.summary = "Ran.";
  run.events = 4321;
  run.replications = 2;
  run.is_whole = false;
  run.accelerators = 16;
  run.infeasible = {"job x cannot be"};
  run.diagnosis = "Idle.";
  run.goals_left_to_plan = {"cost"};
  run.sections = {{.layer = figures::Layer::failure,
                   .name = "pretrain",
                   .summary = "8 hosts",
                   .figures = {block_figure(figures::FigureId::goodput, 0.9)},
                   .limit = "repairs"},
                  {.layer = figures::Layer::failure, .name = "", .figures = {}}};
  run.waterfalls = {
      {.job = "j", .steps = {{cluster::Cause::productive, 0.7}, {cluster::Cause::lost, 0.3}}}};
  run.notes = {"no rain"};
  return run;
}

TEST(report_blocks, a_run_from_its_title_to_its_digest) {
  const std::vector<std::string> lines = lines_of(document_of(block_run()));
  const auto four = [](double v) { return show(v, figures::Unit::ratio, 4); };
  ASSERT_GE(lines.size(), 20U);
  const std::vector<std::string> head(lines.begin(), lines.begin() + 14);
  EXPECT_THAT(
      head,
      ElementsAre(
          "h1: hall, simulated for 10 min", "p: Ran.",
          "p: Interrupted: these are the replications that were done.", "p: job x cannot be.",
          "p: Idle.", "h2: Goals", "t : goal | outcome | value | 80 % interval",
          "  cost | `orrery plan` says |  | ", "h2: Where the time of j went",
          "t LRR:  | share of its wall time | left after it",
          fmt::format("  {} | {} | {}", word_of(cluster::Cause::lost), shown(0.3), four(0.7)),
          "  productive |  | " + four(0.7), "h2: GPU-seconds", "t LRR:  | GPU-seconds | share"));
  const std::vector<std::string> tail(lines.end() - 10, lines.end());
  EXPECT_THAT(
      tail,
      ElementsAre("  16 accelerators x 10 min | 0 | ", "h2: failure", "h3: pretrain", "p: 8 hosts",
                  "t LRLL: ", fmt::format("  goodput | {} | {} | vendor", shown(0.9), between(0.9)),
                  "p: limit: repairs", "h2: What this run does not know", "- no rain",
                  "p: seed 9, 2 replications, 4,321 events, design digest d2"));
}

TEST(report_blocks, two_runs_by_their_causes_and_figures) {
  run::Run before = block_run(), after = block_run();
  after.design = "hall2", after.summary = "Ran on.";
  after.waterfalls[0].steps = {{cluster::Cause::productive, 0.8}, {cluster::Cause::save, 0.2}};
  after.sections[0].figures[0].estimate = {.value = 0.95, .low = 0.9, .high = 0.97};
  const auto four = [](double v) { return show(v, figures::Unit::ratio, 4); };
  EXPECT_THAT(
      lines_of(document_of(before, after)),
      ElementsAre("h1: hall -> hall2, simulated for 10 min", "p: Before: Ran. After: Ran on.",
                  fmt::format("h2: Goodput of j: {} -> {}", four(0.7), four(0.8)),
                  "t LRRR: cause | before | after | gives goodput",
                  fmt::format("  {} | {} | {} | +30.000 points", word_of(cluster::Cause::lost),
                              shown(0.3), shown(0)),
                  fmt::format("  {} | {} | {} | -20.000 points", word_of(cluster::Cause::save),
                              shown(0), shown(0.2)),
                  "h2: Figures that moved", "t LLLRRL: layer | of | figure | before | after | ",
                  fmt::format("  failure | pretrain | goodput | {} | {} | within both intervals",
                              shown(0.9), shown(0.95))));
  const std::vector<std::string> same = lines_of(document_of(before, before));
  EXPECT_EQ(same.back(), "p: None.");
  EXPECT_EQ(same.size(), 5U);
}

TEST(report_blocks, a_ranking_says_what_cannot_be_told_apart) {
  const catalog::Catalog& catalog = machine::known().catalog();
  search::Ranking r;
  r.rows = {{.accelerator = catalog.accelerator("h200-sxm"),
             .devices = 2,
             .format = catalog::Dtype::fp8,
             .tokens_per_s = {.value = 1234, .low = 1000, .high = 1500},
             .per_watt = 1.25,
             .per_rack = 0,
             .per_usd = 77000},
            {.accelerator = catalog.accelerator("h100-sxm"),
             .devices = 4,
             .format = catalog::Dtype::bf16,
             .tokens_per_s = {.value = 900, .low = 800, .high = 950}},
            {.accelerator = catalog.accelerator("a100-80-sxm"),
             .devices = 8,
             .format = catalog::Dtype::bf16,
             .tokens_per_s = {.value = 300, .low = 200, .high = 400}},
            {.accelerator = catalog.accelerator("l40s"), .refused = "too small"}};
  r.pairs = {{.faster = 0, .slower = 1, .ratio = 1.37, .factor = 1.5, .decided = false},
             {.faster = 0, .slower = 2, .ratio = 4.1, .factor = 1.5, .decided = true},
             {.faster = 1, .slower = 2, .ratio = 3, .factor = 4, .decided = false}};
  EXPECT_THAT(
      lines_of(document_of(r, "Ranked")),
      ElementsAre(
          "h1: Ranked",
          "t LLRRRRRRL: accelerator | format | devices | tokens/s each | interval | per W | "
          "per rack | per USD | not told apart from",
          "  h200-sxm | fp8 | 2 | 1234 | 1000 .. 1500 | 1.25 | not known | " +
              significant(77000, 3) + " | h100-sxm",
          "  h100-sxm | bf16 | 4 | 900 | 800 .. 950 | not known | not known | not known | "
          "h200-sxm, a100-80-sxm",
          "  a100-80-sxm | bf16 | 8 | 300 | 200 .. 400 | not known | not known | not known"
          " | h100-sxm",
          "  l40s | - | - | - | - | - | - | - | too small",
          testing::StartsWith("p: 1 of 3 pairs are decided at 80 %.")));
  search::Ranking alone = r;
  alone.pairs.clear();
  EXPECT_THAT(lines_of(document_of(alone, "x"))[2], testing::EndsWith(" | none"));
  const Json j = Json::parse(json_of(r));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["rows"][0]["tokens_per_s_per_w"], 1.25);
  EXPECT_EQ(j["rows"][3]["refused"], "too small");
  EXPECT_EQ(j["pairs"][2]["faster"], "h100-sxm");
  EXPECT_EQ(j["pairs"][2]["ratio_factor"], 4);
  EXPECT_EQ(j["pairs"][1]["decided"], true);
}

TEST(report_blocks, a_calculation_has_its_arithmetic_and_assumptions) {
  calc::Calculation c{.question = "How?",
                      .answer = "So.",
                      .figures = {},
                      .assumptions = {"an a"},
                      .command = "orrery calc"};
  c.figures = {block_number("rate", 0.4), block_number("size", 0.2)};
  c.figures[0].formula = "x * y";
  EXPECT_THAT(
      lines_of(document_of(c)),
      ElementsAre("h1: How?", "p: So.", "t LRLL: ",
                  fmt::format("  the rate | {} | {} | vendor", shown(0.4), between(0.4)),
                  fmt::format("  the size | {} | {} | vendor", shown(0.2), between(0.2)),
                  "h2: The arithmetic", "v: the rate = x * y", "h2: Assumptions", "- an a"));
  c.assumptions.clear();
  EXPECT_EQ(lines_of(document_of(c)).back(), "v: the rate = x * y");
  const Json j = Json::parse(json_of(c));
  EXPECT_EQ(j["kind"], "calculation");
  EXPECT_EQ(j["command"], "orrery calc");
}

TEST(report_blocks, words_and_rules_are_lists) {
  const std::vector<GlossaryEntry> words = {{"tp", "tensor parallelism", "split"},
                                            {"rail", "", "switches"}};
  const auto lines = lines_of(document_of(std::span<const GlossaryEntry>(words)));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "h1: Glossary");
  EXPECT_EQ(lines[2], "- tp (tensor parallelism): split");
  EXPECT_EQ(lines[3], "- rail: switches");
  const std::vector<rules::Rule> rules = {
      {"a.b", figures::Layer::storage, Severity::warning, "must hold", "a book", nullptr},
      {"c.d", figures::Layer::cost, Severity::error, "also", "a page", nullptr}};
  EXPECT_THAT(
      lines_of(document_of(std::span<const rules::Rule>(rules))),
      ElementsAre("h1: Rules of the review", "- a.b (storage, warning): must hold. Source: a book",
                  "- c.d (cost, error): also. Source: a page"));
  EXPECT_EQ(lines_of(document_of(std::span<const rules::Rule>(rules.data(), 1)))[0], "h1: a.b");
  const Json j = Json::parse(json_of(std::span<const rules::Rule>(rules)));
  EXPECT_EQ(j["kind"], "rules");
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["rules"][1]["id"], "c.d");
  EXPECT_EQ(j["rules"][1]["layer"], "cost");
  EXPECT_EQ(j["rules"][0]["severity"], "warning");
  EXPECT_EQ(j["rules"][0]["summary"], "must hold");
  EXPECT_EQ(j["rules"][0]["source"], "a book");
  const Json g = Json::parse(json_of(std::span<const GlossaryEntry>(words)));
  EXPECT_EQ(g["kind"], "glossary");
  EXPECT_EQ(g["words"][0]["stands_for"], "tensor parallelism");
  EXPECT_EQ(g["words"][1]["meaning"], "switches");
}

TEST(report_blocks, storage_profiles_say_what_they_set) {
  const catalog::Catalog& catalog = machine::known().catalog();
  const std::span<const catalog::StorageProfile> all = catalog.storage_profiles;
  ASSERT_GE(all.size(), 2U);
  const auto lines = lines_of(document_of(all));
  ASSERT_EQ(lines.size(), all.size() + 1);
  EXPECT_EQ(lines[0], "h1: Storage profiles");
  EXPECT_EQ(lines[2], fmt::format("- {}: {}. {}", all[1].id, all[1].title, all[1].settings));
  const auto one = lines_of(document_of(all[0], catalog));
  EXPECT_EQ(one[0], fmt::format("h2: The storage profile {}: {}", all[0].id, all[0].title));
  EXPECT_EQ(one[1], "p: " + all[0].why);
  EXPECT_EQ(one[2], "t : field | value");
  EXPECT_THAT(one.back(), HasSubstr("storage: [{ profile: " + all[0].id + " }]"));
  const Json j = Json::parse(json_of(all, catalog));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["kind"], "profiles");
  ASSERT_EQ(j["profiles"].size(), all.size());
  const Json& p = j["profiles"][0];
  EXPECT_EQ(p["id"], all[0].id);
  EXPECT_EQ(p["title"], all[0].title);
  EXPECT_EQ(p["why"], all[0].why);
  EXPECT_EQ(p["source"], all[0].provenance.reference);
  EXPECT_EQ(p["settings"].size(), one.size() - 4);
  for (const auto& [key, value] : p["settings"].items()) {
    EXPECT_THAT(one, testing::Contains("  " + key + " | " + value.get<std::string>()));
  }
}

TEST(report_blocks, a_figure_in_full_and_figures_in_a_list) {
  verdict::Verdict v = block_verdict();
  const auto placed = figures_named(v, "mfu");
  ASSERT_EQ(placed.size(), 1U);
  EXPECT_THAT(lines_of(document_of(placed, true)),
              ElementsAre("h1: training.mfu of pretrain",
                          fmt::format("p: model FLOP/s utilisation: {}, 80 % interval {} (vendor)",
                                      show(0.4, figures::Unit::ratio, 4), between(0.4)),
                          "v: a / b", "t LRL: input | value | from", "  a | 4 | from a",
                          "p: Reference: ref of mfu", "p: What binds here: links"));
  EXPECT_THAT(lines_of(document_of(placed, false)),
              ElementsAre("t LLRL: figure | of | value | meaning",
                          fmt::format("  training.mfu | pretrain | {} | model FLOP/s utilisation",
                                      shown(0.4))));
  v.sections[2].figures[0].estimate.reference.clear();
  EXPECT_THAT(lines_of(document_of(figures_named(v, "own_use"), true)),
              ElementsAre("h1: cost.own_use",
                          testing::StartsWith("p: use that this design makes of what it buys: ")));
}

TEST(report_blocks, found_layouts_are_numbered_and_say_where_a_search_stopped) {
  search::FoundLayouts found{.gpus = 64, .found = {}, .described = {}, .whole = true};
  found.found.counts = {
      .candidates = 50, .refused = 11, .too_large = 12, .bounded = 13, .evaluated = 14};
  EXPECT_EQ(text_of(found),
            "64 GPUs: 50 candidates; 11 do not divide, 12 do not fit, 13 bounded away, 14 evaluated"
            "\nnothing fits\n");
  found.whole = false;
  jobs::TrainingPrediction p;
  p.layout.tp = 2;
  p.step.seconds = 1.5;
  p.tokens_per_s_per_gpu = {.value = 4321};
  p.mfu = 0.425;
  p.memory.peak = gib(33.25);
  found.described = {p, p};
  found.described[1].step.seconds = 2.5;
  found.found.best.resize(2);
  const std::string text = text_of(found);
  EXPECT_THAT(text, HasSubstr("14 evaluated (interrupted: the best so far)\n"));
  EXPECT_THAT(text, HasSubstr("\n   1 " + to_text(p.layout)));
  EXPECT_THAT(text, HasSubstr("    1.500s       4321.0  42.5%   33.2GiB\n"));
  EXPECT_THAT(text, HasSubstr("\n   2 "));
  const Json j = Json::parse(json_of("m", std::vector{found}));
  EXPECT_EQ(j["searches"][0]["complete"], false);
  EXPECT_EQ(j["searches"][0]["gpus"], 64);
  EXPECT_EQ(j["searches"][0]["bounded"], 13);
  EXPECT_FALSE(j["searches"][0]["layouts"][0].contains("why_slower"));
  EXPECT_TRUE(j["searches"][0]["layouts"][1].contains("why_slower"));
}

}  // namespace
}  // namespace orrery::report
