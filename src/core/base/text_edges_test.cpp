// Texts and numbers at their edges: what the readers and writers of base/ do with what is rare.
#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "core/base/random.h"
#include "core/base/text.h"

namespace orrery {
namespace {

TEST(Random, a_bound_near_the_whole_range_has_no_favourites) {
  // 2^64 = 4/3 of the bound: draws taken as they come would fall below 2^62 half of the time.
  const std::uint64_t bound = std::uint64_t{3} << 62;
  RandomStream random(7, "bound");
  int low = 0;
  for (int i = 0; i < 9000; ++i) low += random.below(bound) < (std::uint64_t{1} << 62);
  EXPECT_NEAR(low / 9000.0, 1.0 / 3, 0.02);
}

TEST(Text, digits_stay_plain_up_to_a_thousand_million_million) {
  EXPECT_EQ(significant(123456, 3), "123000");
  EXPECT_EQ(significant(9.87654e14, 3), "988000000000000");
  EXPECT_EQ(significant(1.5e15, 3), "1.5e+15");
  EXPECT_EQ(significant(-2500, 2), "-2500");
}

TEST(Csv, lines_may_end_as_on_windows) {
  const auto t = CsvTable::parse("a,b\r\n1,two\r\n3,\"four\"\r\n", "x.csv");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->rows().size(), 2U);
  EXPECT_EQ(t->columns()[1], "b");
  EXPECT_EQ(t->text(t->rows()[0], "b"), "two");
  EXPECT_EQ(t->text(t->rows()[1], "b"), "four");
}

TEST(Json, control_characters_are_escaped) {
  EXPECT_EQ(json_escaped(std::string("a\x01z\x1f\n")), "\"a\\u0001z\\u001f\\n\"");
  EXPECT_EQ(json_escaped(" "), "\" \"");
}

}  // namespace
}  // namespace orrery
