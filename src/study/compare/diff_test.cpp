#include "study/compare/diff.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/base/random.h"
#include "core/base/text.h"
#include "layers/cost/rental.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"
#include "study/compare/network_fixture.h"
#include "study/compare/network_load.h"
#include "study/search/rank.h"

namespace orrery::compare {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

design::Design of_stages(const std::string& names) {
  design::Design d;
  d.name = "d";
  for (const char name : names) {
    d.pipeline.stages.push_back(
        {.stage = design::DataStage::archive, .name = std::string(1, name)});
  }
  return d;
}

struct Laid {
  review::Review stages;
  verdict::Verdict verdict;

  explicit Laid(const design::Design& design, const std::string& digest) {
    machine::Machine machine;
    machine.wanted = std::make_shared<design::Design>(design);
    machine.knows = &machine::known();
    stages.machine = std::make_shared<machine::Machine>(std::move(machine));
    verdict.digest = digest;
  }
};

std::vector<std::string> lines_of(const std::string& before, const std::string& after) {
  const Laid a(of_stages(before), "x"), b(of_stages(after), "y");
  return compare(Reviewed{a.stages, a.verdict}, Reviewed{b.stages, b.verdict}, machine::known())
      .lines;
}

// The longest list of lines that both have, in order: row by row.
std::size_t longest_common(const std::string& before, const std::string& after) {
  const std::string text_a = design_text::write_design(of_stages(before));
  const std::string text_b = design_text::write_design(of_stages(after));
  const auto a = split(text_a, '\n'), b = split(text_b, '\n');
  std::vector<std::size_t> above(b.size() + 1, 0);
  for (const std::string_view line : a) {
    std::vector<std::size_t> row(b.size() + 1, 0);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = line == b[j - 1] ? above[j - 1] + 1 : std::max(above[j], row[j - 1]);
    }
    above = std::move(row);
  }
  return above.back();
}

std::size_t lines_in(const std::string& names) {
  const std::string text = design_text::write_design(of_stages(names));
  return static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
}

TEST(Diff, the_list_of_lines_is_minimal) {
  RandomStream draw(4, "diff");
  for (int i = 0; i < 60; ++i) {
    std::string before, after;
    for (std::uint64_t n = 1 + draw.below(7); n > 0; --n) before += "pqrs"[draw.below(4)];
    for (std::uint64_t n = 1 + draw.below(7); n > 0; --n) after += "pqrs"[draw.below(4)];
    const std::size_t expected =
        lines_in(before) + lines_in(after) - 2 * longest_common(before, after);
    const std::vector<std::string> lines = lines_of(before, after);
    EXPECT_EQ(lines.size(), expected) << before << " -> " << after;
    const auto gone = static_cast<std::size_t>(std::ranges::count_if(
        lines, [](const std::string& line) { return line.starts_with("- "); }));
    EXPECT_EQ(lines_in(before) - gone, longest_common(before, after)) << before << " -> " << after;
  }
}

// More nodes and other storage: changes that both cause together and neither alone are the rest, in
// cost, goodput and the cost per useful hour.
TEST(Diff, interactions_are_reported_as_together) {
  const design::Design before =
      design_text::read_design(design_text::find_template("superpod-h100")->text,
                               machine::known().catalog())
          .value();
  design::Design after = before;
  after.fleet.front().count -= 40;
  after.storage.front().servers = 4;
  design::Design fleet = before, storage = before;
  fleet.fleet = after.fleet;
  storage.storage = after.storage;
  const review::Review from = review::run_stages(before, machine::known());
  const review::Review to = review::run_stages(after, machine::known());
  const verdict::Verdict old_verdict{}, new_verdict{.digest = "other"};
  const DesignDiff d =
      compare(Reviewed{from, old_verdict}, Reviewed{to, new_verdict}, machine::known());
  ASSERT_EQ(d.effects.size(), 3U);
  const auto expect_effect = [&](std::size_t at, const char* name, const review::Review& alone) {
    EXPECT_EQ(d.effects[at].section, name);
    EXPECT_NEAR(d.effects[at].cost_usd_per_year, alone.cost.annual.base() - from.cost.annual.base(),
                1e-3);
    EXPECT_NEAR(d.effects[at].goodput, alone.cost.goodput - from.cost.goodput, 1e-12);
    EXPECT_NEAR(d.effects[at].unit_cost_usd,
                3600 * (alone.cost.per_useful_hour - from.cost.per_useful_hour).base(), 1e-9);
  };
  expect_effect(0, "fleet", review::run_stages(fleet, machine::known()));
  expect_effect(1, "storage", review::run_stages(storage, machine::known()));
  const SectionEffect& rest = d.effects[2];
  EXPECT_EQ(rest.section, "together");
  EXPECT_NEAR(d.effects[0].goodput + d.effects[1].goodput + rest.goodput,
              to.cost.goodput - from.cost.goodput, 1e-12);
  EXPECT_NEAR(d.effects[0].unit_cost_usd + d.effects[1].unit_cost_usd + rest.unit_cost_usd,
              3600 * (to.cost.per_useful_hour - from.cost.per_useful_hour).base(), 1e-9);
}

TEST(Diff, tokens_per_dollar_use_the_median_price) {
  const catalog::Catalog& catalog = machine::known().catalog();
  const auto ranking = search::rank_accelerators(
      machine::known(), {.model = *catalog.model("llama-3-8b"), .accelerators = {"h100-sxm"}});
  ASSERT_TRUE(ranking);
  const auto price = cost::market_price(catalog.cloud_prices, "h100-sxm", "", false);
  ASSERT_TRUE(price);
  const search::RankRow& row = ranking->rows.at(0);
  EXPECT_DOUBLE_EQ(row.per_usd, row.tokens_per_s.value / price->median.base());
}

// Rented machines are on their provider's network.
TEST(Diff, rented_fleets_are_off_the_network) {
  const auto machine_of = [](const std::string& rent) {
    return jobs::build_machine(
        design_text::read_design(
            "orrery: 1\nname: d\nsite: { region: usa }\n"
            "fleet: [{ name: a, node: dgx-h100, count: 4" +
                rent +
                " }]\nfabric: { compute: { topology: rail-fat-tree, switch: qm9700 "
                "} }\n",
            machine::known().catalog())
            .value(),
        machine::known());
  };
  const machine::Machine own = machine_of("");
  EXPECT_NE(widest_fleet(own, own.main_networks().compute), nullptr);
  const machine::Machine rented =
      machine_of(", rent: { provider: coreweave, contract: reserved, term: 1 y }");
  EXPECT_EQ(widest_fleet(rented, rented.main_networks().compute), nullptr);
}

double annual(const design::Design& d) {
  return review::run_stages(d, machine::known()).cost.annual.base();
}

TEST(Diff, a_section_has_its_own_effect) {
  const design::Design before = pod();
  design::Design after = before;
  after.fleet.front().count += 8;
  after.storage.front().servers = 32;
  const DesignDiff d = compare(before, after, machine::known());
  design::Design fleet = before;
  fleet.fleet = after.fleet;
  design::Design storage = before;
  storage.storage = after.storage;
  double sum = 0;
  int got = 0;
  for (const SectionEffect& e : d.effects) {
    sum += e.cost_usd_per_year;
    if (e.section == "fleet") {
      ++got;
      EXPECT_NEAR(e.cost_usd_per_year, annual(fleet) - annual(before), 1);
      EXPECT_GT(e.cost_usd_per_year, 0);
    }
    if (e.section == "storage") {
      ++got;
      EXPECT_NEAR(e.cost_usd_per_year, annual(storage) - annual(before), 1);
    }
  }
  EXPECT_EQ(got, 2);
  EXPECT_NEAR(sum, annual(after) - annual(before), 1);
}

// A design, its totals and its verdict, all set by hand.
struct Side {
  review::Review stages;
  verdict::Verdict verdict;

  Side(const std::string& name, const std::string& digest) {
    design::Design design;
    design.name = name;
    takes(design);
    verdict.digest = digest;
  }
  void takes(const design::Design& design) {
    machine::Machine machine;
    machine.wanted = std::make_shared<design::Design>(design);
    machine.knows = &machine::known();
    stages.machine = std::make_shared<machine::Machine>(std::move(machine));
  }
  void costs(double annual_usd, double goodput, double useful_hour_usd) {
    stages.cost.annual = usd(annual_usd);
    stages.cost.goodput = goodput;
    stages.cost.per_useful_hour = usd_per_hour(useful_hour_usd);
  }
  void says(Severity severity, const std::string& rule, const std::string& what) {
    verdict.findings.push_back({.severity = severity, .rule = rule, .what = what});
  }
  void shows(figures::Layer layer, const std::string& section, const std::string& id,
             double value) {
    figures::Section* at = nullptr;
    for (figures::Section& s : verdict.sections) {
      if (s.layer == layer && s.name == section) at = &s;
    }
    if (at == nullptr) at = &verdict.sections.emplace_back();
    at->layer = layer;
    at->name = section;
    at->figures.push_back(
        {.kind = figures::FigureId::burst, .of = id, .estimate = exact(value, Basis::given, "")});
  }
};

std::string shown_as(std::string_view of) {
  return figures::label_text(figures::FigureId::burst, of);
}

DesignDiff diff_of(const Side& before, const Side& after) {
  return compare(Reviewed{before.stages, before.verdict}, Reviewed{after.stages, after.verdict},
                 machine::known());
}

TEST(Diff, findings_match_by_rule_and_text) {
  Side a("a", "x"), b("b", "y");
  a.says(Severity::warning, "both", "stays");
  a.says(Severity::warning, "rule", "went");
  a.says(Severity::error, "other", "too");
  a.says(Severity::note, "note", "is no fault");
  b.says(Severity::warning, "both", "stays");
  b.says(Severity::warning, "rule", "came");
  b.says(Severity::warning, "fresh", "went");
  b.says(Severity::note, "note", "another");
  const DesignDiff d = diff_of(a, b);
  const auto named = [](const std::vector<rules::Finding>& all) {
    std::vector<std::string> out;
    for (const rules::Finding& f : all) out.push_back(f.rule + ' ' + f.what);
    return out;
  };
  EXPECT_THAT(named(d.fixed), ElementsAre("rule went", "other too"));
  EXPECT_THAT(named(d.broken), ElementsAre("rule came", "fresh went"));
}

// Half a per cent is the least that is shown: 1000 -> 1004 is not, 1000 -> 1005.1 is.
TEST(Diff, changed_figures_are_sorted_by_change) {
  Side a("a", "x"), b("b", "y");
  const auto both = [&](const std::string& id, double before, double after) {
    a.shows(figures::Layer::facility, "main", id, before);
    b.shows(figures::Layer::facility, "main", id, after);
  };
  both("same", 7, 7);
  both("little", 1000, 1004);
  both("enough", 1000, 1005.1);
  both("half", 80, 40);
  both("more", 10, 14);
  both("from_nothing", 0, 3);
  both("still_nothing", 0, 0);
  a.shows(figures::Layer::facility, "main", "gone", 5);
  b.shows(figures::Layer::facility, "main", "fresh", 5);
  b.shows(figures::Layer::cost, "main", "half", 41);
  b.shows(figures::Layer::facility, "other", "half", 42);
  const DesignDiff d = diff_of(a, b);
  std::vector<std::string> labels;
  for (const FigureChange& c : d.figures) labels.push_back(c.label);
  EXPECT_THAT(labels, ElementsAre(shown_as("half"), shown_as("more"), shown_as("enough"),
                                  shown_as("from_nothing")));
  const FigureChange& half = d.figures.at(0);
  EXPECT_EQ(half.layer, figures::Layer::facility);
  EXPECT_EQ(half.section, "main");
  EXPECT_EQ(half.unit, figures::Unit::watts);
  EXPECT_DOUBLE_EQ(half.before, 80);
  EXPECT_DOUBLE_EQ(half.after, 40);
}

design::Design of_nodes(const char* name, int count) {
  return design_text::read_design("orrery: 1\nname: " + std::string(name) +
                                      "\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, "
                                      "count: " +
                                      std::to_string(count) + " }]\n",
                                  machine::known().catalog())
      .value();
}

TEST(Diff, equal_designs_have_no_differences) {
  const DesignDiff d = compare(of_nodes("a", 3), of_nodes("a", 3), machine::known());
  EXPECT_TRUE(d.lines.empty());
  EXPECT_TRUE(d.effects.empty());
  EXPECT_TRUE(d.figures.empty());
  EXPECT_EQ(d.before_digest, d.after_digest);
}

// Twice the nodes cost twice as much; an hour of one costs the same.
TEST(Diff, more_nodes_cost_more_per_year) {
  const DesignDiff d = compare(of_nodes("a", 2), of_nodes("b", 4), machine::known());
  EXPECT_THAT(d.verdict, StartsWith("a -> b: +"));
  EXPECT_EQ(d.before_name, "a");
  EXPECT_EQ(d.after_name, "b");
  EXPECT_NE(d.before_digest, d.after_digest);
  // Nodes of 10.2 kW at nameplate.
  const auto power = std::ranges::find(d.figures, "IT power, nameplate", &FigureChange::label);
  ASSERT_NE(power, d.figures.end());
  EXPECT_EQ(power->before, 20'400);
  EXPECT_EQ(power->after, 40'800);
  EXPECT_EQ(power->relative(), 1);
  EXPECT_EQ(power->layer, figures::Layer::facility);
  EXPECT_EQ(power->section, "main");
  EXPECT_EQ(power->unit, figures::Unit::watts);
  ASSERT_EQ(d.effects.size(), 1U);
  EXPECT_EQ(d.effects[0].section, "fleet");
  EXPECT_GT(d.effects[0].cost_usd_per_year, 0);
  EXPECT_NEAR(d.effects[0].unit_cost_usd, 0, 0.01);
  const DesignDiff back = compare(of_nodes("b", 4), of_nodes("a", 2), machine::known());
  EXPECT_THAT(back.verdict, StartsWith("b -> a: -"));
  EXPECT_THAT(back.verdict, EndsWith("."));
}

TEST(Diff, only_changed_lines_are_listed) {
  const DesignDiff d = compare(of_nodes("a", 2), of_nodes("a", 4), machine::known());
  int out = 0, in = 0;
  for (const std::string& line : d.lines) {
    out += line.starts_with("- ");
    in += line.starts_with("+ ");
  }
  EXPECT_EQ(out, 1);
  EXPECT_EQ(in, 1);
  EXPECT_EQ(d.lines.size(), 2U);
  EXPECT_THAT(d.lines.front(), HasSubstr("2"));
  EXPECT_THAT(d.lines.back(), HasSubstr("4"));
}

}  // namespace
}  // namespace orrery::compare
