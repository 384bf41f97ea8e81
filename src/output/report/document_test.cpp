#include "output/report/document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace orrery::report {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Document, text_stays_within_100_columns) {
  EXPECT_EQ(TextStyle{}.width, 100U);
  EXPECT_FALSE(TextStyle{}.has_colour);
  EXPECT_EQ(Heading{}.level, 1);
  Document d;
  d.paragraph(std::string(49, 'a') + "  " + std::string(50, 'b'));
  EXPECT_EQ(to_text(d), std::string(49, 'a') + " " + std::string(50, 'b') + "\n");
  Document longer;
  longer.paragraph(std::string(50, 'a') + " " + std::string(50, 'b'));
  EXPECT_EQ(to_text(longer), std::string(50, 'a') + "\n" + std::string(50, 'b') + "\n");
}

std::vector<std::string> set_lines(const Document& d, const TextStyle& style = {}) {
  std::vector<std::string> lines;
  const std::string text = to_text(d, style);
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();  // after the last newline
  return lines;
}

std::size_t characters(std::string_view s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(s, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(Document, column_width_counts_characters_not_bytes) {
  Document d;
  d.table({.header = {}, .rows = {{"äöü", "x"}, {"abc", "y"}}, .flush_right = {}});
  EXPECT_THAT(set_lines(d), ElementsAre("  äöü  x", "  abc  y"));
}

TEST(Document, numbers_are_right_aligned) {
  Document d;
  d.table(
      {.header = {}, .rows = {{"a", "5", "s"}, {"b", "1234", "s"}}, .flush_right = {false, true}});
  EXPECT_THAT(set_lines(d), ElementsAre("  a     5  s", "  b  1234  s"));
}

// Twenty columns hold "aaaa bbbb cccc ddddd" and not one character more.
TEST(Document, lines_stay_within_the_width) {
  Document full;
  full.paragraph("aaaa bbbb cccc ddddd");
  EXPECT_THAT(set_lines(full, {.width = 20}), ElementsAre("aaaa bbbb cccc ddddd"));
  Document over;
  over.paragraph("aaaa bbbb cccc dddddd");
  EXPECT_THAT(set_lines(over, {.width = 20}), ElementsAre("aaaa bbbb cccc", "dddddd"));
}

TEST(Document, bullet_lines_are_indented) {
  Document d;
  d.bullets({"aaaa bbbb cccc dddd"});
  EXPECT_THAT(set_lines(d, {.width = 20}), ElementsAre("  - aaaa bbbb cccc", "    dddd"));
}

Document toned_sample() {
  Document d;
  d.heading(1, "fails", Tone::bad);
  d.heading(2, "plain");
  d.heading(3, "small", Tone::warn);
  d.table({.header = {"goal"},
           .rows = {{"one"}, {"two"}, {"three"}},
           .flush_right = {},
           .tones = {Tone::good, Tone::bad}});
  return d;
}

TEST(Document, html_tones_are_classes) {
  const std::string h = to_html(toned_sample());
  EXPECT_THAT(h, HasSubstr("<h1 class=\"bad\">fails</h1>"));
  EXPECT_THAT(h, HasSubstr("<h2>plain</h2>"));
  EXPECT_THAT(h, HasSubstr("<h3 class=\"warn\">small</h3>"));
  EXPECT_THAT(h, HasSubstr("<tr class=\"good\"><td>one</td></tr>"));
  EXPECT_THAT(h, HasSubstr("<tr class=\"bad\"><td>two</td></tr>"));
  EXPECT_THAT(h, HasSubstr("<tr><td>three</td></tr>"));
}

Table wide_table() {
  return {.header = {"name", "count", "what it is"},
          .rows = {{"one two three four five six seven eight nine ten", "1234567890",
                    "eleven twelve thirteen fourteen"},
                   {"short", "2", "text"}},
          .flush_right = {false, true, false}};
}

// The table needs 96 columns and gets 80: the widest column that is aligned to the left is
// narrowed. The numbers and the shorter texts stay on one line, and no word is lost.
TEST(Document, wide_tables_wrap_their_widest_column) {
  Document d;
  d.table(wide_table());
  const auto lines = set_lines(d, {.width = 80});
  std::string all;
  for (const std::string& line : lines) {
    EXPECT_LE(characters(line), 80U) << line;
    all += line + '\n';
  }
  for (const char* word : {"one", "seven", "ten", "1234567890", "text"}) {
    EXPECT_THAT(all, HasSubstr(word));
  }
  EXPECT_THAT(all, HasSubstr("eleven twelve thirteen fourteen"));
  EXPECT_EQ(lines.size(), 4U) << "the head, two lines of the first row, the second row\n" << all;
  EXPECT_EQ(set_lines(d, {.width = 120}).size(), 3U);
}

TEST(Document, row_height_is_that_of_the_tallest_cell) {
  Document d;
  d.table({.header = {},
           .rows = {{"aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd", "x"}},
           .flush_right = {}});
  const auto lines = set_lines(d, {.width = 30});
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  for (const char* word : {"aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd", "x"}) {
    EXPECT_THAT(all, HasSubstr(word));
  }
}

std::string as_markdown(const Block& block) {
  Document d;
  d.blocks.push_back(block);
  return to_markdown(d);
}

// CommonMark: a code span ends at a run of as many backticks as began it. One that never ends is
// text, and text is escaped.
TEST(Document, markdown_pairs_backticks_as_commonmark_does) {
  EXPECT_EQ(as_markdown(Paragraph{"`a` [b]"}), "`a` \\[b\\]\n");
  EXPECT_EQ(as_markdown(Paragraph{"`x``<y>"}), "\\`x\\`\\`&lt;y>\n");
  EXPECT_EQ(as_markdown(Paragraph{"``a`<b>``"}), "``a`<b>``\n");
}

TEST(Document, markdown_text_opens_no_heading_or_quote) {
  EXPECT_EQ(as_markdown(Paragraph{"# one"}), "\\# one\n");
  EXPECT_EQ(as_markdown(Paragraph{"> one"}), "\\> one\n");
  EXPECT_EQ(as_markdown(Paragraph{"one # > | two"}), "one # > | two\n");
}

TEST(Document, bars_in_markdown_cells_are_escaped) {
  const std::string m = as_markdown(Table{.header = {"a|b"}, .rows = {{"c|d"}}, .flush_right = {}});
  EXPECT_EQ(m, "| a\\|b |\n| --- |\n| c\\|d |\n");
}

TEST(Document, a_fence_is_longer_than_any_inside) {
  EXPECT_EQ(as_markdown(Verbatim{"plain"}), "```\nplain\n```\n");
  EXPECT_EQ(as_markdown(Verbatim{"a ```` b"}), "`````\na ```` b\n`````\n");
}

// A GitHub table has a header, and as many columns in its rule as in its rows.
TEST(Document, a_markdown_table_always_has_a_header) {
  EXPECT_EQ(as_markdown(Table{.header = {}, .rows = {{"a", "b"}}, .flush_right = {false, true}}),
            "|  |  |\n| --- | ---: |\n| a | b |\n");
  EXPECT_EQ(as_markdown(Table{.header = {"a", "b"}, .rows = {}, .flush_right = {}}),
            "| a | b |\n| --- | --- |\n");
}

TEST(Document, markdown_ends_with_one_newline) {
  for (const Block& b : {Block(Paragraph{"a"}), Block(Bullets{{"a"}}), Block(Heading{1, "a"})}) {
    const std::string m = as_markdown(b);
    EXPECT_THAT(m, EndsWith("\n"));
    EXPECT_THAT(m, Not(EndsWith("\n\n")));
  }
}

TEST(Document, html_title_is_the_first_heading) {
  Document d;
  d.paragraph("before");
  d.heading(2, "One & two");
  d.table({.header = {"n"}, .rows = {{"5"}}, .flush_right = {true}});
  const std::string h = to_html(d);
  EXPECT_THAT(h, HasSubstr("<title>One &amp; two</title>"));
  EXPECT_THAT(h, HasSubstr("<th class=\"right\">n</th>"));
  EXPECT_THAT(h, HasSubstr("<td class=\"right\">5</td>"));
  EXPECT_THAT(to_html(Document{}), HasSubstr("<title>Orrery</title>"));
}

TEST(Document, tiles_have_label_value_and_interval_in_every_format) {
  Document d;
  d.tiles({{.label = "goodput", .value = "97 %", .detail = "95 % .. 98 %"}});
  for (const std::string& form : {to_text(d), to_markdown(d), to_html(d)}) {
    for (const char* part : {"goodput", "97 %", "95 % .. 98 %"}) EXPECT_THAT(form, HasSubstr(part));
  }
}

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

// No byte of a name reaches a terminal as a command, and no name can begin a line.
TEST(Document, control_characters_do_not_reach_a_terminal) {
  const std::string t = to_text(hostile("\x1b[2J\x1b[1;1H\nPASS\r\xc2\x9bK"));
  for (const char c : t) EXPECT_TRUE(c == '\n' || (c >= ' ' && c != 0x7f)) << t;
  EXPECT_THAT(t, ::testing::Not(HasSubstr("\nPASS")));
  EXPECT_THAT(t, HasSubstr("\\x1b[2J"));
}

TEST(Document, markdown_escapes_names) {
  const std::string m = to_markdown(
      hostile("<script>alert(1)</script> ![x](http://evil) &lt; `a|b` ` ``` \n# forged"));
  const std::string text = m.substr(0, m.find("\n````\n"));  // inside a fence everything is text
  EXPECT_THAT(text, ::testing::Not(HasSubstr("<script")));
  EXPECT_THAT(m, HasSubstr("&lt;script>"));
  EXPECT_THAT(m, HasSubstr("!\\[x\\](http://evil)"));
  EXPECT_THAT(m, HasSubstr("&amp;lt;"));
  EXPECT_THAT(m, HasSubstr("`a\\|b`"));
  EXPECT_THAT(m, HasSubstr("\n````\n"));  // longer than any fence inside
  EXPECT_THAT(text, ::testing::Not(HasSubstr("\n# forged")));
}

TEST(Document, html_escapes_text) {
  const std::string h = to_html(sample());
  EXPECT_THAT(h, HasSubstr("<title>Review</title>"));
  EXPECT_THAT(h, HasSubstr("Passes &amp; &lt;holds&gt;."));
  EXPECT_THAT(h, ::testing::Not(HasSubstr("http")));  // loads nothing: it opens from disk
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

std::string table_text(std::vector<std::vector<std::string>> rows, std::vector<bool> flush_right,
                       std::size_t width) {
  Document d;
  d.table({.header = {}, .rows = std::move(rows), .flush_right = std::move(flush_right)});
  return to_text(d, {.width = width});
}

// Returns "word" n times with blanks between: 5 n - 1 characters.
std::string words_of(int n) {
  std::string out = "word";
  for (int i = 1; i < n; ++i) out += " word";
  return out;
}

// Columns of 19 and 39, each with a blank on either side and one before: 63. In 50 columns the wide
// one gets 26, five words.
TEST(Document, the_widest_column_is_narrowed_first) {
  const std::string narrow = words_of(4), wide = words_of(8);
  EXPECT_EQ(table_text({{narrow, wide}}, {}, 50),
            "  " + narrow + "  " + words_of(5) + "\n" + std::string(23, ' ') + words_of(3) + "\n");
  EXPECT_EQ(table_text({{wide, narrow}}, {}, 50),
            "  " + words_of(5) + "    " + narrow + "\n  " + words_of(3) + "\n");
  EXPECT_EQ(table_text({{narrow, wide}}, {}, 63), "  " + narrow + "  " + wide + "\n");
}

TEST(Document, numbers_are_not_broken) {
  const std::string number = words_of(8), text = words_of(4);
  EXPECT_EQ(table_text({{number, text}}, {true, false}, 58),
            "  " + number + "  " + words_of(3) + "\n" + std::string(43, ' ') + "word\n");
  EXPECT_EQ(table_text({{number, text}}, {true, true}, 70), "  " + number + "  " + text + "\n");
}

// Fourteen are the least of a column: two words.
TEST(Document, columns_keep_a_minimum_width) {
  EXPECT_EQ(table_text({{words_of(4), words_of(4)}}, {}, 10),
            "  word    word\n  word    word\n  word    word\n  word    word\n");
}

TEST(Document, a_table_of_numbers_wraps_rather_than_overflow) {
  const std::string number = words_of(8);
  for (const std::string_view line :
       split(table_text({{number, number}}, {true, true}, 50), '\n')) {
    EXPECT_LE(characters(line), 50U) << line;
  }
}

TEST(Document, a_word_longer_than_its_column_is_cut) {
  EXPECT_EQ(table_text({{std::string(30, 'x'), "y"}}, {}, 30),
            "  " + std::string(24, 'x') + "  y\n  " + std::string(6, 'x') + "\n");
}

TEST(Document, long_headings_and_formulas_are_folded) {
  Document d;
  d.heading(2, words_of(12));
  d.verbatim(words_of(12));
  EXPECT_THAT(set_lines(d, {.width = 40}),
              ElementsAre(words_of(8), words_of(4), std::string(39, '-'), "    " + words_of(7),
                          "      " + words_of(5)));
}

TEST(Document, folded_text_keeps_its_indentation_and_short_lines) {
  EXPECT_EQ(folded("short\n  " + words_of(5) + "\n", 20),
            "short\n  word word word\n    word word\n");
}

TEST(Document, cells_that_fit_are_not_wrapped) {
  EXPECT_EQ(table_text({{"a  b"}, {"cdef"}}, {}, 80), "  a  b\n  cdef\n");
  EXPECT_EQ(table_text({{"a  b", "x"}}, {true, false}, 80), "  a  b  x\n");
}

}  // namespace
}  // namespace orrery::report
