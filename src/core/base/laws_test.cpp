// Laws that the helpers of base/ keep: sums in quadrature, distributions against their own sums,
// texts that read back, edges on either side.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/digest.h"
#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/probability.h"
#include "core/base/random.h"
#include "core/base/simplex.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery {
namespace {

// 3, 4, 5 below and 5, 12, 13 above: each side by itself.
TEST(EstimateLaws, a_sum_adds_each_side_in_quadrature) {
  const Estimate a{.value = 10, .low = 7, .high = 15, .basis = Basis::given, .reference = "a"};
  const Estimate b{.value = 20, .low = 16, .high = 32, .basis = Basis::measured, .reference = "b"};
  const Estimate s = a + b;
  EXPECT_DOUBLE_EQ(s.value, 30);
  EXPECT_DOUBLE_EQ(s.low, 25);
  EXPECT_DOUBLE_EQ(s.high, 43);
  EXPECT_EQ(s.basis, Basis::derived) << "a combination is computed, whatever it is made of";
  EXPECT_EQ(s.reference, "a; b");
  EXPECT_EQ((a + a).reference, "a");
  EXPECT_EQ((a + Estimate{}).reference, "a");
}

// exp(5) wide below where the factors are exp(3) and exp(4), exp(13) above where exp(5), exp(12).
TEST(EstimateLaws, a_product_adds_logarithms_and_a_quotient_swaps_the_sides) {
  const Estimate a{.value = 2, .low = 2 * std::exp(-3), .high = 2 * std::exp(5)};
  const Estimate b{.value = 3, .low = 3 * std::exp(-4), .high = 3 * std::exp(12)};
  const Estimate p = a * b;
  EXPECT_NEAR(std::log(p.value / p.low), 5, 1e-12);
  EXPECT_NEAR(std::log(p.high / p.value), 13, 1e-12);
  const Estimate q = a / b;
  EXPECT_NEAR(std::log(q.value / q.low), std::hypot(3, 12), 1e-12);
  EXPECT_NEAR(std::log(q.high / q.value), std::hypot(5, 4), 1e-12);
}

TEST(EstimateLaws, a_side_is_as_wide_as_it_is_said_to_be) {
  const Estimate e = within(10, 0.1, 0.3, Basis::vendor, "x");
  EXPECT_DOUBLE_EQ(e.low, 9);
  EXPECT_DOUBLE_EQ(e.high, 13);
  const Estimate minus = e * -2;
  EXPECT_DOUBLE_EQ(minus.low, -26) << "low is below high, whatever the sign";
  EXPECT_DOUBLE_EQ(minus.high, -18);
}

// The tail against the sum of its own terms, on both sides of the mean.
TEST(ProbabilityLaws, a_poisson_tail_is_what_the_head_leaves) {
  for (const double mean : {0.3, 2.0, 7.5, 20.0, 40.0}) {
    double head = 0;
    double term = std::exp(-mean);
    for (int k = 0; k < 60; ++k) {
      head += term;
      term *= mean / (k + 1);
      EXPECT_NEAR(poisson_above(k, mean), 1 - head, 1e-12) << k << " of " << mean;
    }
  }
}

TEST(ProbabilityLaws, a_normal_has_two_equal_sides) {
  EXPECT_NEAR(normal_above(0), 0.5, 1e-15);
  EXPECT_NEAR(normal_above(1) + normal_above(-1), 1, 1e-15);
  EXPECT_NEAR(normal_above(1), 0.15865525393145707, 1e-15);
}

// A valley a thousand steps away is reached by steps that grow.
TEST(SimplexLaws, steps_grow_where_the_slope_goes_on) {
  const Point p = minimise([](const Point& x) { return std::abs(x[0] - 1000); }, {0}, {1},
                           {.steps = 60, .restarts = 1});
  EXPECT_NEAR(p[0], 1000, 1);
}

// Where nothing is better than the start, the others close in on it from all sides.
TEST(SimplexLaws, a_simplex_that_finds_nothing_better_shrinks) {
  double last = 1;
  minimise(
      [&last](const Point& x) {
        last = std::hypot(x[0], x[1]);
        return last == 0 ? 0.0 : 1.0;
      },
      {0, 0}, {1, 1}, {.steps = 12, .restarts = 1});
  EXPECT_LT(last, 0.1);
}

TEST(SimplexLaws, each_restart_asks_anew) {
  const auto asked = [](int restarts) {
    int count = 0;
    minimise([&count](const Point& x) { return ++count, x[0] * x[0]; }, {3}, {1},
             {.steps = 10, .restarts = restarts});
    return count;
  };
  EXPECT_GT(asked(3), 2 * asked(1));
}

TEST(SimplexLaws, finds_the_middle_of_a_bowl_in_four_dimensions) {
  const Point least = minimise(
      [](const Point& x) {
        double sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          const double d = x[i] - static_cast<double>(i);
          sum += (static_cast<double>(i) + 1) * d * d;
        }
        return sum;
      },
      {5, 5, 5, 5}, {1, 1, 1, 1});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(least[i], static_cast<double>(i), 1e-4);
}

TEST(RandomLaws, a_uniform_draw_fills_its_range_evenly) {
  RandomStream random(3, "even");
  std::array<int, 10> seen{};
  for (int i = 0; i < 20'000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++seen[static_cast<std::size_t>(u * 10)];
  }
  for (const int n : seen) EXPECT_NEAR(n, 2000, 200);
}

// What is not UTF-8 is shown byte by byte: overlong forms, bytes that continue nothing, and leads
// beyond the last character.
TEST(PrintableLaws, only_whole_characters_are_believed) {
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\x80"), "\\x80");
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xe2(\xa1"), "\\xe2(\\xa1");
}

// NEL, both line breaks of Unicode, all that turns the direction of writing, and the mark that is
// no character.
TEST(PrintableLaws, what_is_obeyed_is_shown) {
  EXPECT_EQ(printable("\xc2\x80\xc2\x85\xc2\x9f\x7f"), "\\x80\\x85\\x9f\\x7f");
  EXPECT_EQ(printable("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\xe2\x80\xaa\xe2\x80\xae"), "\\u202a\\u202e");
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069");
  EXPECT_EQ(printable("\xe2\x80\x8e\xe2\x80\x8f\xef\xbb\xbf"), "\\u200e\\u200f\\ufeff");
  EXPECT_EQ(printable("\xc2\xa0\xe2\x80\x93"), "\xc2\xa0\xe2\x80\x93") << "a blank and a dash";
}

TEST(PrintableLaws, a_break_ends_its_line_and_nothing_else) {
  EXPECT_EQ(printable_lines("a\nb\n\nc", "> "), "a\n> b\n> \n> c");
}

TEST(DiagnosticLaws, says_what_it_has) {
  const Diagnostic whole{.code = "c", .place = {"f", 0, 0}, .what = "w"};
  EXPECT_EQ(to_text(whole), "f: error: w [c]\n") << "of the file as a whole";
  EXPECT_EQ(to_text(Diagnostic{
                .severity = Severity::note, .code = "c", .place = {"f", 12, 34}, .what = "w"}),
            "f:12:34: note: w [c]\n");
  EXPECT_EQ(to_text(Diagnostic{.code = "c", .what = "w"}), "error: w [c]\n");
}

TEST(TextLaws, trims_and_lowers_the_ends_too) {
  EXPECT_EQ(trimmed(" \t a b \r\n"), "a b");
  EXPECT_EQ(trimmed("x"), "x");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(lowered("AZaz@[09"), "azaz@[09");
  EXPECT_EQ(split("a,,b,", ',').size(), 4U);
  EXPECT_EQ(split_at_blanks("  a   b ").size(), 2U);
}

TEST(TextLaws, a_character_has_one_form) {
  for (const char* bad : {"\xe0\x80\xaf", "\xe0\x9f\xbf", "\xf0\x80\x80\xaf", "\xf0\x8f\xbf\xbf",
                          "\xed\xbf\xbf", "\xf4\x90\x80\x80", "a\xe2\x82", "\xc3", "\x80"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << printable(bad);
  }
  EXPECT_FALSE(is_valid_utf8(std::string_view("\xc3\xa9", 1))) << "cut, whatever follows the view";
  EXPECT_FALSE(is_valid_utf8(std::string_view("\xf0\x9f\x98\x80", 3)));
  for (const char* good : {"\xe0\xa0\x80", "\xf0\x90\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf4\x8f\xbf\xbf", "\xc2\x80", ""}) {
    EXPECT_TRUE(is_valid_utf8(good)) << printable(good);
  }
}

TEST(TextLaws, a_number_has_one_sign_and_ends_where_its_text_does) {
  EXPECT_EQ(parse_number("+1.5"), 1.5);
  EXPECT_EQ(parse_number("-.5"), -0.5);
  for (const char* bad : {"+-1", "++1", "-+1", "+", "-", ".", "1.5 ", "1,5", "-inf", "+nan"}) {
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
  EXPECT_EQ(parse_integer("-12"), -12);
  for (const char* bad : {"", "1.5", "12x", "+1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
}

TEST(TextLaws, digits_are_as_many_as_asked_for) {
  EXPECT_EQ(significant(123.456, 4), "123.5");
  EXPECT_EQ(significant(0.99995, 3), "1");
  EXPECT_EQ(significant(1.5e-10, 2), "1.5e-10") << "no row of zeros";
  EXPECT_EQ(significant(2e-9, 2), "0.000000002");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(-std::numeric_limits<double>::infinity(), 3), "-inf");
}

TEST(TextLaws, thousands_are_grouped_behind_the_sign) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(123456789), "123,456,789");
}

// One slip in three letters: left out, put in, exchanged. Of equals the first.
TEST(TextLaws, a_slip_is_a_letter_more_less_or_other) {
  const std::vector<std::string> words = {"storage", "fabric", "site", "size"};
  EXPECT_EQ(nearest("fabic", words), "fabric");
  EXPECT_EQ(nearest("fabrric", words), "fabric");
  EXPECT_EQ(nearest("fabriq", words), "fabric");
  EXPECT_EQ(nearest("sixe", words), "site");
  EXPECT_FALSE(nearest("garage!", words)) << "four slips in seven letters";
  EXPECT_FALSE(nearest("x", std::vector<std::string>{"abcd"}));
  EXPECT_FALSE(nearest(std::string(65, 'a'), std::vector<std::string>{std::string(65, 'a')}));
}

TEST(CsvLaws, what_is_written_reads_back) {
  for (const char* field : {"plain", "a,b", "a \"b\"", "two\nlines", "with\rreturn", "", "\""}) {
    const auto table = CsvTable::parse("x,y\n1," + csv_field(field) + "\n", "t.csv");
    ASSERT_TRUE(table) << printable(field);
    EXPECT_EQ(table->rows().at(0).fields.at(1), field) << printable(field);
  }
  EXPECT_EQ(csv_field("plain"), "plain") << "no quotes where none are needed";
}

TEST(CsvLaws, blank_lines_are_no_rows_but_are_counted) {
  const auto table = CsvTable::parse("a,b\n\n1,2\n  \n3, 4 \n", "t.csv");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows().size(), 2U);
  EXPECT_EQ(table->rows()[0].line, 3);
  EXPECT_EQ(table->rows()[1].line, 5);
  EXPECT_EQ(table->text(table->rows()[1], "b"), "4") << "without its blanks";
  EXPECT_EQ(table->integer(table->rows()[1], "b"), 4);
}

TEST(CsvLaws, a_row_has_as_many_fields_as_the_head) {
  const auto fault = [](const char* text) {
    const auto table = CsvTable::parse(text, "t.csv");
    return table ? "none" : table.error().front().code;
  };
  EXPECT_EQ(fault("a,b\n1,2\n"), "none");
  EXPECT_EQ(fault("a,b\n1,2,3\n"), "csv.ragged");
  EXPECT_EQ(fault("a,b\n1\n"), "csv.ragged");
  EXPECT_EQ(fault("a,b\n1,\"2\n"), "csv.quote");
  EXPECT_EQ(fault("a, a\n1,2\n"), "csv.duplicate-column");
  EXPECT_EQ(fault(""), "csv.empty");
}

TEST(JsonLaws, levels_are_indented_and_what_is_no_number_is_null) {
  JsonWriter w;
  w.begin_object().field("a", 1).key("b").begin_array().value(true).value(false);
  w.begin_object().field("c", std::nan("")).end_object().end_array();
  w.key("d").begin_array().end_array();
  w.field("e", std::numeric_limits<double>::infinity()).end_object();
  EXPECT_EQ(w.text(),
            "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    false,\n    {\n      \"c\": null\n    }\n"
            "  ],\n  \"d\": [],\n  \"e\": null\n}");
}

TEST(JsonLaws, a_character_of_four_bytes_stays_one) {
  EXPECT_EQ(json_escaped("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_escaped("\\\r\t\x7f"), "\"\\\\\\r\\t\x7f\"");
}

// Lengths about a block's 64 bytes and about the 56 that leave room for the length.
TEST(DigestLaws, a_block_may_be_full_and_the_length_may_need_another) {
  EXPECT_EQ(sha256_hex(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256_hex(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256_hex(std::string(63, 'a')),
            "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(sha256_hex(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(sha256_hex(std::string(65, 'a')),
            "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
  EXPECT_EQ(sha256_hex(std::string(119, 'a')),
            "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
  EXPECT_EQ(sha256_hex(std::string(128, 'a')),
            "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e");
}

TEST(UnitLaws, a_unit_is_divided_by_what_follows_a_stroke) {
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

TEST(UnitLaws, counts_have_their_letters) {
  EXPECT_EQ(parse_count("3k"), 3e3);
  EXPECT_EQ(parse_count("3K"), 3e3);
  EXPECT_EQ(parse_count("3M"), 3e6);
  EXPECT_EQ(parse_count("3G"), 3e9);
  EXPECT_EQ(parse_count("3B"), 3e9);
  EXPECT_EQ(parse_count("3T"), 3e12);
  EXPECT_FALSE(parse_count("1e308T"));
  EXPECT_FALSE(parse_count(""));
}

// The largest unit that leaves at least one of it, after rounding.
TEST(UnitLaws, a_reader_gets_the_unit_that_fits) {
  EXPECT_EQ(brief(hours(0.6)), "36 min");
  EXPECT_EQ(brief(hours(0.9999999999)), "1 h");
  EXPECT_EQ(brief(kilowatts(999.7)), "1 MW");
  EXPECT_EQ(brief(kilowatts(999.4)), "999 kW");
  EXPECT_EQ(brief(Seconds(2e-19)), "0 s") << "nothing to a reader";
  EXPECT_EQ(brief(Watts(0)), "0 W");
  EXPECT_EQ(brief(gigabytes(-2)), "-2 GB");
}

TEST(UnitLaws, counts_are_shortened_from_a_million_on) {
  EXPECT_EQ(count_to_brief(1e6), "1M");
  EXPECT_EQ(count_to_brief(1e9), "1B");
  EXPECT_EQ(count_to_brief(1e12), "1T");
  EXPECT_EQ(count_to_brief(999'999), "999999");
  EXPECT_EQ(count_to_brief(1234.5), "1234.5");
  EXPECT_EQ(count_to_brief(12.345), "12.3");
}

TEST(UnitLaws, every_example_of_a_unit_can_be_written) {
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

TEST(UnitLaws, what_has_no_unit_of_its_own_is_shown_in_base_units) {
  const auto odd = gigabytes(2) * gigabytes(3) / seconds(2);
  EXPECT_EQ(to_text(odd), "3e+18 B*B/s");
  EXPECT_EQ(brief(odd), "3e+18 B*B/s");
}

}  // namespace
}  // namespace orrery
