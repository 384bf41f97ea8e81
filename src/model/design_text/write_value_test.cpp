#include "model/design_text/write_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::design_text {
namespace {

// A field's own unit is used if it needs about as few digits as any.
TEST(WriteValue, values_are_written_in_the_unit_of_their_field) {
  const design::Field rate{.doc = "", .unit = "Gb/s"};
  EXPECT_EQ(quantity_text(5e10, DimensionOf<BytesPerSecond>::value, rate), "400 Gb/s");
  EXPECT_EQ(quantity_text(1e12, DimensionOf<BytesPerSecond>::value, rate), "1 TB/s")
      << "8000 Gb/s has more digits";
  EXPECT_EQ(quantity_text(1.25e9, DimensionOf<BytesPerSecond>::value, rate), "10 Gb/s");
  EXPECT_EQ(quantity_text(2, DimensionOf<Seconds>::value, {.doc = "", .unit = "no unit"}), "2 s");
  const design::Field plain{.doc = ""};
  EXPECT_EQ(number_text(2e12, plain), "2T");
  EXPECT_EQ(number_text(1.5e9, plain), "1.5B");
  EXPECT_EQ(number_text(3e6, plain), "3M");
  EXPECT_EQ(number_text(1e6, plain), "1M");
  EXPECT_EQ(number_text(999'999, plain), "999999");
  EXPECT_EQ(number_text(1'234'567, plain), "1234567") << "1.234567M is no shorter";
  EXPECT_EQ(number_text(27.5, {.doc = "", .unit = "C"}), "27.5 C");
}

}  // namespace
}  // namespace orrery::design_text
