// Units: worked examples, what is refused, and the property that printing and parsing round-trip.
#include "core/base/units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"

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

TEST(Units, says_what_is_wrong) {
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

// Tariffs are divided by 3.6e6 on the way in; the printer must find a text that reads back all the
// same.
TEST(Units, tariffs_round_trip) {
  for (int cents = 1; cents < 1000; ++cents) {
    expect_round_trip<UsdPerJoule>(usd_per_kwh(cents / 100.0).base());
  }
}

// A bare number in disguise, and a unit that nothing has: neither may pass for a quantity.
TEST(Units, RefusesWhatCancelsAndWhatIsDividedTooOften) {
  EXPECT_FALSE(parse_any_quantity("4 s/s"));
  EXPECT_FALSE(parse_any_quantity("20/s/s/s/s"));
  EXPECT_FALSE(parse_any_quantity("1 W/GiB/s/s"));  // J/B/s/s/s
  EXPECT_TRUE(parse_any_quantity("20 USD/GB/s/s"));
}

}  // namespace
}  // namespace orrery
