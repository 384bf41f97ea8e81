#include "core/base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/simplex.h"

namespace orrery {
namespace {

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

TEST(Text, nearest_word_is_found) {
  const std::vector<std::string> words = {"fleet", "fabric", "storage"};
  EXPECT_EQ(nearest("fabrik", words), "fabric");
  EXPECT_FALSE(nearest("zebra-crossing", words));
}

TEST(Text, invalid_utf8_is_detected) {
  EXPECT_TRUE(is_valid_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_valid_utf8("\xc0\xaf"));          // overlong
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(is_valid_utf8("\xe2\x82"));          // truncated
}

// Two of the last lead bytes, and the code points around the surrogates and at the end.
TEST(Text, utf8_boundaries_of_each_length_are_valid) {
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

TEST(Text, nearest_word_differs_in_one_letter_of_three) {
  const std::vector<std::string> words = {"abcdefgh", "stuv"};
  EXPECT_EQ(nearest("abcdeXXX", words), "abcdefgh") << "three slips in eight letters";
  EXPECT_FALSE(nearest("abcdXXXX", words)) << "four";
  EXPECT_EQ(nearest("stXX", words), "stuv") << "two in four";
  EXPECT_FALSE(nearest("sXXX", words));
  const std::string longest(64, 'q');
  EXPECT_EQ(nearest(longest, std::vector<std::string>{longest}), longest);
}

TEST(Text, first_and_last_letters_are_trimmed_and_lowered) {
  EXPECT_EQ(trimmed(" \t a b \r\n"), "a b");
  EXPECT_EQ(trimmed("x"), "x");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(lowered("AZaz@[09"), "azaz@[09");
  EXPECT_EQ(split("a,,b,", ',').size(), 4U);
  EXPECT_EQ(split_at_blanks("  a   b ").size(), 2U);
}

TEST(Text, overlong_utf8_is_invalid) {
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

TEST(Text, number_has_one_sign_and_no_trailing_text) {
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

TEST(Text, significant_prints_the_requested_digits) {
  EXPECT_EQ(significant(123.456, 4), "123.5");
  EXPECT_EQ(significant(0.99995, 3), "1");
  EXPECT_EQ(significant(1.5e-10, 2), "1.5e-10") << "no row of zeros";
  EXPECT_EQ(significant(2e-9, 2), "0.000000002");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(-std::numeric_limits<double>::infinity(), 3), "-inf");
}

TEST(Text, thousands_are_grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(123456789), "123,456,789");
}

// One error in three letters: deleted, inserted, replaced. Ties go to the first candidate.
TEST(Text, edit_distance_counts_insertions_deletions_and_replacements) {
  const std::vector<std::string> words = {"storage", "fabric", "site", "size"};
  EXPECT_EQ(nearest("fabic", words), "fabric");
  EXPECT_EQ(nearest("fabrric", words), "fabric");
  EXPECT_EQ(nearest("fabriq", words), "fabric");
  EXPECT_EQ(nearest("sixe", words), "site");
  EXPECT_FALSE(nearest("garage!", words)) << "four slips in seven letters";
  EXPECT_FALSE(nearest("x", std::vector<std::string>{"abcd"}));
  EXPECT_FALSE(nearest(std::string(65, 'a'), std::vector<std::string>{std::string(65, 'a')}));
}

TEST(Text, significant_is_plain_below_1e15) {
  EXPECT_EQ(significant(123456, 3), "123000");
  EXPECT_EQ(significant(9.87654e14, 3), "988000000000000");
  EXPECT_EQ(significant(1.5e15, 3), "1.5e+15");
  EXPECT_EQ(significant(-2500, 2), "-2500");
}

}  // namespace
}  // namespace orrery
