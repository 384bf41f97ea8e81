// Exact values: every unit and its factory, every step of a simplex, the first draws of a stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/base/probability.h"
#include "core/base/random.h"
#include "core/base/simplex.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ExactUnits, a_factory_counts_in_its_unit) {
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

TEST(ExactUnits, quantities_compute_like_numbers) {
  Seconds t(7);
  t += Seconds(5);
  EXPECT_EQ(t.base(), 12);
  t -= Seconds(2);
  EXPECT_EQ(t.base(), 10);
  t *= 3;
  EXPECT_EQ(t.base(), 30);
  t /= 4;
  EXPECT_EQ(t.base(), 7.5);
  EXPECT_EQ((-t).base(), -7.5);
  EXPECT_EQ((t + t - Seconds(1)).base(), 14);
  EXPECT_EQ((2 * t).base(), 15);
  EXPECT_EQ((t / 5).base(), 1.5);
  EXPECT_EQ((15 / t).base(), 2);
  EXPECT_EQ(Seconds().base(), 0);
  EXPECT_EQ(min(Seconds(2), Seconds(3)), Seconds(2));
  EXPECT_EQ(min(Seconds(3), Seconds(2)), Seconds(2));
  EXPECT_EQ(max(Seconds(2), Seconds(3)), Seconds(3));
  EXPECT_EQ(max(Seconds(3), Seconds(2)), Seconds(3));
}

TEST(ExactUnits, every_symbol_and_every_prefix) {
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

TEST(ExactUnits, a_number_ends_where_its_unit_begins) {
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

TEST(ExactUnits, a_unit_is_divided_three_times_at_most) {
  EXPECT_TRUE(parse_any_quantity("1 USD/B/s/K"));
  EXPECT_FALSE(parse_any_quantity("1 USD/B/s/K/J"));
  EXPECT_TRUE(parse_any_quantity("1 W/B/s")) << "J/B/s/s";
  EXPECT_FALSE(parse_any_quantity("1 W/B/s/K")) << "J/B/s/s/K";
  const auto q = parse_any_quantity("6 GB/min/W");
  ASSERT_TRUE(q);
  EXPECT_DOUBLE_EQ(q->base_units, 1e8);
  EXPECT_EQ(q->dimension, (Dimension{1, 0, 0, -1, 0, 0, 0}));
}

TEST(ExactUnits, each_dimension_has_examples) {
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

TEST(ExactUnits, each_dimension_is_shown_in_its_unit) {
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
  // A hair below a unit is that unit; a thousandth of the smallest is still something.
  EXPECT_EQ(to_text(hours(1 - 0.5e-9)), "0.9999999995 h");
  EXPECT_EQ(to_text(Seconds(3600 * (1 - 2e-9))).substr(0, 8), "59.99999");
  EXPECT_EQ(brief(Seconds(1.1e-12)), "0.0011 ns");
  EXPECT_EQ(brief(Seconds(0.9e-12)), "0 s");
  EXPECT_EQ(count_to_brief(1000.4567), "1000.46");
  EXPECT_EQ(count_to_brief(999.4), "999");
  EXPECT_EQ(count_to_brief(-2.5e9), "-2.5B");
}

// The losses are handed out one by one, so that each answer decides one branch.
struct Walk {
  std::vector<double> losses;
  std::vector<Point> asked;

  Point from(Point start, const Point& steps, SimplexOptions options) {
    const auto loss = [this](const Point& p) {
      asked.push_back(p);
      return losses.at(asked.size() - 1);
    };
    return minimise(loss, std::move(start), steps, options);
  }
};

// A (0,0), B (4,0) and C (0,8), C the worst: the middle of the others is (2,0).
TEST(ExactSimplex, a_step_goes_where_the_losses_send_it) {
  const auto walk = [](std::vector<double> after) {
    Walk w{.losses = {1, 2, 3}};
    w.losses.insert(w.losses.end(), after.begin(), after.end());
    w.from({0, 0}, {4, 8}, {.steps = 1, .restarts = 1});
    return std::vector<Point>(w.asked.begin() + 3, w.asked.end());
  };
  const Point mirrored = {4, -8}, far = {6, -16}, outside = {3, -4}, inside = {1, 4};
  EXPECT_THAT(walk({0.5, 0.4}), ElementsAre(mirrored, far)) << "better than the best";
  EXPECT_THAT(walk({1, 9, 9, 9}).size(), 1U) << "as good as the best";
  EXPECT_THAT(walk({1.9}), ElementsAre(mirrored)) << "better than the second worst";
  EXPECT_THAT(walk({2, 1.9}), ElementsAre(mirrored, outside));
  EXPECT_THAT(walk({2.9, 1.9}), ElementsAre(mirrored, outside));
  EXPECT_THAT(walk({3, 1.9}), ElementsAre(mirrored, inside)) << "no better than the worst";
  EXPECT_THAT(walk({3.5, 1.9}), ElementsAre(mirrored, inside));
  // Neither helps: B and C go half the way to A.
  EXPECT_THAT(walk({3.5, 3, 8, 9}), ElementsAre(mirrored, inside, Point{2, 0}, Point{0, 4}));
  EXPECT_THAT(walk({2.5, 2.5, 8, 9}), ElementsAre(mirrored, outside, Point{2, 0}, Point{0, 4}));
}

TEST(ExactSimplex, the_best_point_is_given_back) {
  const auto best = [](std::vector<double> losses) {
    return Walk{.losses = std::move(losses)}.from({0, 0}, {4, 8}, {.steps = 1, .restarts = 1});
  };
  EXPECT_EQ(best({1, 2, 3, 0.5, 0.4}), (Point{6, -16}));
  EXPECT_EQ(best({1, 2, 3, 0.5, 0.5}), (Point{4, -8})) << "farther is no better";
  EXPECT_EQ(best({1, 2, 3, 0.5, 0.6}), (Point{4, -8}));
  EXPECT_EQ(best({3, 1, 2, 0.9, 0.95}), (Point{4, 8})) << "A mirrored at the middle of B and C";
  EXPECT_EQ(best({1, 2, 3, 2.5, 0.1}), (Point{3, -4}));
  EXPECT_EQ(best({1, 2, 3, 3.5, 3.2, 0.2, 9}), (Point{2, 0}));
}

TEST(ExactSimplex, a_restart_begins_at_the_best_with_half_the_steps) {
  Walk w{.losses = {5, 4, 6, 4, 7, 8}};
  EXPECT_EQ(w.from({1, 1}, {4, 8}, {.steps = 0, .restarts = 2}), (Point{5, 1}));
  EXPECT_THAT(w.asked, ElementsAre(Point{1, 1}, Point{5, 1}, Point{1, 9}, Point{5, 1}, Point{7, 1},
                                   Point{5, 5}));
  EXPECT_EQ(SimplexOptions{}.steps, 250);
  EXPECT_EQ(SimplexOptions{}.restarts, 3);
}

// SplitMix64 and FNV-1a worked through with exact integers elsewhere.
TEST(ExactRandom, the_first_draws_of_a_stream) {
  const auto stream = [] { return RandomStream(42, "failure/node-17"); };
  RandomStream r = stream();
  EXPECT_EQ(r.next(), 13748134636506522481U);
  EXPECT_EQ(r.next(), 14587750201183788228U);
  EXPECT_EQ(r.next(), 15378779663427794811U);
  r = stream();
  EXPECT_DOUBLE_EQ(r.uniform(), 0.7452878720261791);
  EXPECT_DOUBLE_EQ(r.uniform(), 0.7908035229899658);
  r = stream();
  EXPECT_EQ(r.below(1000), 481U);
  EXPECT_EQ(r.below(1000), 228U);
  r = stream();
  EXPECT_NEAR(r.exponential(3.5), 4.786674485001729, 1e-12);
  r = stream();
  EXPECT_NEAR(r.normal(), 0.4193796796007003, 1e-12);
}

TEST(ExactProbability, logarithms_of_factorials) {
  EXPECT_NEAR(log_factorial(15), 27.899271383840891566, 2e-14);
  EXPECT_NEAR(log_factorial(16), 30.671860106080672804, 4e-14);
  EXPECT_NEAR(log_factorial(17), 33.505073450136888884, 4e-14);
  EXPECT_NEAR(log_factorial(25), 58.003605222980519939, 5e-14);
  EXPECT_NEAR(log_factorial(100), 363.73937555556349014, 3e-13);
  EXPECT_EQ(log_factorial(1), 0);
  EXPECT_DOUBLE_EQ(log_factorial(2), std::log(2.0));
}

TEST(ExactEstimate, what_can_be_zero_has_no_relative_width) {
  const Estimate open{.value = 2, .low = 0, .high = 3};
  const Estimate p = open * exact(5, Basis::given, "");
  EXPECT_DOUBLE_EQ(p.low, 10);
  EXPECT_DOUBLE_EQ(p.high, 10);
  const Estimate none = Estimate{.value = 0, .low = 0, .high = 3} * exact(5, Basis::given, "");
  EXPECT_DOUBLE_EQ(none.high, 0);
  EXPECT_EQ((exact(1, Basis::given, "") + exact(1, Basis::given, "b")).reference, "b");
  EXPECT_EQ((exact(1, Basis::assumed, "a") * exact(1, Basis::given, "b")).basis, Basis::assumed);
  const Estimate scaled = Estimate{.value = 2, .low = 1, .high = 4} * 1.5;
  EXPECT_EQ(scaled.value, 3);
  EXPECT_EQ(scaled.low, 1.5);
  EXPECT_EQ(scaled.high, 6);
}

TEST(ExactCsv, fields_are_as_written_but_for_the_line_end) {
  std::vector<std::string> fields;
  std::vector<int> lines;
  const Diagnostics faults =
      scan_csv("a , b\r\n 1 , two\r\n\"3\"x,\"4\"\r\n5\r,\n", "t.csv", [&](const CsvView& row) {
        fields.insert(fields.end(), row.fields.begin(), row.fields.end());
        lines.push_back(row.line);
        EXPECT_THAT(row.columns, ElementsAre("a", "b"));
      });
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_THAT(fields, ElementsAre(" 1 ", " two", "3x", "4", "5\r", ""));
  EXPECT_THAT(lines, ElementsAre(2, 3, 4));
}

TEST(ExactCsv, faults_say_where_they_are) {
  const auto faults = scan_csv("a,b,a\n1\n\n1,2,3,4\n1,2,\"3", "t.csv", [](const CsvView&) {});
  ASSERT_EQ(faults.size(), 4U);
  EXPECT_EQ(faults[0].what, "column 'a' appears twice");
  EXPECT_EQ(faults[0].place, (Place{"t.csv", 1, 1}));
  EXPECT_EQ(faults[1].what, "the row has 1 fields, the header 3");
  EXPECT_EQ(faults[1].place, (Place{"t.csv", 2, 1}));
  EXPECT_EQ(faults[2].what, "the row has 4 fields, the header 3");
  EXPECT_EQ(faults[2].place, (Place{"t.csv", 4, 1}));
  EXPECT_EQ(faults[3].code, "csv.quote");
  EXPECT_EQ(faults[3].place, (Place{"t.csv", 0, 1}));
  const auto empty = scan_csv(" \n", "t.csv", [](const CsvView&) {});
  ASSERT_EQ(empty.size(), 1U);
  EXPECT_EQ(empty[0].what, "the table has no header line");
  EXPECT_EQ(empty[0].place, (Place{"t.csv", 0, 1}));
}

TEST(ExactText, a_likely_word_is_one_slip_in_three_letters) {
  const std::vector<std::string> words = {"abcdefgh", "stuv"};
  EXPECT_EQ(nearest("abcdeXXX", words), "abcdefgh") << "three slips in eight letters";
  EXPECT_FALSE(nearest("abcdXXXX", words)) << "four";
  EXPECT_EQ(nearest("stXX", words), "stuv") << "two in four";
  EXPECT_FALSE(nearest("sXXX", words));
  const std::string longest(64, 'q');
  EXPECT_EQ(nearest(longest, std::vector<std::string>{longest}), longest);
}

TEST(ExactText, diagnostics_stand_one_after_another) {
  const Diagnostic note{.severity = Severity::warning, .code = "c", .what = "w", .fix = "f"};
  const Diagnostics all = {note, {.code = "d", .what = "x", .why = "y"}};
  EXPECT_EQ(to_text(all), "warning: w [c]\n    fix: f\nerror: x [d]\n    why: y\n");
  EXPECT_TRUE(has_errors(all));
  EXPECT_FALSE(has_errors({note}));
  EXPECT_EQ(significant(1e-9, 3), "0.000000001");
  EXPECT_EQ(significant(9.99e-10, 3), "9.99e-10");
  EXPECT_EQ(significant(1e15, 3), "1e+15");
  EXPECT_EQ(significant(std::nan(""), 3), "nan");
}

}  // namespace
}  // namespace orrery
