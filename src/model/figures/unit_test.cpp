// How numbers with a unit are shown, and what a JSON key ends in.
#include "model/figures/unit.h"

#include <gtest/gtest.h>

namespace orrery::figures {
namespace {

TEST(Units, are_shown_as_a_person_reads_them) {
  EXPECT_EQ(show(0.412, Unit::ratio), "41.2 %");
  EXPECT_EQ(show(0, Unit::ratio), "0 %");
  EXPECT_EQ(show(0.9e-6, Unit::ratio), "under 0.0001 %");
  EXPECT_EQ(show(1.1e-6, Unit::ratio), "0.00011 %");
  EXPECT_EQ(show(1.25, Unit::factor), "1.25x");
  EXPECT_EQ(show(1016, Unit::count), "1,016");
  EXPECT_EQ(show(999.4, Unit::count), "999");
  EXPECT_EQ(show(1000.4, Unit::count), "1,000");
  EXPECT_EQ(show(1234567.5, Unit::count), "1.23M");
  EXPECT_EQ(show(1234567, Unit::count), "1,234,567");
  EXPECT_EQ(show(12345678, Unit::count), "12.3M");
  EXPECT_EQ(show(999.4, Unit::tokens_per_s), "999 tokens/s");
  EXPECT_EQ(show(1234.4, Unit::tokens_per_s), "1,234 tokens/s");
  EXPECT_EQ(show(1234567, Unit::tokens_per_s), "1.23M tokens/s");
  EXPECT_EQ(show(2e6, Unit::usd_per_year), "2 MUSD/y");
  EXPECT_EQ(show(2.346, Unit::usd_per_hour), "2.35 USD/h");
  EXPECT_EQ(show_interval({.value = 1, .low = 1, .high = 1}, Unit::count), "");
  EXPECT_EQ(show_interval({.value = 2, .low = 1, .high = 3}, Unit::seconds), "1 s .. 3 s");
}

TEST(Units, every_unit_has_its_suffix_and_its_text) {
  struct Row {
    Unit unit;
    const char* suffix;
    double value;
    const char* text;
  };
  const Row rows[] = {
      {Unit::ratio, "_ratio", 0.5, "50 %"},
      {Unit::factor, "_factor", 2.5, "2.5x"},
      {Unit::count, "", 12, "12"},
      {Unit::seconds, "_s", 90, "1.5 min"},
      {Unit::bytes, "_bytes", 2e9, "2 GB"},
      {Unit::bytes_per_s, "_bytes_per_s", 2e9, "2 GB/s"},
      {Unit::flops_per_s, "_flops_per_s", 2e12, "2 TFLOP/s"},
      {Unit::watts, "_w", 2e3, "2 kW"},
      {Unit::joules, "_j", 7.2e6, "2 kWh"},
      {Unit::usd, "_usd", 2e3, "2 kUSD"},
      {Unit::usd_per_year, "_usd_per_year", 2e3, "2 kUSD/y"},
      {Unit::usd_per_hour, "_usd_per_hour", 2.5, "2.5 USD/h"},
      {Unit::usd_per_mtoken, "_usd_per_mtoken", 2.5, "2.5 USD/Mtoken"},
      {Unit::tokens_per_s, "_tokens_per_s", 2.5, "2.5 tokens/s"},
      {Unit::grams_co2, "_g_co2", 2e3, "2 kg CO2"},
      {Unit::litres_per_min, "_l_per_min", 2.5, "2.5 L/min"},
      {Unit::joules_per_token, "_j_per_token", 2.5, "2.5 J/token"},
      {Unit::per_second, "_per_s", 1234.5, "1,235 /s"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(json_suffix(row.unit), row.suffix);
    EXPECT_EQ(show(row.value, row.unit), row.text);
  }
  EXPECT_EQ(show(-1e-7, Unit::ratio), "0 %");
  EXPECT_EQ(show(1e-6, Unit::ratio), "0.0001 %");
  EXPECT_EQ(show(1e6, Unit::per_second), "1M /s");
  EXPECT_EQ(show(1000, Unit::per_second), "1,000 /s");
  EXPECT_EQ(show(1e7, Unit::count), "10M");
  EXPECT_EQ(show(1e6 + 0.5, Unit::count), "1M");
}

}  // namespace
}  // namespace orrery::figures
