#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/checks.h"
#include "core/catalog/checks_fixture.h"
#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChecksNodes, node_references_are_checked) {
  EXPECT_THAT(node_with([](Node&) {}), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.accelerators = 0; }), ElementsAre("catalog.reference"));
  EXPECT_THAT(node_with([](Node& n) { n.accelerators = 0, n.accelerator_id = ""; }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.accelerator_id = "y"; }), ElementsAre("catalog.reference"));
  const std::string hosts = "catalog.node-hosts";
  EXPECT_THAT(node_with([](Node& n) { n.accelerators_per_host = 3; }), ElementsAre(hosts));
  EXPECT_THAT(node_with([](Node& n) { n.accelerators_per_host = 0; }), ElementsAre(hosts));
  EXPECT_THAT(node_with([](Node& n) { n.accelerators_per_host = 1; }), IsEmpty());
}

TEST(ChecksNodes, node_power_values_must_rise) {
  EXPECT_THAT(node_with([](Node& n) {
                n.max_power = kilowatts(5.6);  // 8 x 700 W
                n.typical_train_power = kilowatts(5.5);
              }),
              IsEmpty());
  EXPECT_THAT(node_with([](Node& n) {
                n.max_power = kilowatts(5.5);
                n.typical_train_power = kilowatts(5.4);
              }),
              ElementsAre("catalog.node-tdp"));
  const std::string order = "catalog.power-order";
  EXPECT_THAT(node_with([](Node& n) { n.typical_train_power = kilowatts(10); }),
              ElementsAre(order));
  EXPECT_THAT(node_with([](Node& n) { n.typical_train_power = kilowatts(9.99); }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.idle_power = kilowatts(8); }), ElementsAre(order));
  EXPECT_THAT(node_with([](Node& n) { n.idle_power = kilowatts(7.99); }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.psu = "", n.psu_capacity = kilowatts(10); }), IsEmpty());
  EXPECT_THAT(node_with([](Node& n) { n.psu = "", n.psu_capacity = kilowatts(9.9); }),
              ElementsAre("catalog.node-psu"));
}

TEST(ChecksNodes, power_supplies_add_up_and_cover_failures) {
  const auto psu = [](const char* text, double kw, const char* spare, double draws = 10) {
    return node_with([&](Node& n) {
      n.psu = text, n.psu_capacity = kilowatts(kw), n.psu_redundancy = spare;
      n.max_power = kilowatts(draws), n.rack_units = 20;
    });
  };
  EXPECT_THAT(psu("6x3.3", 19.99, "4+2"), IsEmpty()) << "within a per cent";
  EXPECT_THAT(psu("6x3.3", 20.01, "4+2"), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(psu("6x3.3", 19.8, "4+3"), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(psu("6x3.3", 19.8, "4+2", 13.2), IsEmpty()) << "4 x 3.3";
  EXPECT_THAT(psu("6x3.3", 19.8, "4+2", 13.3), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(psu("busbar", 12, "4+2"), IsEmpty());
  EXPECT_THAT(psu("0x3.3", 12, "4+2"), IsEmpty()) << "no count";
  EXPECT_THAT(psu("1001x3.3", 12, "4+2"), IsEmpty());
  EXPECT_EQ(psu("1000x3.3", 12, "4+2").size(), 2U);
  EXPECT_THAT(psu("6x3.3", 19.8, "n+1"), IsEmpty());
  EXPECT_EQ(psu("6x3.3", 19.8, "6+1").size(), 1U);
  EXPECT_THAT(psu("6x3.3", 19.8, "6+0"), IsEmpty());
  EXPECT_THAT(psu("6x3.3", 19.8, "0+6"), IsEmpty()) << "nothing need live: not a redundancy";
  EXPECT_THAT(psu("6x3.3", 19.8, "7+-1"), IsEmpty());
  EXPECT_THAT(psu("1x10", 10, "1+0"), IsEmpty());
}

// At most 2 kW per unit with air, 8 with liquid; 1 to 60 units.
TEST(ChecksNodes, node_density_is_bounded) {
  const auto dense = [](int units, double kw, const char* cooling) {
    return node_with([&](Node& n) {
      n.psu = "", n.psu_capacity.reset();
      n.rack_units = units, n.max_power = kilowatts(kw), n.cooling = cooling;
    });
  };
  EXPECT_THAT(dense(8, 16, "air"), IsEmpty());
  EXPECT_THAT(dense(8, 16.1, "air"), ElementsAre("catalog.node-density"));
  EXPECT_THAT(dense(8, 64, "liquid"), IsEmpty());
  EXPECT_THAT(dense(8, 64.1, "liquid"), ElementsAre("catalog.node-density"));
  EXPECT_THAT(dense(60, 10, "air"), IsEmpty());
  EXPECT_THAT(dense(61, 10, "air"), ElementsAre("catalog.node-density"));
  EXPECT_THAT(dense(0, 10, "air"), ElementsAre("catalog.node-density"));
  EXPECT_THAT(dense(1, 8.1, "liquid").size(), 1U);
}

std::vector<std::string> codes_of_supplies(const char* psu, double kw, const char* redundancy) {
  Catalog c;
  c.nodes = {{.id = "n",
              .accelerators = 0,
              .max_power = kilowatts(1),
              .psu = psu,
              .psu_capacity = kilowatts(kw),
              .psu_redundancy = redundancy}};
  Diagnostics faults;
  check_nodes(c, faults);
  std::vector<std::string> said;
  for (const Diagnostic& d : faults) said.push_back(d.code);
  return said;
}

TEST(ChecksNodes, power_supply_counts_are_read) {
  EXPECT_THAT(codes_of_supplies("1x3", 3, "1+0"), IsEmpty());
  EXPECT_THAT(codes_of_supplies("1x3", 4, "1+0"), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(codes_of_supplies("1x3", 3, "1+1"), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(codes_of_supplies("1000x3", 4, ""), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(codes_of_supplies("1001x3", 4, ""), IsEmpty());
  EXPECT_THAT(codes_of_supplies("0x3", 4, ""), IsEmpty());
  EXPECT_THAT(codes_of_supplies("-1x3", 4, ""), IsEmpty());
  EXPECT_THAT(codes_of_supplies("x3", 4, ""), IsEmpty());
  EXPECT_THAT(codes_of_supplies("2xbig", 4, ""), IsEmpty());
}

TEST(ChecksNodes, power_supply_redundancy_is_checked) {
  EXPECT_THAT(codes_of_supplies("2x3", 6, "2+0"), IsEmpty());
  EXPECT_THAT(codes_of_supplies("2x3", 6, "1+1"), IsEmpty());
  EXPECT_THAT(codes_of_supplies("2x3", 6, "1+2"), ElementsAre("catalog.node-psu"));
  EXPECT_THAT(codes_of_supplies("2x3", 6, "1000+1000"), ElementsAre("catalog.node-psu"));
  for (const char* none : {"0+3", "1001+1", "1+1001", "1+-1", "+2", "2+", "2", "n+1"}) {
    EXPECT_THAT(codes_of_supplies("2x3", 6, none), IsEmpty()) << none;
  }
}

}  // namespace
}  // namespace orrery::catalog
