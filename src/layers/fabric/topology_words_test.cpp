// What is said of networks that cannot be built, at the first size that is too large; and a
// dragonfly counted by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "layers/fabric/topology.h"

namespace orrery::fabric {
namespace {

using catalog::TopologyKind;

std::string said_of(const FabricSpec& spec) {
  const auto made = make_topology(spec);
  if (made) return "";
  std::string text;
  for (const Diagnostic& d : made.error()) {
    text += fmt::format("{}: {} | {} | {}\n", d.code, d.what, d.why, d.fix);
  }
  return text;
}

FabricSpec tree_of(int nodes, int tiers = 0) {
  return {.kind = TopologyKind::fat_tree, .nodes = nodes, .rails = 8, .radix = 64, .tiers = tiers};
}

TEST(TopologyWords, of_what_is_asked_for) {
  EXPECT_EQ(said_of(tree_of(0)),
            "fabric.size: a network needs at least one node and one rail |  | give nodes and NICs "
            "per node\n");
  EXPECT_EQ(said_of(tree_of(2'000'001)),
            "fabric.size: more endpoints than the generator takes |  | at most 16000000\n");
  FabricSpec s = tree_of(4);
  for (const int planes : {0, 9}) {
    s.planes = planes;
    EXPECT_EQ(said_of(s), "fabric.planes: planes must be 1 to 8 |  | 2 is the twin plane\n");
  }
  s.planes = 8;
  EXPECT_EQ(said_of(s), "");
  s = tree_of(4);
  for (const double over : {0.99, 64.1, std::numeric_limits<double>::quiet_NaN()}) {
    s.oversubscription = over;
    EXPECT_EQ(said_of(s),
              "fabric.oversubscription: oversubscription is down over up, at least 1 |  | 1 for "
              "non-blocking, 1.333 for 4:3\n");
  }
  s.oversubscription = 64;
  EXPECT_EQ(said_of(s), "");
  s = tree_of(1);
  for (const int radix : {2, 3, 5}) {
    s.radix = radix;
    EXPECT_EQ(said_of(s),
              "fabric.radix: the radix of a tree's switch is even and at least 4 |  | count ports "
              "at the endpoint's rate: 64 for a QM9700\n");
  }
}

// A switch holds its 64 ports, two tiers 64^2 / 2, three 64^3 / 4 endpoints.
TEST(TopologyWords, of_what_tiers_hold) {
  EXPECT_EQ(said_of(tree_of(8, 1)), "");
  EXPECT_EQ(said_of(tree_of(9, 1)),
            "fabric.size: one switch does not hold all endpoints |  | use two tiers\n");
  EXPECT_EQ(said_of(tree_of(256, 2)), "");
  EXPECT_EQ(said_of(tree_of(257, 2)),
            "fabric.size: two tiers of radix 64 hold 2048 endpoints |  | use three tiers, a larger "
            "radix or two planes\n");
  EXPECT_EQ(said_of(tree_of(257)), "");
  EXPECT_EQ(said_of(tree_of(8192)), "");
  EXPECT_EQ(said_of(tree_of(8193)),
            "fabric.size: three tiers of radix 64 hold 65536 endpoints |  | use a larger radix or "
            "two planes\n");
}

TEST(TopologyWords, of_a_torus) {
  FabricSpec s{.kind = TopologyKind::torus, .nodes = 24, .rails = 1};
  const std::string refused =
      "fabric.torus: the sizes of a torus must multiply to its endpoints |  | 16 x 16 for 256 "
      "endpoints\n";
  for (const std::vector<int>& sizes :
       {std::vector<int>{}, {5, 5}, {-4, -6}, {0, 24}, {24, 16'000'001}, {2, 3, 5}}) {
    s.torus = sizes;
    EXPECT_EQ(said_of(s), refused) << sizes.size();
  }
  s.torus = {2, 3, 4};
  EXPECT_EQ(said_of(s), "");
}

// Radix 63: h = 16, groups of 32 routers with 16 endpoints each, 32 x 16 + 1 groups at most.
TEST(TopologyWords, of_a_dragonfly) {
  FabricSpec s{.kind = TopologyKind::dragonfly, .nodes = 128, .rails = 8, .radix = 63};
  const auto two = make_topology(s);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->tiers, 1);
  EXPECT_EQ(two->dragonfly_h, 16);
  EXPECT_EQ(two->dragonfly_groups, 2);
  EXPECT_EQ(two->leaves, 64);
  EXPECT_EQ(two->leaf_spine_links, 2 * 32 * 31 / 2);
  EXPECT_EQ(two->spine_core_links, 2 * 32 * 16 / 2);
  s.nodes = 129;
  EXPECT_EQ(make_topology(s)->dragonfly_groups, 3);
  s.nodes = 1;
  EXPECT_EQ(make_topology(s)->dragonfly_groups, 2) << "no fewer";
  s.nodes = 32 * 16 * 513 / 8;
  EXPECT_EQ(said_of(s), "");
  ++s.nodes;
  const std::string full =
      "fabric.size: a balanced dragonfly of this radix holds 262656 endpoints |  | use a larger "
      "radix\n";
  EXPECT_EQ(said_of(s), full);
  s.nodes = 4;
  s.dragonfly_h = 17;
  EXPECT_NE(said_of(s), "") << "4 x 17 - 1 ports are more than 63";
  s.dragonfly_h = 16;
  EXPECT_EQ(said_of(s), "");
}

}  // namespace
}  // namespace orrery::fabric
