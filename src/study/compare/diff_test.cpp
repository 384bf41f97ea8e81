// What each section of a change costs alone, and what is lost with a switch.
#include "study/compare/diff.h"

#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"
#include "study/compare/network_load.h"

namespace orrery::compare::diff_tests {
namespace {

design::Design pod() {
  return design_text::read_design(design_text::find_template("superpod-h100")->text,
                                  machine::known().catalog())
      .value();
}

double annual(const design::Design& d) {
  return review::run_stages(d, machine::known()).cost.annual.base();
}

TEST(Diff, ASectionsEffectIsOfItAlone) {
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
  int told = 0;
  for (const SectionEffect& e : d.effects) {
    sum += e.cost_usd_per_year;
    if (e.section == "fleet") {
      ++told;
      EXPECT_NEAR(e.cost_usd_per_year, annual(fleet) - annual(before), 1);
      EXPECT_GT(e.cost_usd_per_year, 0);
    }
    if (e.section == "storage") {
      ++told;
      EXPECT_NEAR(e.cost_usd_per_year, annual(storage) - annual(before), 1);
    }
  }
  EXPECT_EQ(told, 2);
  EXPECT_NEAR(sum, annual(after) - annual(before), 1) << "the rest stands under `together`";
}

TEST(NetworkLoads, ALostSpineTakesItsCablesAlong) {
  const machine::Machine m = jobs::build_machine(pod(), machine::known());
  const machine::Network& n = m.main_networks().compute;
  const fabric::FabricGraph g = fabric::build_graph(*n.topology);
  const fabric::VertexId spine = g.links[static_cast<std::size_t>(g.trees[0].leaf_up(0, 3))].to;
  const CollectiveAsk ask{.kind = workload::Collective::all_reduce, .bytes = gib(1)};
  const NetworkLoad whole = load_network(m, n, g, {}, ask);
  const NetworkLoad load = load_network(m, n, g, {.switches = {spine}}, ask);
  ASSERT_EQ(load.down.size(), g.links.size());
  for (std::size_t l = 0; l < g.links.size(); ++l) {
    const bool touches = g.links[l].from == spine || g.links[l].to == spine;
    EXPECT_EQ(load.down[l] != 0, touches);
    EXPECT_EQ(whole.down[l], 0);
  }
  ASSERT_TRUE(load.after);
  EXPECT_FALSE(whole.after);
  EXPECT_EQ(load.cut, 0);
}

}  // namespace
}  // namespace orrery::compare::diff_tests
