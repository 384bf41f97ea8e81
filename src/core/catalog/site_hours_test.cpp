#include "core/catalog/site_hours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string day_of(const std::string& columns, const std::string& row, int rows = 24) {
  std::string text = columns + "\n";
  for (int i = 0; i < rows; ++i) text += row + "\n";
  return text;
}

std::string code_of(const std::string& text) {
  const auto hours = read_site_hours(text, "h.csv");
  return hours ? "" : hours.error().front().code;
}

TEST(SiteHours, known_columns_are_read) {
  const auto hours =
      read_site_hours(day_of("time,carbon_g_per_kwh,dry_bulb_c", "2025-01-01,360,-3.5"), "h.csv");
  ASSERT_TRUE(hours);
  EXPECT_EQ(hours->size(), 24U);
  EXPECT_DOUBLE_EQ(hours->carbon[23].base(), 360 / 3.6e6);
  EXPECT_EQ(hours->dry_c[0], -3.5);
  EXPECT_TRUE(hours->pue.empty());
}

TEST(SiteHours, unusable_files_are_refused) {
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

// A file with a thousand bad rows reports five of them.
TEST(SiteHours, only_the_first_errors_are_reported) {
  const auto hours = read_site_hours(day_of("pue", "none", 240), "h.csv");
  ASSERT_FALSE(hours);
  EXPECT_EQ(hours.error().size(), 5U);
}

std::string hours_of(const std::string& column, const std::string& value, int rows) {
  std::string text = column + "\n";
  for (int i = 0; i < rows; ++i) text += value + "\n";
  return text;
}

TEST(SiteHours, values_are_bounded) {
  const auto reads = [](const char* column, const char* value) {
    return read_site_hours(hours_of(column, value, 24), "h.csv").has_value();
  };
  EXPECT_TRUE(reads("carbon_g_per_kwh", "2000"));
  EXPECT_FALSE(reads("carbon_g_per_kwh", "2000.1"));
  EXPECT_TRUE(reads("pue", "1"));
  EXPECT_TRUE(reads("pue", "5"));
  EXPECT_FALSE(reads("pue", "5.01"));
  EXPECT_TRUE(reads("dry_bulb_c", "-90"));
  EXPECT_FALSE(reads("dry_bulb_c", "-90.1"));
  EXPECT_TRUE(reads("dry_bulb_c", "60"));
  EXPECT_FALSE(reads("dry_bulb_c", "60.1"));
}

TEST(SiteHours, errors_name_the_line_and_the_range) {
  const auto carbon = read_site_hours(hours_of("carbon_g_per_kwh", "2345", 24), "h.csv");
  ASSERT_FALSE(carbon);
  EXPECT_THAT(carbon.error()[0].what,
              AllOf(HasSubstr("2"), HasSubstr("`2345`"), HasSubstr("carbon_g_per_kwh")));
  EXPECT_THAT(carbon.error()[0].fix, AllOf(HasSubstr("0"), HasSubstr("2000")));
  EXPECT_THAT(carbon.error()[4].what,
              AllOf(HasSubstr("6"), HasSubstr("`2345`"), HasSubstr("carbon_g_per_kwh")));
  const auto cold = read_site_hours(hours_of("dry_bulb_c", "-91", 24), "h.csv");
  EXPECT_THAT(cold.error()[0].fix, AllOf(HasSubstr("-90"), HasSubstr("60")));
  const auto none = read_site_hours(hours_of("x", "1", 24), "h.csv");
  EXPECT_THAT(none.error()[0].fix, AllOf(HasSubstr("carbon_g_per_kwh"), HasSubstr("dry_bulb_c")));
}

// Ten years with leap days are 87,672 hours, 3,653 days; this is one day more.
TEST(SiteHours, more_than_ten_years_are_refused) {
  const auto more = read_site_hours(hours_of("pue", "1.2", 87'696), "h.csv");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error()[0].code, "hours.days");
  EXPECT_EQ(more.error()[0].what, "the file has 87696 rows");
  EXPECT_FALSE(read_site_hours(hours_of("pue", "1.2", 12), "h.csv"));
}

// 3,653 days of 24 hours.
TEST(SiteHours, ten_years_of_hours_are_read) {
  std::string text = "pue\n";
  for (int i = 0; i < 87'672; ++i) text += "1.2\n";
  const auto hours = read_site_hours(text, "h.csv");
  ASSERT_TRUE(hours);
  EXPECT_EQ(hours->size(), 87'672U);
}

}  // namespace
}  // namespace orrery::catalog
