// For tests of the reports of reviews: a verdict in which every number differs.
#pragma once

#include <nlohmann/json.hpp>

namespace orrery::report {

inline figures::Figure verdict_figure(figures::FigureId kind, double value) {
  return {.kind = kind,
          .estimate = {.value = value,
                       .low = value * 0.5,
                       .high = value * 3,
                       .basis = Basis::vendor,
                       .reference = "nodes/x, y"},
          .formula = {},
          .inputs = {}};
}

inline verdict::Verdict example_verdict() {
  verdict::Verdict v{.design = "hall", .version = "2", .digest = "abc", .summary = "Fails."};
  v.sections.push_back({.layer = figures::Layer::training, .name = "pre|train", .limit = "links"});
  v.sections.back().figures = {verdict_figure(figures::FigureId::mfu, 0.4),
                               verdict_figure(figures::FigureId::run_time, 7200)};
  v.sections.push_back({.layer = figures::Layer::facility, .name = "north"});
  v.sections.back().figures = {verdict_figure(figures::FigureId::pue, 1.2)};
  v.sections.push_back({.layer = figures::Layer::cost, .name = ""});
  v.sections.back().figures = {verdict_figure(figures::FigureId::annual, 9e6)};
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

}  // namespace orrery::report
