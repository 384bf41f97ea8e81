#include "layers/fabric/flow_solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "layers/fabric/flow_engine.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;

FlowTable rows_of_links(const std::vector<std::vector<std::uint32_t>>& paths) {
  FlowTable t;
  for (const auto& path : paths) {
    FlowState f;
    f.path_begin = static_cast<std::uint32_t>(t.paths.size());
    f.hops = static_cast<std::uint16_t>(path.size());
    t.flows.push_back(f);
    t.paths.insert(t.paths.end(), path.begin(), path.end());
  }
  return t;
}

std::vector<double> solved(MaxMinSolver& solver, FlowTable& t,
                           const std::vector<std::uint32_t>& flows, bool grown = true) {
  solver.solve(t, flows, grown);
  std::vector<double> rates;
  for (const std::uint32_t f : flows) rates.push_back(t.flows[f].rate);
  return rates;
}

// Link 0 of 12 and link 1 of 10: flows on 0, on 0 and 1, on 1.
TEST(FlowSolver, max_min_rates_respect_weights_caps_and_priorities) {
  MaxMinSolver solver;
  solver.add_link(12);
  solver.add_link(10);
  FlowTable t = rows_of_links({{0}, {0, 1}, {1}, {}});
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(7, 5, 5));
  EXPECT_THAT(solved(solver, t, {0, 1}, false), ElementsAre(6, 6)) << "fewer than before";
  EXPECT_THAT(solved(solver, t, {1, 2}), ElementsAre(5, 5));
  t.weights = {1, 3, 1, 1};
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(4.5, 7.5, 2.5));
  t.weights.clear();
  t.caps = {2, kUncapped, 4, 3};
  EXPECT_THAT(solved(solver, t, {0, 1, 2, 3}), ElementsAre(2, 6, 4, 3));
  t.caps = {2, kUncapped, 4, kUncapped};
  t.flows[3].rate = 0;
  EXPECT_THAT(solved(solver, t, {0, 1, 2, 3}), ElementsAre(2, 6, 4, 0)) << "nothing holds the last";
  t.caps = {kUncapped, 1, kUncapped, kUncapped};
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(11, 1, 9));
  // A higher class takes what it can, including caps; the lower class gets what is left.
  t.caps = {kUncapped, 4, kUncapped, kUncapped};
  t.has_priorities = true;
  t.flows[1].priority = 7;
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(8, 4, 6));
  t.caps = {5, 4, kUncapped, kUncapped};
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(5, 4, 6)) << "caps in both classes";
  t.caps = {kUncapped, 4, kUncapped, kUncapped};
  t.flows[2].priority = 9;
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(12, 0, 10));
  solver.set_capacity(0, 0);
  EXPECT_THAT(solved(solver, t, {0, 2}), ElementsAre(0, 10));
  EXPECT_EQ(solver.capacities(), (std::vector<double>{0, 10}));
}

// Returns how far given rates are from fair, with link 0 of 12 and link 1 of half a byte.
TEST(FlowSolver, violation_measures_unfairness) {
  FlowTable t = rows_of_links({{0}, {0}, {1}, {}});
  const std::vector<double> capacities{12, 0.5};
  const auto off = [&](double a, double b, std::vector<std::uint32_t> flows = {0, 1}) {
    t.flows[0].rate = a;
    t.flows[1].rate = b;
    return max_min_violation(t, flows, capacities);
  };
  EXPECT_NEAR(off(6, 6), 0, 1e-12);
  EXPECT_NEAR(off(3, 9), 1 - 3 / 9.0, 1e-12) << "it could gain from the other";
  EXPECT_NEAR(off(6, 3), 1 - 3 / 6.0, 1e-12);
  EXPECT_NEAR(off(4.5, 4.5), 3 / 12.0, 1e-12) << "a quarter of the link is free";
  EXPECT_NEAR(off(7.5, 7.5), 3 / 12.0, 1e-12) << "too much";
  t.weights = {1, 3, 1, 1};
  EXPECT_NEAR(off(3, 9), 0, 1e-12);
  t.weights.clear();
  t.caps = {3, kUncapped, kUncapped, kUncapped};
  EXPECT_NEAR(off(3, 9), 0, 1e-12) << "it has its cap";
  EXPECT_GT(off(2.9, 9.1), 0.5);
  t.caps.clear();
  t.flows[2].rate = 0.25;
  EXPECT_NEAR(off(6, 6, {2}), 0.25, 1e-12) << "of a link below one byte, bytes";
  EXPECT_NEAR(off(6, 6, {3}), 0, 1e-12) << "without links it has what it has";
}

}  // namespace
}  // namespace orrery::fabric
