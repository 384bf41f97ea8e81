#include "fabric/bill.h"

#include <gtest/gtest.h>

#include "base/csv.h"
#include "catalog/embedded_table.h"

namespace orrery::fabric {
namespace {

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

  const int nodes_ = 4 * 32 - 1;  // one slot is the fabric manager's
  const Topology compute_ =
      *make_topology({.nodes = nodes_, .rails = 8, .radix = 64, .manager_ports = 4});
  const StorageNetwork storage_ =
      storage_network({.nodes = nodes_, .scalable_units = 4, .storage_ports = 48});
};

TEST_F(H100Bill, ComputeNetwork) {
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

TEST_F(H100Bill, StorageNetwork) {
  EXPECT_EQ(storage_.switches(), published("switch", "QM9700 storage"));
  EXPECT_EQ(storage_.cables(), published("storage cables", "NDR 400G"));
  EXPECT_EQ(storage_.node_links, 254);
  EXPECT_EQ(storage_.leaf_spine_links, 240);
  EXPECT_EQ(storage_.storage_links, published("storage cables", "NDR 2x200G to storage"));
  EXPECT_EQ(storage_.switch_modules, published("storage optics", "switch transceivers"));
  EXPECT_EQ(storage_.node_modules, published("storage optics", "DGX QSFP112"));
}

TEST_F(H100Bill, ManagementNetworksAndRacks) {
  const int compute_racks = (nodes_ + 3) / 4, other_racks = 6;
  EXPECT_EQ(compute_racks + other_racks, published("racks", "rack"));
  const int pdus = 3 * compute_racks + 2 * other_racks;
  EXPECT_EQ(pdus, published("oob", "Cat5e PDU"));
  EXPECT_EQ(3 * compute_racks, published("pdu", "rack PDU type A"));
  EXPECT_EQ(2 * other_racks, published("pdu", "rack PDU type B"));
  const auto fabric_switches = static_cast<int>(compute_.switches()) + storage_.switches();
  EXPECT_EQ(fabric_switches, published("oob", "Cat5e IB switches"));
  const int appliances = 4 + 2 * kManagerAppliances;
  EXPECT_EQ(appliances, published("oob", "Cat5e mgmt+UFM"));
  const ManagementNetwork n = management_network({.nodes = nodes_,
                                                  .fabric_switches = fabric_switches,
                                                  .appliances = appliances,
                                                  .pdus = pdus});
  EXPECT_EQ(n.inband_switches(), published("switch", "SN4600C in-band"));
  EXPECT_EQ(n.inband_node_cables, published("in-band", "200G AOC to DGX"));
  EXPECT_EQ(n.inband_other_cables, published("in-band", "100G AOC mgmt / NFS / leaf-core"));
  EXPECT_EQ(n.outband_drops, 317);
  EXPECT_EQ(n.outband_switches, published("switch", "SN2201 OOB"));
  EXPECT_EQ(n.outband_uplinks, published("oob", "100G uplinks"));
}

TEST(FabricBill, PowerIsSwitchesPlusOptics) {
  const catalog::Switch qm9700{.id = "qm9700",
                               .typical_power = watts(747),
                               .price = catalog::PriceRange{usd(25000), usd(45000)}};
  const catalog::Optic twin{.id = "800g-2xdr4",
                            .power_per_end = watts(15),
                            .price = catalog::PriceRange{usd(1000), usd(1400)}};
  const Topology t = *make_topology({.nodes = 127, .rails = 8, .radix = 64, .manager_ports = 4});
  const catalog::Bill bill =
      fabric_bill(t, {.leaf = &qm9700, .switch_module = &twin}, "compute fabric");
  // 32 modules in a full switch draw 480 W, the order of the switch itself.
  EXPECT_DOUBLE_EQ(bill.power().base(), 48 * 747.0 + 1536 * 15.0);
  EXPECT_DOUBLE_EQ(bill.price().low.base(), 48 * 25000.0 + 1536 * 1000.0);
  EXPECT_DOUBLE_EQ(bill.price().high.base(), 48 * 45000.0 + 1536 * 1400.0);
}

TEST(FabricBill, CopperNodeLinksNeedNoModules) {
  const Topology t = *make_topology({.nodes = 128, .rails = 8, .radix = 64});
  EXPECT_EQ(switch_modules(t, false) - switch_modules(t, true), 1024 / 2);
}

// Every port of a balanced dragonfly's routers is used: 4 nodes, 7 in the group, 4 out of it.
TEST(FabricBill, DragonflyLinksHaveAModuleAtBothEnds) {
  const Topology t = *make_topology(
      {.kind = catalog::TopologyKind::dragonfly, .nodes = 1056, .rails = 1, .radix = 15});
  EXPECT_EQ(switch_modules(t, false), 264 * 15 / 2);
}

TEST(FabricBill, Nvl72HasNineTraysARack) {
  const Topology t = *make_topology(
      {.kind = catalog::TopologyKind::scale_up, .nodes = 8, .rails = 72, .scaleup_chips = 18});
  EXPECT_EQ(scale_up_bill(t, nullptr, 2).count("scale-up fabric", "switch tray"), 72);
}

}  // namespace
}  // namespace orrery::fabric
