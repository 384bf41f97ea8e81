#include <gtest/gtest.h>

#include <cmath>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

// Four units of 32 nodes: one leaf per rail, 1,016 ports and 32 uplinks per leaf.
TEST(SectionFabric, switches_cables_rates_and_price) {
  const review::Review& r = review::lab_review("superpod-h100");
  const auto all = fabric_sections(r);
  const figures::Section s = words_section(all, "compute network");
  EXPECT_NE(s.limit, "");
  expect_words(s, "leaf_switches", {.value = 32});
  expect_words(s, "spine_switches", {.value = 16});
  EXPECT_EQ(words_figure(s, "core_switches"), nullptr);
  expect_words(s, "cables", {.value = 2040});
  expect_words(s, "per_node", {.value = 400e9, .basis = Basis::vendor});
  expect_words(s, "bisection", {.value = 25.4e12});
  expect_words(s, "worst_link", {1, 0, 0.1, Basis::derived});
  const machine::Networks& here = r.networks();
  const catalog::PriceRange price = here.compute.bill.price();
  EXPECT_EQ(words_figure(s, "price")->estimate.low, price.low.base());
  EXPECT_EQ(words_figure(s, "price")->estimate.high, price.high.base());
  EXPECT_EQ(words_figure(s, "price")->estimate.value, (price.low + price.high).base() / 2);
  expect_words(s, "power", {here.compute.bill.power().base(), 0.15, 0.15, Basis::vendor});
  // 262 endpoints on eleven leaves with six uplinks each.
  const figures::Section slow = words_section(all, "management network");
  EXPECT_NE(slow.limit, "");
  EXPECT_EQ(words_figure(slow, "all_reduce_1gib"), nullptr);
  expect_words(slow, "worst_link", {1 + std::sqrt(2 * std::log(66)), 0.05, 0.25, Basis::derived});
}

TEST(SectionFabric, networks_of_several_sites_and_their_lines) {
  const review::Review& r = review::lab_review("chatbot-zones");
  const auto all = fabric_sections(r);
  const figures::Section& east = words_section(all, "compute network of us-east");
  EXPECT_EQ(words_figure(east, "per_node")->estimate.basis, Basis::vendor);
  const figures::Section& stored = words_section(all, "storage network of us-east");
  EXPECT_EQ(words_figure(stored, "per_node")->estimate.basis, Basis::given);
  EXPECT_EQ(words_figure(stored, "per_node")->estimate.reference, "the design");
  const figures::Section& line = words_section(all, "line us-east - europe");
  expect_words(line, "wan_rate", {.value = 1.25e9, .basis = Basis::given});
  expect_words(line, "wan_latency", {.value = 0.09, .basis = Basis::given});
  expect_words(line, "wan_price", {.value = 180e3, .basis = Basis::given});
  // 70.55 billion weights of one byte, and some of two.
  const figures::Figure* f = words_figure(line, "weights_across");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->estimate.value, 72.6e9 / 1.25e9 + 0.09, 2);
  EXPECT_EQ(f->estimate.low, f->estimate.value);
  EXPECT_NEAR(f->estimate.high, 1.5 * f->estimate.value, 1e-9);
  EXPECT_NE(line.limit, "");
}

// A NIC may pause a network that pauses; InfiniBand does not.
TEST(SectionFabric, pause_storms_only_on_roce) {
  design::Design d = review::lab_design("superpod-h100");
  d.workloads.clear();
  d.fleet[0].failures.storm_mtbf = years(500);
  const review::Review r = review::run_stages(std::move(d), machine::known());
  design::Design pod = review::lab_design("inference-pod");
  pod.workloads.clear();
  pod.fleet[0].failures.storm_mtbf = years(500);
  const review::Review roce = review::run_stages(std::move(pod), machine::known());
  const auto all = fabric_sections(roce);
}

// A zone's fleet may be unable to serve a model: this is reported, and the lines between sites are
// still shown.
TEST(SectionFabric, lines_are_shown_even_if_a_zone_is_infeasible) {
  design::Design d = review::lab_design("chatbot-zones");
  d.fleet[1].node.clear();
  d.fleet[1].custom = design::CustomNode{.accelerators = 0, .cores = 64};
  const review::Review r = review::reviewed(d);
  ASSERT_EQ(r.serves.size(), 3U);
  EXPECT_FALSE(r.serves[1].feasible());
  int lines = 0;
  for (const figures::Section& s : all_sections(r)) lines += s.name.starts_with("line ") ? 1 : 0;
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace orrery::verdict
