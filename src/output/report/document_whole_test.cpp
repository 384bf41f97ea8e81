// One document with every kind of block, whole in each of its forms.
#include <gtest/gtest.h>

#include "output/report/document.h"

namespace orrery::report {
namespace {

Document every_block() {
  Document d;
  d.heading(1, "A <b> & \"c\"", Tone::bad);
  d.paragraph("one & 'two'");
  d.bullets({"x < y", "`code | of`"});
  d.table({.header = {"name", "size"},
           .rows = {{"a|b", "12"}, {"cc", "3"}, {"d", "4"}},
           .flush_right = {false, true},
           .tones = {Tone::good, Tone::warn}});
  d.table({.header = {}, .rows = {{"p", "q"}}, .flush_right = {}});
  d.verbatim("f = a <b>\n  g");
  d.drawing("<svg/>\n");
  d.tiles({{"rate", "7 GB/s", "5 .. 9"}, {"\"n\"", "8", ""}});
  d.fold("more & less");
  d.heading(3, "inside", Tone::good);
  d.end_fold();
  d.heading(2, "after", Tone::warn);
  return d;
}

TEST(document_whole, as_html) {
  const std::string html = to_html(every_block());
  const std::size_t body = html.find("<body>\n");
  ASSERT_NE(body, std::string::npos);
  EXPECT_TRUE(
      html.starts_with("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<title>A &lt;b&gt; &amp; &quot;c&quot;</title>\n<style>\n"));
  EXPECT_EQ(html.substr(body + 7),
            "<h1 class=\"bad\">A &lt;b&gt; &amp; &quot;c&quot;</h1>\n"
            "<p>one &amp; &#39;two&#39;</p>\n"
            "<ul>\n<li>x &lt; y</li>\n<li>`code | of`</li>\n</ul>\n"
            "<div class=\"wide\"><table>\n"
            "<tr><th>name</th><th class=\"right\">size</th></tr>\n"
            "<tr class=\"good\"><td>a|b</td><td class=\"right\">12</td></tr>\n"
            "<tr class=\"warn\"><td>cc</td><td class=\"right\">3</td></tr>\n"
            "<tr><td>d</td><td class=\"right\">4</td></tr>\n"
            "</table></div>\n"
            "<div class=\"wide\"><table>\n<tr><td>p</td><td>q</td></tr>\n</table></div>\n"
            "<pre>f = a &lt;b&gt;\n  g</pre>\n"
            "<svg/>\n"
            "<div class=\"tiles\">\n"
            "<div class=\"tile\"><span>rate</span><b>7 GB/s</b><small>5 .. 9</small></div>\n"
            "<div class=\"tile\"><span>&quot;n&quot;</span><b>8</b><small></small></div>\n"
            "</div>\n"
            "<details><summary>more &amp; less</summary>\n"
            "<h3 class=\"good\">inside</h3>\n"
            "</details>\n"
            "<h2 class=\"warn\">after</h2>\n"
            "</body></html>\n");
}

TEST(document_whole, as_markdown) {
  EXPECT_EQ(to_markdown(every_block()),
            "# A &lt;b> &amp; \"c\"\n\n"
            "one &amp; 'two'\n\n"
            "- x &lt; y\n- `code | of`\n\n"
            "| name | size |\n| --- | ---: |\n| a\\|b | 12 |\n| cc | 3 |\n| d | 4 |\n\n"
            "|  |  |\n| --- | --- |\n| p | q |\n\n"
            "```\nf = a <b>\n  g\n```\n\n"
            "|  |  | 80 % interval |\n| --- | ---: | --- |\n| rate | 7 GB/s | 5 .. 9 |\n"
            "| \"n\" | 8 |  |\n\n"
            "<details><summary>more &amp; less</summary>\n\n"
            "### inside\n\n"
            "</details>\n\n"
            "## after\n");
}

TEST(document_whole, as_text) {
  EXPECT_EQ(to_text(every_block()),
            "A <b> & \"c\"\n===========\n"
            "one & 'two'\n"
            "  - x < y\n  - `code | of`\n"
            "  name  size\n  a|b     12\n  cc       3\n  d        4\n"
            "  p  q\n"
            "    f = a <b>\n      g\n"
            "  rate  7 GB/s  5 .. 9\n  \"n\"        8\n"
            "\nmore & less\n-----------\n"
            "\ninside\n"
            "\nafter\n-----\n");
}

// Bold titles and the colours of tones, as terminals take them.
TEST(document_whole, in_colour) {
  const std::string text = to_text(every_block(), {.has_colour = true});
  EXPECT_TRUE(text.starts_with("\x1b[1;31mA <b> & \"c\"\x1b[0m\n===========\n")) << text;
  EXPECT_NE(text.find("\x1b[1m  name  size\x1b[0m\n\x1b[32m  a|b     12\x1b[0m\n"
                      "\x1b[33m  cc       3\x1b[0m\n  d        4\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n\n\x1b[32minside\x1b[0m\n"), std::string::npos) << text;
}

TEST(document_whole, without_a_heading_it_is_orrery_s) {
  Document d;
  d.paragraph("x");
  EXPECT_NE(to_html(d).find("<title>Orrery</title>"), std::string::npos);
  EXPECT_EQ(to_markdown({}), "");
  EXPECT_EQ(Heading{}.level, 1);
}

}  // namespace
}  // namespace orrery::report
