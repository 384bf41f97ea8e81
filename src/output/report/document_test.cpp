#include "output/report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::report {
namespace {

using ::testing::HasSubstr;

Document sample() {
  Document d;
  d.heading(1, "Review");
  d.paragraph("Passes & <holds>.");
  d.table({.header = {"figure", "value"},
           .rows = {{"step", "5.8 s"}, {"a|b", "12 s"}},
           .flush_right = {false, true}});
  d.bullets({"one"});
  d.verbatim("a = b\n  = 2");
  return d;
}

TEST(Document, text_aligns_columns) {
  EXPECT_EQ(to_text(sample()),
            "Review\n======\nPasses & <holds>.\n"
            "  figure  value\n  step    5.8 s\n  a|b      12 s\n"
            "  - one\n    a = b\n      = 2\n");
}

TEST(Document, markdown_escapes_cells) {
  const std::string m = to_markdown(sample());
  EXPECT_THAT(m, HasSubstr("| --- | ---: |"));
  EXPECT_THAT(m, HasSubstr("a\\|b"));
}

Document hostile(const std::string& name) {
  Document d;
  d.heading(1, name);
  d.paragraph(name);
  d.bullets({name});
  d.table({.header = {name}, .rows = {{name}}, .flush_right = {}});
  d.verbatim(name);
  return d;
}

// No byte of a name acts on a terminal, and no line begins with what a name said.
TEST(Document, names_reach_a_terminal_as_text) {
  const std::string t = to_text(hostile("\x1b[2J\x1b[1;1H\nPASS\r\xc2\x9bK"));
  for (const char c : t) EXPECT_TRUE(c == '\n' || (c >= ' ' && c != 0x7f)) << t;
  EXPECT_THAT(t, ::testing::Not(HasSubstr("\nPASS")));
  EXPECT_THAT(t, HasSubstr("\\x1b[2J"));
}

TEST(Document, names_reach_markdown_as_text) {
  const std::string m = to_markdown(
      hostile("<script>alert(1)</script> ![x](http://evil) &lt; `a|b` ` ``` \n# forged"));
  const std::string text = m.substr(0, m.find("\n````\n"));  // in a fence all is text
  EXPECT_THAT(text, ::testing::Not(HasSubstr("<script")));
  EXPECT_THAT(m, HasSubstr("&lt;script>"));
  EXPECT_THAT(m, HasSubstr("!\\[x\\](http://evil)"));
  EXPECT_THAT(m, HasSubstr("&amp;lt;"));
  EXPECT_THAT(m, HasSubstr("`a\\|b`"));
  EXPECT_THAT(m, HasSubstr("\n````\n"));  // longer than any in it
  EXPECT_THAT(text, ::testing::Not(HasSubstr("\n# forged")));
}

TEST(Document, html_escapes_text_and_names_itself) {
  const std::string h = to_html(sample());
  EXPECT_THAT(h, HasSubstr("<title>Review</title>"));
  EXPECT_THAT(h, HasSubstr("Passes &amp; &lt;holds&gt;."));
  EXPECT_THAT(h, ::testing::Not(HasSubstr("http")));  // nothing is fetched: it opens from disk
}

TEST(Document, text_wraps_long_paragraphs) {
  Document d;
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  d.paragraph(words);
  std::size_t start = 0;
  const std::string t = to_text(d);
  for (std::size_t at = t.find('\n'); at != std::string::npos; at = t.find('\n', start)) {
    EXPECT_LE(at - start, kTextWidth);
    start = at + 1;
  }
}

}  // namespace
}  // namespace orrery::report
