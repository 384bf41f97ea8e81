#include "core/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "core/base/units.h"

namespace orrery {
namespace {

TEST(Printable, leaves_readable_text_alone) {
  for (const char* text : {"", "plain", "30 °C – 12 % \xc2\xb5s", "\xf0\x9f\x98\x80 ok", "a\\b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, terminal_sequences_are_escaped) {
  EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
  EXPECT_EQ(printable("a\nPASS\r\tb"), "a\\nPASS\\r\\tb");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J");                                       // the one-character CSI
  EXPECT_EQ(printable("x\xe2\x80\xaeyaml"), "x\\u202eyaml");  // right-to-left override
  EXPECT_EQ(printable("\xff\xfe \xc3"), "\\xff\\xfe \\xc3");
  EXPECT_EQ(printable(std::string(1, '\0')), "\\x00");
}

TEST(Printable, later_lines_are_indented) {
  EXPECT_EQ(printable_lines("one\ntwo\x1b\n", "  "), "one\n  two\\x1b\n  ");
}

// A name cannot end its line and begin another that looks like one of ours.
TEST(Printable, diagnostic_cannot_be_forged) {
  const std::string text = to_text(Diagnostic{.code = "x",
                                              .place = {.file = "a\nb.yaml: error: forged"},
                                              .what = "bad name \x1b[2J\nerror: forged",
                                              .why = "first\nerror: forged",
                                              .fix = {}});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\nerror"), std::string::npos);
  EXPECT_EQ(text.find("\nb.yaml"), std::string::npos);
}

// Invalid UTF-8 is shown byte by byte: overlong forms, stray continuation bytes, and lead bytes
// beyond the last character.
TEST(Printable, incomplete_characters_are_escaped) {
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\x80"), "\\x80");
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xe2(\xa1"), "\\xe2(\\xa1");
}

// NEL, both Unicode line breaks, all direction marks, and the byte order mark.
TEST(Printable, control_characters_are_escaped) {
  EXPECT_EQ(printable("\xc2\x80\xc2\x85\xc2\x9f\x7f"), "\\x80\\x85\\x9f\\x7f");
  EXPECT_EQ(printable("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\xe2\x80\xaa\xe2\x80\xae"), "\\u202a\\u202e");
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069");
  EXPECT_EQ(printable("\xe2\x80\x8e\xe2\x80\x8f\xef\xbb\xbf"), "\\u200e\\u200f\\ufeff");
  EXPECT_EQ(printable("\xc2\xa0\xe2\x80\x93"), "\xc2\xa0\xe2\x80\x93") << "a blank and a dash";
}

TEST(Printable, line_breaks_are_escaped_except_the_last) {
  EXPECT_EQ(printable_lines("a\nb\n\nc", "> "), "a\n> b\n> \n> c");
}

}  // namespace
}  // namespace orrery
