#include "layers/fabric/bill.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {
namespace {

using catalog::TopologyKind;
using testing::ElementsAre;

// The full bill of the 127-node H100 system, DGX SuperPOD RA-11333-001 V11 tables 7 and 8.
class H100Bill : public testing::Test {
 protected:
  static double published(const char* section, const char* item) {
    const CsvTable table = catalog::embedded_table("catalog/refarch_bom_h100_4su.csv").value();
    for (const CsvRow& row : table.rows()) {
      if (table.text(row, "section") == section && table.text(row, "item") == item) {
        return table.number(row, "count").value_or(-1);
      }
    }
    ADD_FAILURE() << section << ": " << item;
    return -1;
  }

  const int nodes_ = 4 * 32 - 1;  // the fabric manager takes one slot
  const Topology compute_ =
      *make_topology({.nodes = nodes_, .rails = 8, .radix = 64, .manager_ports = 4});
};

TEST_F(H100Bill, compute_network) {
  const catalog::Bill bill = fabric_bill(compute_, {}, "compute fabric");
  const auto count = [&](const char* item) { return bill.count("compute fabric", item); };
  EXPECT_EQ(count("leaf switch") + count("spine switch"), published("switch", "QM9700 compute"));
  EXPECT_EQ(count("cable node-leaf") + count("cable leaf-spine"),
            published("compute cables", "NDR 400G MMF"));
  EXPECT_EQ(count("cable fabric manager"), published("compute cables", "NDR 200G UFM"));
  EXPECT_EQ(count("switch optics (twin-port)"),
            published("compute optics", "switch OSFP twin-port"));
  EXPECT_EQ(count("node optics"), published("compute optics", "system OSFP twin-port"));
  EXPECT_EQ(count("fabric manager transceiver"), published("compute optics", "UFM transceivers"));
  // The fabric table counts 1,020 node cables with the manager's ports, the bill 1,016 without.
  EXPECT_EQ(count("cable node-leaf"), 1016);
  EXPECT_EQ(compute_.node_cables() + compute_.manager_links, 1020);
}

TEST(FabricBill, power_is_switches_plus_optics) {
  const catalog::Switch qm9700{.id = "qm9700",
                               .typical_power = watts(747),
                               .price = catalog::PriceRange{usd(25000), usd(45000)}};
  const catalog::Optic twin{.id = "800g-2xdr4",
                            .power_per_end = watts(15),
                            .price = catalog::PriceRange{usd(1000), usd(1400)}};
  const Topology t = *make_topology({.nodes = 127, .rails = 8, .radix = 64, .manager_ports = 4});
  const catalog::Bill bill =
      fabric_bill(t, {.leaf = &qm9700, .switch_module = &twin}, "compute fabric");
  // 32 modules in a full switch draw 480 W, about as much as the switch itself.
  EXPECT_DOUBLE_EQ(bill.power().base(), 48 * 747.0 + 1536 * 15.0);
  EXPECT_DOUBLE_EQ(bill.price().low.base(), 48 * 25000.0 + 1536 * 1000.0);
  EXPECT_DOUBLE_EQ(bill.price().high.base(), 48 * 45000.0 + 1536 * 1400.0);
}

TEST(FabricBill, copper_node_links_need_no_modules) {
  const Topology t = *make_topology({.nodes = 128, .rails = 8, .radix = 64});
  EXPECT_EQ(switch_modules(t, false) - switch_modules(t, true), 1024 / 2);
}

// A balanced dragonfly uses every router port: 4 to nodes, 7 within the group, 4 to other groups.
TEST(FabricBill, dragonfly_links_have_a_module_at_both_ends) {
  const Topology t = *make_topology(
      {.kind = catalog::TopologyKind::dragonfly, .nodes = 1056, .rails = 1, .radix = 15});
  EXPECT_EQ(switch_modules(t, false), 264 * 15 / 2);
}

catalog::PriceRange at(double price) { return {usd(price), usd(price * 2)}; }

struct Parts {
  catalog::Switch leaf{.id = "leaf", .typical_power = watts(700), .price = at(10)};
  catalog::Switch spine{.id = "spine", .max_power = watts(900), .price = at(20)};
  catalog::Switch core{.id = "core", .typical_power = watts(1100), .price = at(30)};
  catalog::Nic nic{.id = "nic", .typical_power = watts(25), .price = at(4)};
  catalog::Optic twin{.id = "twin", .power_per_end = watts(15), .price = at(3)};
  catalog::Optic one{.id = "one", .power_per_end = watts(8), .price = at(2)};
  catalog::Optic cable{.id = "cable", .power_per_end = watts(1), .price = at(1)};

  BillParts all() const {
    return {.leaf = &leaf,
            .spine = &spine,
            .core = &core,
            .nic = &nic,
            .switch_module = &twin,
            .node_module = &one,
            .cable = &cable};
  }
};

std::vector<std::string> lines_of(const catalog::Bill& bill) {
  std::vector<std::string> out;
  for (const catalog::BillLine& l : bill.lines) {
    const double price = l.unit_price ? l.unit_price->low.base() : -1;
    out.push_back(
        fmt::format("{}: {} at {}, {} W", l.part_id, l.count, price, l.unit_power.base()));
  }
  return out;
}

// 128 endpoints on eight leaves with 16 ports down and 16 up, groups of 16 leaves with 16 spines
// with 8 ports down; a module serves two ports.
TEST(Bill, bill_of_three_tiers) {
  const Parts parts;
  const Topology t = *make_topology({.kind = TopologyKind::fat_tree,
                                     .nodes = 64,
                                     .rails = 2,
                                     .radix = 32,
                                     .tiers = 3,
                                     .manager_ports = 0});
  EXPECT_EQ(t.leaves, 8);
  EXPECT_EQ(t.spines, 8);
  EXPECT_EQ(t.cores, 4);
  EXPECT_THAT(
      lines_of(fabric_bill(t, parts.all(), "compute")),
      testing::ElementsAre("leaf: 8 at 10, 700 W", "spine: 8 at 20, 900 W", "core: 4 at 30, 1100 W",
                           "cable: 128 at 1, 2 W", "cable: 128 at 1, 2 W", "cable: 128 at 1, 2 W",
                           "twin: 320 at 3, 15 W", "one: 64 at 2, 8 W", "nic: 128 at 0, 0 W"));
}

TEST(Bill, modules_follow_the_link_type) {
  const Parts parts;
  const Topology t =
      *make_topology({.kind = TopologyKind::fat_tree, .nodes = 64, .rails = 2, .radix = 64});
  ASSERT_EQ(t.leaves, 4);
  const auto lines = [&](BillParts p) { return lines_of(fabric_bill(t, p, "compute")); };
  using testing::Contains;
  using testing::HasSubstr;
  using testing::Not;
  BillParts p = parts.all();
  p.nics_in_node = false;
  p.nics_per_node_module = 1;
  EXPECT_THAT(lines(p), Contains("nic: 128 at 4, 25 W"));
  EXPECT_THAT(lines(p), Contains("one: 128 at 2, 8 W"));
  EXPECT_THAT(lines(p), Contains("twin: 192 at 3, 15 W"));
  p.copper_node_links = true;
  EXPECT_THAT(lines(p), Not(Contains(HasSubstr("one: "))));
  EXPECT_THAT(lines(p), Contains("twin: 128 at 3, 15 W"));
  p = parts.all();
  p.co_packaged = true;
  EXPECT_THAT(lines(p), Not(Contains(HasSubstr("twin: "))));
  EXPECT_THAT(lines(p), Contains(HasSubstr("one: ")));
  p.all_copper = true;
  EXPECT_THAT(lines(p), Not(Contains(testing::AnyOf(HasSubstr("one: "), HasSubstr("twin: ")))));
  // A tier without its own part uses the leaf's.
  p = parts.all();
  p.spine = nullptr;
  EXPECT_THAT(lines(p), Contains(HasSubstr("leaf: 2 at")));
  EXPECT_THAT(lines_of(fabric_bill(t, {}, "compute")), Contains(": 4 at -1, 0 W"));
}

TEST(Bill, managers_have_a_pair_of_cables) {
  const Parts parts;
  const Topology t = *make_topology({.nodes = 31, .rails = 8, .radix = 64, .manager_ports = 4});
  ASSERT_EQ(t.manager_links, 4);
  const auto lines = lines_of(fabric_bill(t, parts.all(), "compute"));
  EXPECT_THAT(lines, testing::Contains("cable: 2 at 1, 2 W"));
  EXPECT_THAT(lines, testing::Contains("one: 4 at 2, 8 W"));
  // On each of eight leaves 31 node ports are in use. Four managers use the odd half of a module;
  // the other four leaves leave it empty. 16 modules down either way, 16 up, and the spines'.
  EXPECT_EQ(switch_modules(t), 8 * 32 + 8 * 32 / 2);
}

TEST(Bill, torus_needs_only_cables) {
  const Parts parts;
  const Topology t =
      *make_topology({.kind = TopologyKind::torus, .nodes = 24, .rails = 1, .torus = {4, 3, 2}});
  EXPECT_EQ(t.node_links, 24 + 24 + 12) << "a ring of two is one link";
  EXPECT_THAT(lines_of(fabric_bill(t, parts.all(), "ici")),
              testing::ElementsAre("cable: 60 at 1, 2 W", "nic: 24 at 0, 0 W"));
  EXPECT_EQ(diameter_links(t), 2 + 1 + 1);
  EXPECT_EQ(bisection(t) / t.spec.link_rate, 2.0 * 24 / 4);
  const Topology two =
      *make_topology({.kind = TopologyKind::torus, .nodes = 4, .rails = 1, .torus = {2, 2, 1}});
  EXPECT_EQ(two.node_links, 4);
  EXPECT_EQ(bisection(two) / two.spec.link_rate, 2);
}

TEST(Bill, bill_of_dragonfly_and_scale_up) {
  const Parts parts;
  const Topology fly = *make_topology(
      {.kind = TopologyKind::dragonfly, .nodes = 72, .rails = 1, .radix = 7, .dragonfly_h = 2});
  EXPECT_EQ(fly.dragonfly_groups, 9);
  EXPECT_THAT(
      lines_of(fabric_bill(fly, parts.all(), "net")),
      testing::ElementsAre("leaf: 36 at 10, 700 W", "cable: 72 at 1, 2 W", "cable: 54 at 1, 2 W",
                           "cable: 36 at 1, 2 W", "twin: 126 at 3, 15 W", "one: 72 at 2, 8 W",
                           "nic: 72 at 0, 0 W"));
  EXPECT_EQ(diameter_links(fly), 5);
  // 4.5 groups face 4.5 groups, with one link per pair.
  EXPECT_NEAR(bisection(fly) / fly.spec.link_rate, 4.5 * 4.5, 1e-9);
  EXPECT_NEAR(bisection_share(fly), 4.5 * 4.5 / 36, 1e-9);
  const Topology rack = *make_topology(
      {.kind = TopologyKind::scale_up, .nodes = 2, .rails = 72, .scaleup_chips = 18});
  EXPECT_EQ(bisection_share(rack), 1);
}

// Leaves with 3 ports down and 3 up, with 3, 3 and 1 nodes. One manager's port makes the first
// even: 4 + 3, 3 + 3 and 1 + 3 ports are 4, 3 and 2 modules; the spines' nine ports need five.
TEST(Bill, manager_port_is_counted_once) {
  const Topology t = *make_topology(
      {.kind = TopologyKind::fat_tree, .nodes = 7, .rails = 1, .radix = 6, .manager_ports = 1});
  ASSERT_EQ(t.manager_links, 1);
  EXPECT_EQ(switch_modules(t), 4 + 3 + 2 + 5);
  EXPECT_EQ(switch_modules(t, true), 3 * 2 + 5) << "copper down: three ports up";
  EXPECT_EQ(node_modules(t, 2), 7);
  const Topology eight = *make_topology({.nodes = 5, .rails = 7, .radix = 64});
  EXPECT_EQ(node_modules(eight, 2), 5 * 4);
  EXPECT_EQ(node_modules(eight, 7), 5);
}

// An odd link has a module of its own at either end: three links between spines and cores need two
// and two.
TEST(Bill, odd_links_take_a_module_at_each_end) {
  Topology t;
  t.spine_core_links = 3;
  EXPECT_EQ(switch_modules(t), 2 + 2);
  t.leaf_spine_links = 4;
  EXPECT_EQ(switch_modules(t), 4 + 2) << "seven at the spines";
  t.spec.rails = 5;
  t.spec.nodes = 3;
  EXPECT_EQ(node_modules(t, 2), 9);
  EXPECT_EQ(node_modules(t, 1), 15);
}

}  // namespace
}  // namespace orrery::fabric
