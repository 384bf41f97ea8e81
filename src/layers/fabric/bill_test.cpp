#include "layers/fabric/bill.h"

#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"

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

}  // namespace
}  // namespace orrery::fabric
