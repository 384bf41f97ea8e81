// Published vectors and worked examples for base/; units have properties of their own in
// units_test.cpp.
#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/digest.h"
#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "core/base/random.h"
#include "core/base/text.h"

namespace orrery {
namespace {

TEST(Digest, matches_the_vectors_of_fips_180) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Diagnostic, prints_place_code_why_and_fix) {
  const Diagnostic d{.code = "unit.missing",
                     .place = {"a.yaml", 3, 7},
                     .what = "no unit",
                     .why = "2 could be kW or MW",
                     .fix = "write 2 MW"};
  EXPECT_EQ(to_text(d),
            "a.yaml:3:7: error: no unit [unit.missing]\n    why: 2 could be kW or MW\n    fix: "
            "write 2 MW\n");
}

TEST(Estimate, product_adds_relative_errors_in_quadrature) {
  const Estimate a = within(10, 0.1, 0.1, Basis::vendor, "a");
  const Estimate p = a * a;
  EXPECT_DOUBLE_EQ(p.value, 100);
  EXPECT_NEAR(p.high / p.value, 1.1443, 1e-4);  // exp(sqrt(2) * ln 1.1)
  EXPECT_EQ(p.basis, Basis::derived);
  EXPECT_EQ(p.reference, "a");
}

TEST(Estimate, difference_swaps_the_sides_of_the_subtrahend) {
  const Estimate a = exact(10, Basis::measured, "a");
  const Estimate b{.value = 4, .low = 3, .high = 4.5, .basis = Basis::assumed, .reference = "b"};
  const Estimate d = a - b;
  EXPECT_DOUBLE_EQ(d.low, 5.5);
  EXPECT_DOUBLE_EQ(d.high, 7);
  EXPECT_EQ(d.basis, Basis::assumed);
}

TEST(Estimate, quotient_swaps_the_sides_of_the_divisor) {
  const Estimate b{.value = 4, .low = 2, .high = 4, .basis = Basis::paper, .reference = "b"};
  const Estimate q = exact(8, Basis::vendor, "a") / b;
  EXPECT_DOUBLE_EQ(q.low, 2);
  EXPECT_DOUBLE_EQ(q.high, 4);
}

// The first outputs of SplitMix64 for a known state pin the generator on every compiler.
TEST(RandomStream, is_a_fixed_sequence_per_name) {
  RandomStream a(1, "failure");
  RandomStream b(1, "failure");
  RandomStream c(1, "arrivals");
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  RandomStream pinned(1, "pin");
  EXPECT_EQ(pinned.next(), 3768302995975363941u);
  EXPECT_EQ(pinned.next(), 13148339758571432041u);
}

TEST(RandomStream, has_the_moments_it_should) {
  RandomStream r(7, "moments");
  double sum = 0, squares = 0, wait = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double n = r.normal();
    sum += n, squares += n * n, wait += r.exponential(3);
    ASSERT_LT(r.below(7), 7u);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(wait / kDraws, 3, 0.03);
}

TEST(Text, reads_only_whole_plain_numbers) {
  EXPECT_EQ(parse_number("1.5e3"), 1500);
  EXPECT_EQ(parse_number("-2"), -2);
  for (const char* bad : {"", "1x", "0x10", "inf", "nan", "--1", "1e999", " 1"}) {
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
}

TEST(Text, prints_significant_digits_without_noise) {
  EXPECT_EQ(significant(1234.5678, 3), "1230");
  EXPECT_EQ(significant(0.00123456, 3), "0.00123");
  EXPECT_EQ(significant(2.0, 3), "2");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(999), "999");
}

TEST(Text, finds_the_likely_word) {
  const std::vector<std::string> words = {"fleet", "fabric", "storage"};
  EXPECT_EQ(nearest("fabrik", words), "fabric");
  EXPECT_FALSE(nearest("zebra-crossing", words));
}

TEST(Text, tells_valid_utf8) {
  EXPECT_TRUE(is_valid_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_valid_utf8("\xc0\xaf"));          // overlong
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(is_valid_utf8("\xe2\x82"));          // cut short
}

TEST(Csv, reads_quotes_and_line_numbers) {
  const auto t = CsvTable::parse("a,b\n1,\"x, \"\"y\"\"\nz\"\n2,w\n", "t.csv");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->rows().size(), 2u);
  EXPECT_EQ(t->text(t->rows()[0], "b"), "x, \"y\"\nz");
  EXPECT_EQ(t->rows()[1].line, 4);
  EXPECT_EQ(t->number(t->rows()[1], "a"), 2);
  EXPECT_FALSE(t->number(t->rows()[1], "b"));
}

TEST(Csv, reports_every_fault) {
  const auto t = CsvTable::parse("a,a\n1\n2,3,4\n", "t.csv");
  ASSERT_FALSE(t);
  ASSERT_EQ(t.error().size(), 3u);
  EXPECT_EQ(t.error()[0].code, "csv.duplicate-column");
  EXPECT_EQ(t.error()[1].code, "csv.ragged");
  EXPECT_EQ(t.error()[2].place.line, 3);
}

TEST(JsonWriter, writes_shortest_numbers_and_escapes) {
  JsonWriter w(0);
  w.begin_object().field("a", 0.1).field("b", 3).field("c", "x\n\"").key("d");
  w.begin_array().value(true).null().begin_object().end_object().end_array().end_object();
  EXPECT_EQ(w.text(), R"({"a":0.1,"b":3,"c":"x\n\"","d":[true,null,{}]})");
}

TEST(JsonWriter, is_utf8_whatever_the_bytes) {
  const std::string good = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(json_escaped(good), '"' + good + '"');
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(json_escaped("caf\xe9!"), "\"caf" + bad + "!\"");            // Latin-1
  EXPECT_EQ(json_escaped("\xe2\x82"), '"' + bad + '"');                  // cut short
  EXPECT_EQ(json_escaped("\xe2\x82\""), '"' + bad + "\\\"\"");           // the quote is still one
  EXPECT_EQ(json_escaped("\xed\xa0\x80|"), '"' + bad + "|\"");           // surrogate
  EXPECT_EQ(json_escaped("\xff\xfe"), '"' + bad + bad + '"');            // two that begin nothing
  EXPECT_EQ(json_escaped("\xc3\xa9\x80z"), "\"\xc3\xa9" + bad + "z\"");  // one too many
  JsonWriter w(0);
  w.begin_object().field("\x80", "\xf4\x90\x80\x80").end_object();
  EXPECT_TRUE(is_valid_utf8(w.text()));
  std::string every;  // two bytes of each kind, next to each other
  for (int a = 0; a < 256; ++a) {
    for (int b = 0x70; b < 256; b += 5) every += {static_cast<char>(a), static_cast<char>(b)};
  }
  EXPECT_TRUE(is_valid_utf8(json_escaped(every)));
}

}  // namespace
}  // namespace orrery
