// Units: worked examples, refused texts, and the property that printing and parsing round-trip.
#include "core/base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "core/base/random.h"
#include "core/base/simplex.h"

namespace orrery {
namespace {

TEST(Quantity, carries_its_unit_through_arithmetic) {
  const Seconds t = gigabytes(5) / gbytes_per_s(2);
  EXPECT_DOUBLE_EQ(t / seconds(1), 2.5);
  const Joules e = kilowatts(2) * hours(3);
  EXPECT_DOUBLE_EQ(e / kwh(1), 6);
  const Usd cost = e * usd_per_kwh(0.1);
  EXPECT_DOUBLE_EQ(cost.base(), 0.6);
  EXPECT_DOUBLE_EQ(gbits_per_s(400) / gbytes_per_s(1), 50);
}

TEST(Units, reads_what_a_design_says) {
  EXPECT_EQ(parse_quantity<BytesPerSecond>("40 GB/s"), gbytes_per_s(40));
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 Gb/s"), gbytes_per_s(50));
  EXPECT_EQ(parse_quantity<Bytes>("1.5GiB"), gib(1.5));
  EXPECT_EQ(parse_quantity<Watts>("2 MW"), megawatts(2));
  EXPECT_EQ(parse_quantity<Seconds>("500 ms"), seconds(0.5));
  EXPECT_EQ(parse_quantity<Seconds>("5 y"), years(5));
  EXPECT_EQ(parse_quantity<UsdPerJoule>("0.08 USD/kWh"), usd_per_kwh(0.08));
  EXPECT_DOUBLE_EQ(parse_quantity<UsdPerSecond>("12 MUSD/y")->base() * 31536000.0, 12e6);
  EXPECT_EQ(parse_quantity<PerSecond>("40 /s"), PerSecond(40));
  EXPECT_EQ(parse_quantity<Bytes>("3e9 B"), gigabytes(3));
  EXPECT_EQ(parse_quantity<Bytes>("3 EB"), Bytes(3e18));
  EXPECT_EQ(parse_quantity<Bytes>("3EB"), Bytes(3e18));
}

TEST(Units, every_fault_is_named) {
  EXPECT_EQ(parse_quantity<Watts>("44").error(), UnitFault::no_unit);
  EXPECT_EQ(parse_quantity<Watts>("44 kV").error(), UnitFault::unknown_unit);
  EXPECT_EQ(parse_quantity<Watts>("44 GB").error(), UnitFault::wrong_dimension);
  EXPECT_EQ(parse_quantity<Watts>("many").error(), UnitFault::not_a_number);
  EXPECT_EQ(parse_quantity<Bytes>("1e308 EB").error(), UnitFault::out_of_range);
  EXPECT_EQ(parse_quantity<Watts>("1 KiW").error(), UnitFault::unknown_unit);
  EXPECT_EQ(parse_quantity<Watts>(std::string(10'000, '9')).error(), UnitFault::not_a_number);
}

TEST(Units, reads_counts) {
  EXPECT_EQ(parse_count("2T"), 2e12);
  EXPECT_EQ(parse_count("1024"), 1024);
  EXPECT_EQ(parse_count("1.5 B"), 1.5e9);
  EXPECT_FALSE(parse_count("2X"));
  EXPECT_FALSE(parse_count("T"));
}

TEST(Units, prints_for_people) {
  EXPECT_EQ(brief(gigabytes(1016.4)), "1.02 TB");
  EXPECT_EQ(brief(kilowatts(10.2)), "10.2 kW");
  EXPECT_EQ(brief(seconds(0)), "0 s");
  EXPECT_EQ(brief(hours(1)), "1 h");
  EXPECT_EQ(brief(usd_per_kwh(0.08)), "0.08 USD/kWh");
  EXPECT_EQ(count_to_brief(2e12), "2T");
}

template <class Q>
void expect_round_trip(double base_units) {
  const std::string text = to_text(Q(base_units));
  const auto again = parse_quantity<Q>(text);
  ASSERT_TRUE(again) << text;
  EXPECT_EQ(again->base(), base_units) << text;
}

TEST(Units, exact_text_round_trips_bit_for_bit) {
  RandomStream r(1, "units");
  for (int i = 0; i < 20'000; ++i) {
    const double magnitude = std::pow(10.0, r.uniform() * 24 - 6);
    const double v = (r.uniform() - 0.2) * magnitude;
    expect_round_trip<Bytes>(v);
    expect_round_trip<BytesPerSecond>(v);
    expect_round_trip<Seconds>(v);
    expect_round_trip<Watts>(v);
    expect_round_trip<Joules>(v);
    expect_round_trip<Usd>(v);
    expect_round_trip<FlopsPerSecond>(v);
    expect_round_trip<PerSecond>(v);
  }
}

// Tariffs are divided by 3.6e6 when read; the printer must find a text that reads back identically.
TEST(Units, tariffs_round_trip) {
  for (int cents = 1; cents < 1000; ++cents) {
    expect_round_trip<UsdPerJoule>(usd_per_kwh(cents / 100.0).base());
  }
}

// A bare number in disguise and a unit that no quantity has: both must be refused.
TEST(Units, cancelled_and_overdivided_units_are_refused) {
  EXPECT_FALSE(parse_any_quantity("4 s/s"));
  EXPECT_FALSE(parse_any_quantity("20/s/s/s/s"));
  EXPECT_FALSE(parse_any_quantity("1 W/GiB/s/s"));  // J/B/s/s/s
  EXPECT_TRUE(parse_any_quantity("20 USD/GB/s/s"));
}

// Only bits and bytes have binary prefixes, and only some units take a prefix at all.
TEST(Units, only_some_units_take_a_prefix) {
  for (const char* binary : {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}) {
    for (const char* unit : {"s", "FLOP", "J", "Wh", "W", "USD", "g", "K", "min"}) {
      EXPECT_EQ(parse_any_quantity(std::string("3 ") + binary + unit).error(),
                UnitFault::unknown_unit)
          << binary << unit;
    }
    EXPECT_TRUE(parse_any_quantity(std::string("3 ") + binary + "B")) << binary;
    EXPECT_TRUE(parse_any_quantity(std::string("3 ") + binary + "bit")) << binary;
  }
  for (const char* unit : {"week", "month", "d", "h", "y", "t", "K"}) {
    EXPECT_FALSE(parse_any_quantity(std::string("3 G") + unit)) << unit;
  }
  for (const char* decimal : {"n", "u", "m", "k", "M", "G", "T", "P", "E"}) {
    for (const char* unit : {"s", "FLOP", "J", "Wh", "W", "USD", "g", "B", "b", "bit"}) {
      const std::string text = std::string("3 ") + decimal + unit;
      EXPECT_TRUE(parse_any_quantity(text)) << text;
    }
  }
}

TEST(Units, factories_convert_to_base_units) {
  EXPECT_EQ(bytes(3).base(), 3);
  EXPECT_EQ(kilobytes(3).base(), 3e3);
  EXPECT_EQ(megabytes(3).base(), 3e6);
  EXPECT_EQ(gigabytes(3).base(), 3e9);
  EXPECT_EQ(terabytes(3).base(), 3e12);
  EXPECT_EQ(petabytes(3).base(), 3e15);
  EXPECT_EQ(kib(3).base(), 3072);
  EXPECT_EQ(mib(3).base(), 3145728);
  EXPECT_EQ(gib(3).base(), 3221225472.0);
  EXPECT_EQ(gbytes_per_s(3).base(), 3e9);
  EXPECT_EQ(gbits_per_s(24).base(), 3e9);
  EXPECT_EQ(seconds(3).base(), 3);
  EXPECT_DOUBLE_EQ(milliseconds(3).base(), 3e-3);
  EXPECT_DOUBLE_EQ(microseconds(3).base(), 3e-6);
  EXPECT_DOUBLE_EQ(nanoseconds(3).base(), 3e-9);
  EXPECT_EQ(minutes(3).base(), 180);
  EXPECT_EQ(hours(3).base(), 10800);
  EXPECT_EQ(days(3).base(), 259200);
  EXPECT_EQ(weeks(3).base(), 1814400);
  EXPECT_EQ(months(12), years(1));
  EXPECT_EQ(years(2).base(), 2.0 * 365 * 86400);
  EXPECT_EQ(flops(3).base(), 3);
  EXPECT_EQ(tflops_per_s(3).base(), 3e12);
  EXPECT_EQ(watts(3).base(), 3);
  EXPECT_EQ(kilowatts(3).base(), 3e3);
  EXPECT_EQ(megawatts(3).base(), 3e6);
  EXPECT_EQ(joules(3).base(), 3);
  EXPECT_EQ(kwh(3).base(), 3 * 3.6e6);
  EXPECT_EQ(mwh(3).base(), 3 * 3.6e9);
  EXPECT_EQ(usd(3).base(), 3);
  EXPECT_EQ(kilo_usd(3).base(), 3e3);
  EXPECT_EQ(mega_usd(3).base(), 3e6);
  EXPECT_EQ(usd_per_kwh(7.2).base(), 7.2 / 3.6e6);
  EXPECT_EQ(usd_per_hour(7.2).base(), 0.002);
  EXPECT_EQ(grams_co2(3).base(), 3);
  EXPECT_EQ(tonnes_co2(3).base(), 3e6);
  EXPECT_EQ(grams_per_kwh(7.2).base(), 7.2 / 3.6e6);
  EXPECT_EQ(kelvins(3).base(), 3);
}

TEST(Units, every_symbol_and_prefix_is_read) {
  const std::vector<std::pair<const char*, double>> units = {
      {"B", 1},          {"b", 0.125},    {"bit", 0.125},   {"s", 1},           {"min", 60},
      {"h", 3600},       {"d", 86400},    {"week", 604800}, {"month", 2628000}, {"y", 31536000},
      {"FLOP", 1},       {"J", 1},        {"Wh", 3600},     {"W", 1},           {"USD", 1},
      {"g", 1},          {"t", 1e6},      {"K", 1},         {"KiB", 1024},      {"MiB", 1048576},
      {"GiB", 0x1p30},   {"TiB", 0x1p40}, {"PiB", 0x1p50},  {"EiB", 0x1p60},    {"Kib", 128},
      {"Mibit", 131072}, {"ns", 1e-9},    {"us", 1e-6},     {"ms", 1e-3},       {"kB", 1e3},
      {"MB", 1e6},       {"GB", 1e9},     {"TB", 1e12},     {"PB", 1e15},       {"EB", 1e18},
      {"Gbit", 1.25e8},  {"kWh", 3.6e6},  {"MW", 1e6},      {"kUSD", 1e3},      {"TFLOP", 1e12},
      {"mJ", 1e-3},      {"kg", 1e3}};
  for (const auto& [text, factor] : units) {
    const auto read = parse_any_quantity("3 " + std::string(text));
    ASSERT_TRUE(read) << text;
    EXPECT_DOUBLE_EQ(read->base_units, 3 * factor) << text;
  }
  for (const char* none : {"kmin", "kh", "Kis", "KiW", "kt", "kK", "ky", "KiJ", "Kig", "mweek"}) {
    EXPECT_FALSE(parse_any_quantity("3 " + std::string(none))) << none;
  }
}

TEST(Units, numbers_are_read_up_to_their_unit) {
  const auto read = [](const char* text) {
    const auto q = parse_quantity<Bytes>(text);
    return q ? q->base() : -1;
  };
  EXPECT_EQ(read("3E5 B"), 3e5);
  EXPECT_EQ(read("+3 B"), 3);
  EXPECT_EQ(parse_quantity<Bytes>("-3 B"), Bytes(-3));
  EXPECT_EQ(read(".5 B"), 0.5);
  EXPECT_EQ(read("3e-1B"), 0.3);
  for (const char* bad : {"e5 B", "3e B", "3e+ B", "3e- B", "3-2 B", "1.5.2 B", "- B", "B", ""}) {
    EXPECT_FALSE(parse_quantity<Bytes>(bad)) << bad;
  }
  EXPECT_EQ(parse_any_quantity("1e308 PB").error(), UnitFault::out_of_range);
  const std::string longest = std::string(125, '0') + "7 B";  // 128 characters
  EXPECT_EQ(read(longest.c_str()), 7);
  EXPECT_EQ(parse_any_quantity("0" + longest).error(), UnitFault::not_a_number);
  EXPECT_EQ(parse_count(std::string(127, '0') + "7"), 7);
  EXPECT_FALSE(parse_count(std::string(128, '0') + "7"));
}

TEST(Units, units_are_divided_at_most_three_times) {
  EXPECT_TRUE(parse_any_quantity("1 USD/B/s/K"));
  EXPECT_FALSE(parse_any_quantity("1 USD/B/s/K/J"));
  EXPECT_TRUE(parse_any_quantity("1 W/B/s")) << "J/B/s/s";
  EXPECT_FALSE(parse_any_quantity("1 W/B/s/K")) << "J/B/s/s/K";
  const auto q = parse_any_quantity("6 GB/min/W");
  ASSERT_TRUE(q);
  EXPECT_DOUBLE_EQ(q->base_units, 1e8);
  EXPECT_EQ(q->dimension, (Dimension{1, 0, 0, -1, 0, 0, 0}));
}

TEST(Units, every_dimension_has_example_units) {
  EXPECT_EQ(example_units(DimensionOf<Bytes>::value), "MB or GB");
  EXPECT_EQ(example_units(DimensionOf<Seconds>::value), "s or min");
  EXPECT_EQ(example_units(DimensionOf<Watts>::value), "kW or MW");
  EXPECT_EQ(example_units(DimensionOf<Joules>::value), "MJ or kWh");
  EXPECT_EQ(example_units(DimensionOf<BytesPerSecond>::value), "MB/s or GB/s");
  EXPECT_EQ(example_units(DimensionOf<FlopsPerSecond>::value), "GFLOP/s or TFLOP/s");
  EXPECT_EQ(example_units(DimensionOf<Usd>::value), "kUSD or MUSD");
  EXPECT_EQ(example_units(DimensionOf<UsdPerSecond>::value), "kUSD/y or MUSD/y");
  EXPECT_EQ(example_units(DimensionOf<GramsCo2>::value), "g or kg");
  EXPECT_EQ(example_units(DimensionOf<PerSecond>::value), "/s or /ms");
  EXPECT_EQ(example_units(DimensionOf<Kelvins>::value), "K");
  EXPECT_EQ(example_units({2, -1, 0, 0, 0, 1, -2}), "B*B*g/s/K/K");
}

TEST(Units, every_dimension_is_printed_in_its_unit) {
  EXPECT_EQ(to_text(Watts(1500)), "1.5 kW");
  EXPECT_EQ(to_text(FlopsPerByte(2.5)), "2.5 FLOP/B");
  EXPECT_EQ(to_text(UsdPerByte(2e-9)), "2 USD/GB");
  EXPECT_EQ(brief(UsdPerByteSecond(2.628 / 1e9 / 2628000)), "2.63 USD/GB/month");
  EXPECT_EQ(to_text(UsdPerWatt(7)), "7 USD/W");
  EXPECT_EQ(brief(grams_per_kwh(321)), "321 g/kWh");
  EXPECT_EQ(to_text(PerSecond(2500)), "2.5 /ms");
  EXPECT_EQ(brief(Flops(2e15)), "2 PFLOP");
  EXPECT_EQ(brief(tonnes_co2(4.5)), "4.5 t");
  EXPECT_EQ(brief(usd_per_hour(100)), "876 kUSD/y");
  EXPECT_EQ(brief(kwh(2.5)), "2.5 kWh");
  EXPECT_EQ(brief(years(2)), "2 y");
  // A value a hair below a unit is shown in that unit; a thousandth of the smallest unit is still
  // shown.
  EXPECT_EQ(to_text(hours(1 - 0.5e-9)), "0.9999999995 h");
  EXPECT_EQ(to_text(Seconds(3600 * (1 - 2e-9))).substr(0, 8), "59.99999");
  EXPECT_EQ(brief(Seconds(1.1e-12)), "0.0011 ns");
  EXPECT_EQ(brief(Seconds(0.9e-12)), "0 s");
  EXPECT_EQ(count_to_brief(1000.4567), "1000.46");
  EXPECT_EQ(count_to_brief(999.4), "999");
  EXPECT_EQ(count_to_brief(-2.5e9), "-2.5B");
}

TEST(Units, slash_divides_a_unit) {
  EXPECT_EQ(parse_quantity<Bytes>("3e+9 B"), gigabytes(3));
  EXPECT_EQ(parse_quantity<Bytes>("3e-3 GB"), megabytes(3));
  EXPECT_EQ(parse_quantity<Seconds>("2 ms"), seconds(0.002));
  EXPECT_EQ(parse_quantity<Joules>("2 kWh"), kwh(2));
  EXPECT_FALSE(parse_any_quantity("1 GB//s")) << "nothing between two strokes";
  EXPECT_FALSE(parse_any_quantity("1 GB/GB/GB/GB/s")) << "divided four times";
  EXPECT_FALSE(parse_any_quantity("1 /W/B/s/s"));
  EXPECT_FALSE(parse_quantity<Seconds>("1 Kis"));
  EXPECT_FALSE(parse_quantity<Watts>("1 kkW"));
  EXPECT_EQ(parse_quantity<Bytes>("  7 GB  "), gigabytes(7));
}

TEST(Units, count_suffixes_are_read) {
  EXPECT_EQ(parse_count("3k"), 3e3);
  EXPECT_EQ(parse_count("3K"), 3e3);
  EXPECT_EQ(parse_count("3M"), 3e6);
  EXPECT_EQ(parse_count("3G"), 3e9);
  EXPECT_EQ(parse_count("3B"), 3e9);
  EXPECT_EQ(parse_count("3T"), 3e12);
  EXPECT_FALSE(parse_count("1e308T"));
  EXPECT_FALSE(parse_count(""));
}

// The largest unit in which the rounded value is at least one.
TEST(Units, brief_picks_the_largest_unit_of_at_least_one) {
  EXPECT_EQ(brief(hours(0.6)), "36 min");
  EXPECT_EQ(brief(hours(0.9999999999)), "1 h");
  EXPECT_EQ(brief(kilowatts(999.7)), "1 MW");
  EXPECT_EQ(brief(kilowatts(999.4)), "999 kW");
  EXPECT_EQ(brief(Seconds(2e-19)), "0 s") << "nothing to a reader";
  EXPECT_EQ(brief(Watts(0)), "0 W");
  EXPECT_EQ(brief(gigabytes(-2)), "-2 GB");
}

TEST(Units, counts_are_shortened_from_one_million) {
  EXPECT_EQ(count_to_brief(1e6), "1M");
  EXPECT_EQ(count_to_brief(1e9), "1B");
  EXPECT_EQ(count_to_brief(1e12), "1T");
  EXPECT_EQ(count_to_brief(999'999), "999999");
  EXPECT_EQ(count_to_brief(1234.5), "1234.5");
  EXPECT_EQ(count_to_brief(12.345), "12.3");
}

TEST(Units, example_units_can_be_parsed) {
  for (const Dimension& d :
       {DimensionOf<Bytes>::value, DimensionOf<BytesPerSecond>::value, DimensionOf<Seconds>::value,
        DimensionOf<Watts>::value, DimensionOf<Usd>::value, DimensionOf<FlopsPerSecond>::value}) {
    const std::string text = example_units(d);
    const std::size_t at = text.find(" or ");
    ASSERT_NE(at, std::string::npos) << text;
    const auto small = parse_any_quantity("1 " + text.substr(0, at));
    const auto large = parse_any_quantity("1 " + text.substr(at + 4));
    ASSERT_TRUE(small && large) << text;
    EXPECT_EQ(small->dimension, d);
    EXPECT_EQ(large->dimension, d);
    EXPECT_LT(small->base_units, large->base_units);
  }
  EXPECT_EQ(example_units(DimensionOf<UsdPerJoule>::value), "USD/kWh");
}

TEST(Units, unnamed_dimensions_are_printed_in_base_units) {
  const auto odd = gigabytes(2) * gigabytes(3) / seconds(2);
  EXPECT_EQ(to_text(odd), "3e+18 B*B/s");
  EXPECT_EQ(brief(odd), "3e+18 B*B/s");
}

}  // namespace
}  // namespace orrery
