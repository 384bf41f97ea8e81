#include "core/catalog/bill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery::catalog {
namespace {

using testing::ElementsAre;

TEST(Bill, counts_power_and_price) {
  Bill bill;
  bill.lines.push_back({.section = "compute fabric",
                        .item = "leaf switch",
                        .part_id = "qm9700",
                        .count = 32,
                        .unit_price = PriceRange{usd(25'000), usd(45'000)},
                        .unit_power = watts(747),
                        .reference = "switches/qm9700"});
  bill.lines.push_back({.section = "compute fabric",
                        .item = "cable",
                        .part_id = "",
                        .count = 10,
                        .unit_price = std::nullopt,
                        .unit_power = watts(0),
                        .reference = ""});
  EXPECT_EQ(bill.count("compute fabric", "leaf switch"), 32);
  EXPECT_EQ(bill.count("storage", "leaf switch"), 0);
  EXPECT_DOUBLE_EQ(bill.power() / watts(1), 32 * 747);
  EXPECT_DOUBLE_EQ(bill.price().high / usd(1), 1'440'000);
  EXPECT_EQ(bill.unpriced(), std::vector<std::string>{"compute fabric: cable"});
}

// 3 x (2 to 5) and 7 x (11 to 13) dollars: 83 to 106; 3 x 17 + 7 x 19 watts: 184.
TEST(Bill, lines_add_up_by_count) {
  Bill bill;
  bill.lines = {
      {.section = "a",
       .item = "x",
       .count = 3,
       .unit_price = PriceRange{usd(2), usd(5)},
       .unit_power = watts(17)},
      {.section = "a",
       .item = "y",
       .count = 7,
       .unit_price = PriceRange{usd(11), usd(13)},
       .unit_power = watts(19)},
      {.section = "b", .item = "x", .count = 0.5},
      {.section = "b", .item = "z", .count = 0},
      {.section = "a", .item = "x", .count = 4, .unit_price = PriceRange{}},
  };
  EXPECT_EQ(bill.price().low, usd(83));
  EXPECT_EQ(bill.price().high, usd(106));
  EXPECT_EQ(bill.power(), watts(184));
  EXPECT_EQ(bill.count("a", "x"), 7);
  EXPECT_EQ(bill.count("b", "x"), 0.5);
  EXPECT_EQ(bill.count("b", "y"), 0);
  EXPECT_THAT(bill.unpriced(), ElementsAre("b: x")) << "of z there is none to pay";
}

}  // namespace
}  // namespace orrery::catalog
