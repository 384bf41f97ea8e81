// Two designs line by line and section by section: the shortest list of lines, what is left over
// beside each section's own effect; and edges of the rest of the room.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
#include "study/compare/diff.h"
#include "study/compare/network_load.h"
#include "study/search/layout_search.h"
#include "study/search/rank.h"

namespace orrery::compare::diff_effects_tests {
namespace {

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

// Lines that both have, in order, as many as can be: row by row.
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

TEST(DiffEffects, no_shorter_list_of_lines_makes_one_of_the_other) {
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

// More nodes and other storage: what both change together and neither alone is the rest, of the
// cost, of the goodput and of a useful hour.
TEST(DiffEffects, the_rest_is_what_no_section_changes_alone) {
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

// Rates that are known exactly and equal have no order; slow parts have errors as fast ones do.
TEST(DiffEffects, equal_rates_are_not_decided_and_small_ones_are_rates) {
  EXPECT_FALSE(search::is_decided({1, 1, 1}, {1, 1, 1}, false));
  EXPECT_TRUE(search::is_decided({1.001, 1.001, 1.001}, {1, 1, 1}, false));
  EXPECT_NEAR(search::ratio_error({0.5, 0.25, 0.5}, {0.1, 0.1, 0.1}, false), 0.74 * std::log(2),
              1e-12);
  EXPECT_TRUE(search::is_decided({0.5, 0.25, 0.5}, {0.1, 0.1, 0.1}, false));
}

TEST(DiffEffects, tokens_of_a_dollar_are_those_of_the_market_s_median) {
  const catalog::Catalog& catalog = machine::known().catalog();
  const auto ranking = search::rank_accelerators(
      machine::known(), {.model = *catalog.model("llama-3-8b"), .accelerators = {"h100-sxm"}});
  ASSERT_TRUE(ranking);
  const auto price = cost::market_price(catalog.cloud_prices, "h100-sxm", "", false);
  ASSERT_TRUE(price);
  const search::RankRow& row = ranking->rows.at(0);
  EXPECT_DOUBLE_EQ(row.per_usd, row.tokens_per_s.value / price->median.base());
}

// Of 8 GPUs: tp, pp and cp of 1, 2, 4 or 8, microbatches of 1 to 8, four ways to shard, two
// schedules, sequence parallel or not: 4^4 x 4 x 2 x 2 = 4096 candidates are one chunk.
TEST(DiffEffects, a_full_chunk_is_one_chunk) {
  const search::LayoutQuestion question{
      .model = "llama-3-8b", .gpus = 8, .batch = 8, .sequence = 16384, .vp = 1};
  auto query = search::query_of(question, machine::known().catalog(), nullptr).value();
  query.layout.recompute = catalog::Recompute::none;
  const search::LayoutSearch search(machine::known(), std::move(query), 3);
  ASSERT_EQ(search.candidates(), 4096);
  EXPECT_EQ(search.chunks(), 1);
  EXPECT_EQ(search.search_chunk(0).counts.candidates, 4096);
}

// What is rented is wired by somebody else.
TEST(DiffEffects, a_rented_fleet_is_not_on_the_network) {
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

}  // namespace
}  // namespace orrery::compare::diff_effects_tests
