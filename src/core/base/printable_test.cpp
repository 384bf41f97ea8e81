#include "core/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/diagnostic.h"

namespace orrery {
namespace {

TEST(Printable, leaves_readable_text_alone) {
  for (const char* text : {"", "plain", "30 °C – 12 % \xc2\xb5s", "\xf0\x9f\x98\x80 ok", "a\\b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, shows_what_a_terminal_would_obey) {
  EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
  EXPECT_EQ(printable("a\nPASS\r\tb"), "a\\nPASS\\r\\tb");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J");                                       // the one-character CSI
  EXPECT_EQ(printable("x\xe2\x80\xaeyaml"), "x\\u202eyaml");  // right to left from here
  EXPECT_EQ(printable("\xff\xfe \xc3"), "\\xff\\xfe \\xc3");
  EXPECT_EQ(printable(std::string(1, '\0')), "\\x00");
}

TEST(Printable, later_lines_are_indented) {
  EXPECT_EQ(printable_lines("one\ntwo\x1b\n", "  "), "one\n  two\\x1b\n  ");
}

// A name cannot end its line and begin another as if we had said it.
TEST(Printable, a_diagnostic_cannot_be_forged) {
  const std::string text = to_text(Diagnostic{.code = "x",
                                              .place = {.file = "a\nb.yaml: error: forged"},
                                              .what = "bad name \x1b[2J\nerror: forged",
                                              .why = "first\nerror: forged",
                                              .fix = {}});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\nerror"), std::string::npos);
  EXPECT_EQ(text.find("\nb.yaml"), std::string::npos);
}

}  // namespace
}  // namespace orrery
