#include "report/document.h"

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
