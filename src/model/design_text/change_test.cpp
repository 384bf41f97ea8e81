#include "model/design_text/change.h"

#include <gtest/gtest.h>

#include "core/base/units.h"

namespace orrery::design_text {
namespace {

// An amount in a fix has two digits, is never below what is needed, and not far above it.
TEST(Change, amounts_are_rounded_up) {
  for (const double wanted : {1.04e6, 1.049e6, 1.05e6, 1.051e6, 9.94e6, 9.96e6, 3.33e9, 12.4e3}) {
    const auto read = parse_quantity<Watts>(rounded_up(wanted, DimensionOf<Watts>::value));
    ASSERT_TRUE(read) << wanted;
    EXPECT_GE(read->base(), wanted);
    EXPECT_LE(read->base(), wanted * 1.1);
  }
  EXPECT_EQ(rounded_up(1.04e6, DimensionOf<Watts>::value), "1.1 MW");
  EXPECT_EQ(rounded_up(1.1e6, DimensionOf<Watts>::value), "1.1 MW");
}

// 12.83 TB rounds to 13, 12.43 to 12, which is too little: half a digit more is 13.
TEST(Change, amounts_have_two_digits_and_are_never_too_small) {
  EXPECT_EQ(at_least(terabytes(12.83)), "13 TB");
  EXPECT_EQ(at_least(terabytes(12.43)), "13 TB");
  EXPECT_EQ(at_least(terabytes(12)), "12 TB");
  EXPECT_EQ(at_least(terabytes(1.04)), "1.1 TB");
  EXPECT_EQ(at_least(watts(0)), "0 W");
}

TEST(Change, names_are_quoted_if_yaml_would_misread_them) {
  EXPECT_EQ(name_text("plain-1"), "plain-1");
  EXPECT_EQ(name_text("a: b"), "\"a: b\"");
  EXPECT_EQ(name_text(""), "\"\"");
  EXPECT_EQ(list_text(std::vector<std::string>{"node-nvme", "a, b", "hot"}),
            "[node-nvme, \"a, b\", hot]");
  EXPECT_EQ(list_text({}), "[]");
}

}  // namespace
}  // namespace orrery::design_text
