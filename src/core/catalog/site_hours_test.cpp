#include "core/catalog/site_hours.h"

#include <gtest/gtest.h>

namespace orrery::catalog {
namespace {

std::string day_of(const std::string& columns, const std::string& row, int rows = 24) {
  std::string text = columns + "\n";
  for (int i = 0; i < rows; ++i) text += row + "\n";
  return text;
}

std::string code_of(const std::string& text) {
  const auto hours = read_site_hours(text, "h.csv");
  return hours ? "" : hours.error().front().code;
}

TEST(SiteHours, are_read_by_the_columns_that_are_known) {
  const auto hours =
      read_site_hours(day_of("time,carbon_g_per_kwh,dry_bulb_c", "2025-01-01,360,-3.5"), "h.csv");
  ASSERT_TRUE(hours);
  EXPECT_EQ(hours->size(), 24U);
  EXPECT_DOUBLE_EQ(hours->carbon[23].base(), 360 / 3.6e6);
  EXPECT_EQ(hours->dry_c[0], -3.5);
  EXPECT_TRUE(hours->pue.empty());
}

TEST(SiteHours, that_cannot_be_used_are_refused) {
  EXPECT_EQ(code_of(day_of("pue", "1.2")), "");
  EXPECT_EQ(code_of(day_of("pue", "1.2", 48)), "");
  EXPECT_EQ(code_of(day_of("pue", "1.2", 25)), "hours.days");
  EXPECT_EQ(code_of(day_of("pue", "1.2", 0)), "hours.days");
  EXPECT_EQ(code_of(day_of("carbon", "300")), "hours.column");
  EXPECT_EQ(code_of(day_of("pue,dry_bulb_c", "1.2,20")), "hours.column");
  EXPECT_EQ(code_of(day_of("pue", "0.9")), "hours.value");
  EXPECT_EQ(code_of(day_of("carbon_g_per_kwh", "-1")), "hours.value");
  EXPECT_EQ(code_of(day_of("carbon_g_per_kwh", "0")), "");
  EXPECT_EQ(code_of(day_of("day,carbon_g_per_kwh", "monday,")), "hours.value");
  EXPECT_EQ(code_of(day_of("dry_bulb_c", "hot")), "hours.value");
  EXPECT_EQ(code_of(""), "csv.empty");
}

// A file of a thousand bad rows says so five times.
TEST(SiteHours, say_their_first_faults_only) {
  const auto hours = read_site_hours(day_of("pue", "none", 240), "h.csv");
  ASSERT_FALSE(hours);
  EXPECT_EQ(hours.error().size(), 5U);
}

}  // namespace
}  // namespace orrery::catalog
