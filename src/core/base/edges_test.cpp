// What is left out says nothing: values by default, prefixes that no unit takes, texts that end
// where their view does.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/probability.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery {
namespace {

TEST(BaseEdges, nothing_said_is_nothing) {
  const Estimate none;
  EXPECT_EQ(none.value, 0);
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 0);
  EXPECT_EQ(none.basis, Basis::derived);
  EXPECT_EQ(none.reference, "");
  const Diagnostic fault;
  EXPECT_EQ(fault.severity, Severity::error);
  EXPECT_EQ(fault.place, (Place{"", 0, 0}));
  EXPECT_EQ(to_text(Diagnostics{}), "");
  EXPECT_FALSE(has_errors({}));
}

// Only bits and bytes are counted by powers of two, and only some units take a prefix at all.
TEST(BaseEdges, a_prefix_stands_before_units_that_take_it) {
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

// Every side of every combination, of numbers that share nothing: a = 7 (6.1 .. 8.3),
// b = 3 (2.6 .. 3.5).
TEST(BaseEdges, each_operation_combines_its_own_sides) {
  const Estimate a{.value = 7, .low = 6.1, .high = 8.3, .basis = Basis::paper, .reference = "a"};
  const Estimate b{.value = 3, .low = 2.6, .high = 3.5, .basis = Basis::vendor, .reference = "b"};
  const Estimate sum = a + b;
  EXPECT_DOUBLE_EQ(sum.value, 10);
  EXPECT_DOUBLE_EQ(sum.low, 10 - std::hypot(0.9, 0.4));
  EXPECT_DOUBLE_EQ(sum.high, 10 + std::hypot(1.3, 0.5));
  const Estimate difference = a - b;
  EXPECT_DOUBLE_EQ(difference.value, 4);
  EXPECT_DOUBLE_EQ(difference.low, 4 - std::hypot(0.9, 0.5));
  EXPECT_DOUBLE_EQ(difference.high, 4 + std::hypot(1.3, 0.4));
  const Estimate product = a * b;
  EXPECT_DOUBLE_EQ(product.value, 21);
  EXPECT_NEAR(product.low, 21 * std::exp(-std::hypot(std::log(7 / 6.1), std::log(3 / 2.6))), 1e-9);
  EXPECT_NEAR(product.high, 21 * std::exp(std::hypot(std::log(8.3 / 7), std::log(3.5 / 3))), 1e-9);
  const Estimate quotient = a / b;
  EXPECT_DOUBLE_EQ(quotient.value, 7.0 / 3);
  EXPECT_NEAR(quotient.low, 7.0 / 3 * std::exp(-std::hypot(std::log(7 / 6.1), std::log(3.5 / 3))),
              1e-9);
  EXPECT_NEAR(quotient.high, 7.0 / 3 * std::exp(std::hypot(std::log(8.3 / 7), std::log(3 / 2.6))),
              1e-9);
  for (const Estimate& e : {sum, difference, product, quotient}) {
    EXPECT_EQ(e.basis, Basis::derived);
    EXPECT_EQ(e.reference, "a; b");
  }
  const Estimate scaled = a * 3.0;
  EXPECT_DOUBLE_EQ(scaled.value, 21);
  EXPECT_DOUBLE_EQ(scaled.low, 18.3);
  EXPECT_DOUBLE_EQ(scaled.high, 24.9);
  EXPECT_EQ(scaled.basis, Basis::paper) << "an exact factor changes nothing";
  EXPECT_EQ(scaled.reference, "a");
  const Estimate nothing = a * 0.0;
  EXPECT_EQ(nothing.low, 0);
  EXPECT_EQ(nothing.high, 0);
}

TEST(BaseEdges, a_value_that_can_be_nothing_or_less_has_no_logarithm) {
  const Estimate exactly = exact(5, Basis::given, "e");
  EXPECT_EQ(exactly.low, 5);
  EXPECT_EQ(exactly.high, 5);
  const Estimate below{.value = -2, .low = 1, .high = 3};
  EXPECT_DOUBLE_EQ((below * exactly).low, -10);
  EXPECT_DOUBLE_EQ((below * exactly).high, -10);
  const Estimate touching{.value = 2, .low = -1, .high = 3};
  EXPECT_DOUBLE_EQ((touching * exactly).low, 10);
  EXPECT_DOUBLE_EQ((touching * exactly).high, 10);
  const Estimate some = within(4, 0.25, 0.5, Basis::measured, "w");
  EXPECT_DOUBLE_EQ(some.low, 3);
  EXPECT_DOUBLE_EQ(some.high, 6);
  EXPECT_EQ(some.basis, Basis::measured);
  EXPECT_EQ(some.reference, "w");
}

// Two of the last lead bytes, and the points around the surrogates and at the end.
TEST(BaseEdges, the_last_and_the_first_of_each_length_are_characters) {
  for (const char* text : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xef\xbf\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\x7f"}) {
    EXPECT_TRUE(is_valid_utf8(text)) << printable(text);
    EXPECT_EQ(json_escaped(text), '"' + std::string(text) + '"');
  }
  for (const char* text : {"\xc1\xbf", "\xc2\x7f", "\xc2\xc0", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                           "\xf5\x80\x80\x80", "\xed\xa0\x80", "\xed\xbf\xbf"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << printable(text);
  }
  EXPECT_EQ(printable("\xdf\xbf\xe0\xa0\x80\xf4\x8f\xbf\xbf"),
            "\xdf\xbf\xe0\xa0\x80\xf4\x8f\xbf\xbf");
  EXPECT_EQ(printable("\xc1\xbf"), "\\xc1\\xbf");
  EXPECT_EQ(printable(" \x1f~\x7f"), " \\x1f~\\x7f");
  EXPECT_EQ(printable("\xe2\x80\x8d\xe2\x80\x90"), "\xe2\x80\x8d\xe2\x80\x90") << "joiner, hyphen";
  EXPECT_EQ(printable("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"),
            "\\u2029\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa");
}

TEST(BaseEdges, a_table_is_asked_for_columns_that_are_there) {
  const auto table = CsvTable::parse("a, b\n 1 ,2.5\n", "t.csv");
  ASSERT_TRUE(table);
  const CsvRow& row = table->rows().at(0);
  EXPECT_EQ(table->column("a"), 0u);
  EXPECT_EQ(table->column("b"), 1u);
  EXPECT_EQ(table->column("c"), std::nullopt);
  EXPECT_EQ(table->text(row, "a"), "1");
  EXPECT_EQ(table->text(row, "c"), "");
  EXPECT_EQ(table->number(row, "b"), 2.5);
  EXPECT_EQ(table->integer(row, "b"), std::nullopt);
  EXPECT_EQ(table->integer(row, "a"), 1);
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
}

// Of Poisson the terms summed one by one with their factorials; of the normal its tables.
TEST(BaseEdges, tails_are_what_their_tables_say) {
  EXPECT_NEAR(poisson_above(3, 3), 0.35276811121776874, 1e-14);
  EXPECT_NEAR(poisson_above(20, 5), 8.109250459888175e-08, 1e-20);
  EXPECT_NEAR(normal_density(1), 0.24197072451914337, 1e-15);
  EXPECT_NEAR(normal_above(3), 0.0013498980316300933, 1e-15);
  EXPECT_NEAR(normal_above(-2), 0.9772498680518208, 1e-15);
  EXPECT_EQ(poisson_above(5, -1), 0);
}

TEST(BaseEdges, what_has_no_weight_has_no_mean) {
  WeightedMean<double> mean;
  mean.add(5, 0);
  EXPECT_EQ(mean.value_or(-1), -1);
  mean.add(7, 0.5);
  mean.add(1, 1.5);
  EXPECT_DOUBLE_EQ(mean.value_or(-1), 2.5);
  EXPECT_EQ(quantile(std::vector<double>{1, 2, 4}, 0.75, Between::higher), 4);
  EXPECT_EQ(quantile(std::vector<double>{1, 2, 4}, 0.25, Between::lower), 1);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{1, 2, 4}, 0.75), 3);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{1, 2, 5}, 0.9, Between::mixed), 4.4);
}

}  // namespace
}  // namespace orrery
