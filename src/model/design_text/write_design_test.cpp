// Writing: every template reads back unchanged, and the digest depends only on what a design says.
#include "model/design_text/write_design.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"
#include "model/design_text/templates.h"

namespace orrery::design_text {
namespace {

design::Design read(std::string_view text) {
  auto d = read_design(text, design::catalog(), {.file = "test.yaml"});
  EXPECT_TRUE(d) << to_text(d.error()) << text;
  return d ? *std::move(d) : design::Design{};
}

TEST(WriteDesign, reads_back_every_template) {
  for (const Template& t : templates()) {
    const design::Design first = read(t.text);
    const std::string text = write_design(first);
    const design::Design second = read(text);
    EXPECT_TRUE(first == second) << t.name << '\n' << text;
    EXPECT_EQ(text, write_design(second)) << t.name;
    EXPECT_EQ(design_digest(first), design_digest(second)) << t.name;
  }
}

TEST(WriteDesign, digest_is_of_what_is_said) {
  const std::string_view one =
      "orrery: 1\nname: a\nsite: { region: usa, power: 2 MW }\n"
      "fleet: [{ name: a, node: dgx-h100, count: 4 }]\n";
  const std::string_view same =
      "# A comment.\nfleet:\n  - { count: 4, node: dgx-h100, name: a, spares: 0 }\n"
      "name: a\nsite: { power: 2000 kW, region: usa }\norrery: 1\n";
  const std::string_view other =
      "orrery: 1\nname: a\nsite: { region: usa, power: 2 MW }\n"
      "fleet: [{ name: a, node: dgx-h100, count: 5 }]\n";
  EXPECT_EQ(design_digest(read(one)), design_digest(read(same)));
  EXPECT_NE(design_digest(read(one)), design_digest(read(other)));
}

TEST(WriteDesign, quotes_what_yaml_would_misread) {
  design::Design d = read(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 "
      "}]\n");
  for (const char* text :
       {"null", "~",  "a: b", "#x", "- x", "\"q\"", "two\nlines", " blank", "ä", "0777",
        "true", "[x", "*a",   "&a", "%x",  "@x",    "---",        "x #y",   "'", "\\"}) {
    d.description = text;
    EXPECT_EQ(read(write_design(d)).description, text) << write_design(d);
  }
}

TEST(WriteDesign, keeps_what_differs_from_a_default) {
  design::Design d = read(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 "
      "}]\n");
  d.fabric.compute.roce.pfc = false;
  d.sites[0].supply_c = 0;
  d.economics.colocation = usd(150) / kilowatts(1) / months(1);
  d.workloads.push_back(
      {.terms = {},
       .task =
           design::Jobs{.rate = PerSecond(20.0 / 3600), .mean_duration = hours(3), .sizes = {}}});
  d.workloads.push_back({.terms = {.priority = -3},
                         .task = design::Train{.model = "llama-3-8b",
                                               .tokens = 1.5e13,
                                               .batch = 8,
                                               .layout = design::Layout{},
                                               .checkpoint = design::Checkpoint{.to = {}}}});
  const std::string text = write_design(d);
  EXPECT_TRUE(read(text) == d) << text;
  EXPECT_NE(text.find("colocation: 150 USD/kW/month"), std::string::npos) << text;
  EXPECT_NE(text.find("tokens: 15T"), std::string::npos) << text;
  EXPECT_NE(text.find("rate: 20 /h"), std::string::npos) << text;
}

TEST(WriteDesign, section_on_one_line_reads_back) {
  const design::Network network{.topology = design::NamedTopology::fat_tree,
                                .switch_part = "sn5600",
                                .routing = catalog::RoutingKind::adaptive,
                                .roce = {.pfc = true, .ecn = false}};
  EXPECT_EQ(
      section_text(network),
      "{ topology: fat-tree, switch: sn5600, routing: adaptive, roce: { pfc: true, ecn: false "
      "} }");
  const design::Checkpoint checkpoint{.to = {"node-nvme", "hot"},
                                      .keep = {{"hot", 3}, {"cold", {}}}};
  EXPECT_EQ(section_text(checkpoint),
            "{ to: [node-nvme, hot], keep: { hot: 3, cold: milestones } }");
  const design::Zone zone{.site = "a, b", .share = 0.5};
  EXPECT_EQ(section_text(zone), "{ site: \"a, b\", share: 0.5 }");
  EXPECT_EQ(section_text(design::Network{}), "{}");
  design::Design d = read(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, "
      "count: 4 }]\nfabric:\n  storage: " +
      section_text(network) + "\n");
  EXPECT_TRUE(d.fabric.storage == network);
}

TEST(WriteDesign, one_site_is_a_section_and_several_are_a_list) {
  const auto text = [](const std::string& sites) {
    return write_design(read_design("orrery: 1\nname: t\n" + sites +
                                        "fleet:\n  - { name: a, node: dgx-h100, count: 1 }\n",
                                    design::catalog())
                            .value());
  };
  EXPECT_TRUE(text("sites:\n  - { name: x, region: usa }\n").contains("site:"));
  EXPECT_FALSE(text("sites:\n  - { name: x, region: usa }\n").contains("sites:"));
  EXPECT_TRUE(text("sites:\n  - { name: x, region: usa }\n  - { name: y, region: deu }\n")
                  .contains("sites:"));
}

TEST(WriteDesign, tier_without_a_profile_writes_what_differs) {
  design::StorageTier tier{.tier = design::Tier::hot, .kind = design::TierKind::object};
  EXPECT_FALSE(section_text(tier).contains("encrypted"));
  tier.encrypted = !tier.encrypted;
  EXPECT_TRUE(section_text(tier).contains("encrypted"));
  const YamlNode node = tier_node({.tier = design::Tier::hot, .kind = design::TierKind::object});
  const auto has = [&](std::string_view key) {
    return std::ranges::find(node.keys, key, &YamlNode::Key::text) != node.keys.end();
  };
  EXPECT_TRUE(has("encrypted")) << "all that a profile could say otherwise";
  EXPECT_TRUE(has("device")) << "even that it has none";
  EXPECT_FALSE(has("name")) << "its own, and empty";
  EXPECT_FALSE(has("provider"));
  EXPECT_FALSE(has("servers")) << "left open";
}

}  // namespace
}  // namespace orrery::design_text
