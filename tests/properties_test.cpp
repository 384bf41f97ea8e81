// Properties that hold for any value, tested on generated values. `./test --full` tests more.
#include <gtest/gtest.h>
// RapidCheck uses GoogleTest without including it.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/base/csv.h"
#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "core/base/random.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery {
namespace {

// A positive number between 1e-6 and 1e15, with all its bits in use.
double positive() {
  const int exponent = *rc::gen::inRange(-6, 15);
  const auto mantissa = static_cast<double>(*rc::gen::inRange(1, 1'000'000'007));
  return mantissa / 1'000'000'007.0 * std::pow(10.0, exponent);
}

Estimate any_estimate() {
  const double value = positive();
  const double below = static_cast<double>(*rc::gen::inRange(0, 90)) / 100;
  const double above = static_cast<double>(*rc::gen::inRange(0, 300)) / 100;
  return within(value, below, above, Basis::derived, "generated");
}

bool is_ordered(const Estimate& e) { return e.low <= e.value && e.value <= e.high; }

RC_GTEST_PROP(Properties, quantities_round_trip_to_the_bit, ()) {
  const double value = positive();
  RC_ASSERT(parse_quantity<Bytes>(to_text(Bytes(value)))->base() == value);
  RC_ASSERT(parse_quantity<Watts>(to_text(Watts(value)))->base() == value);
  RC_ASSERT(parse_quantity<BytesPerSecond>(to_text(BytesPerSecond(value)))->base() == value);
  RC_ASSERT(parse_number(shortest(value)) == value);
}

RC_GTEST_PROP(Properties, combining_estimates_keeps_low_value_high_in_order, ()) {
  const Estimate a = any_estimate();
  const Estimate b = any_estimate();
  RC_ASSERT(is_ordered(a + b));
  RC_ASSERT(is_ordered(a * b));
  RC_ASSERT(is_ordered(a / b));
  RC_ASSERT(is_ordered(a - b));
  // More uncertainty in the input never gives less in the result.
  RC_ASSERT((a * b).high / (a * b).value >= a.high / a.value * (1 - 1e-12));
}

RC_GTEST_PROP(Properties, csv_fields_come_back_as_they_were, (const std::string& text)) {
  // The reader trims blanks, and treats a lone carriage return as a line end.
  RC_PRE(trimmed(text) == text && text.find('\r') == std::string::npos);
  const auto table = CsvTable::parse("id,x\na," + csv_field(text) + "\n", "t.csv");
  RC_ASSERT(table.has_value());
  RC_ASSERT(table->text(table->rows().front(), "x") == text);
}

RC_GTEST_PROP(Properties, a_stream_depends_on_seed_and_name_only, (std::uint64_t seed)) {
  RandomStream first(seed, "x");
  RandomStream again(seed, "x");
  RandomStream other(seed, "y");
  RC_ASSERT(first.next() == again.next());
  RC_ASSERT(first.next() != other.next());
  const std::uint64_t bound = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
  RC_ASSERT(first.below(bound) < bound);
}

}  // namespace
}  // namespace orrery
