// How a document is set: widths are of characters, lines keep to the width, colour only where it is
// asked for, and nothing of a cell is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/text.h"
#include "output/report/document.h"

namespace orrery::report {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> set_lines(const Document& d, const TextStyle& style = {}) {
  std::vector<std::string> lines;
  const std::string text = to_text(d, style);
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();  // behind the last break
  return lines;
}

std::size_t characters(std::string_view s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(s, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(DocumentLaws, columns_are_as_wide_as_their_characters_not_their_bytes) {
  Document d;
  d.table({.header = {}, .rows = {{"äöü", "x"}, {"abc", "y"}}, .flush_right = {}});
  EXPECT_THAT(set_lines(d), ElementsAre("  äöü  x", "  abc  y"));
}

TEST(DocumentLaws, a_column_of_numbers_ends_where_the_widest_does) {
  Document d;
  d.table(
      {.header = {}, .rows = {{"a", "5", "s"}, {"b", "1234", "s"}}, .flush_right = {false, true}});
  EXPECT_THAT(set_lines(d), ElementsAre("  a     5  s", "  b  1234  s"));
}

// Twenty columns hold "aaaa bbbb cccc ddddd" and not one letter more.
TEST(DocumentLaws, a_line_may_fill_its_width_and_not_pass_it) {
  Document full;
  full.paragraph("aaaa bbbb cccc ddddd");
  EXPECT_THAT(set_lines(full, {.width = 20}), ElementsAre("aaaa bbbb cccc ddddd"));
  Document over;
  over.paragraph("aaaa bbbb cccc dddddd");
  EXPECT_THAT(set_lines(over, {.width = 20}), ElementsAre("aaaa bbbb cccc", "dddddd"));
}

TEST(DocumentLaws, the_lines_of_a_bullet_hang_below_its_first_word) {
  Document d;
  d.bullets({"aaaa bbbb cccc dddd"});
  EXPECT_THAT(set_lines(d, {.width = 20}), ElementsAre("  - aaaa bbbb cccc", "    dddd"));
}

TEST(DocumentLaws, a_title_is_underlined_twice_a_chapter_once_and_the_rest_not) {
  Document d;
  d.heading(1, "äb");
  d.heading(2, "cd");
  d.heading(3, "ef");
  EXPECT_THAT(set_lines(d), ElementsAre("äb", "==", "", "cd", "--", "", "ef"));
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

// SGR: 1 is bold, 31 red, 32 green, 33 yellow; every sequence is ended by 0.
TEST(DocumentLaws, tones_are_colours_where_there_are_any) {
  const std::string t = to_text(toned_sample(), {.has_colour = true});
  EXPECT_THAT(t, HasSubstr("\x1b[1;31mfails\x1b[0m"));
  EXPECT_THAT(t, HasSubstr("\x1b[1mplain\x1b[0m"));
  EXPECT_THAT(t, HasSubstr("\x1b[33msmall\x1b[0m"));
  EXPECT_THAT(t, HasSubstr("\x1b[1m  goal\x1b[0m"));
  EXPECT_THAT(t, HasSubstr("\x1b[32m  one\x1b[0m"));
  EXPECT_THAT(t, HasSubstr("\x1b[31m  two\x1b[0m"));
  EXPECT_THAT(t, HasSubstr("\n  three\n")) << "a row without a tone is plain";
  EXPECT_THAT(to_text(toned_sample()), Not(HasSubstr("\x1b")));
}

TEST(DocumentLaws, tones_are_classes_of_html) {
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

// Of 96 columns asked for and 80 there, the widest that is set flush left gives way; the numbers
// and the shorter texts stay on one line, and no word is lost.
TEST(DocumentLaws, a_table_that_is_too_wide_is_broken_in_its_widest_column) {
  Document d;
  d.table(wide_table());
  const auto lines = set_lines(d, {.width = 80, .fits_tables = true});
  std::string all;
  for (const std::string& line : lines) {
    EXPECT_LE(characters(line), 80U) << line;
    all += line + '\n';
  }
  for (const char* word : {"one", "seven", "ten", "1234567890", "text"}) {
    EXPECT_THAT(all, HasSubstr(word));
  }
  EXPECT_THAT(all, HasSubstr("eleven twelve thirteen fourteen")) << "it was not the widest";
  EXPECT_EQ(lines.size(), 4U) << "the head, two lines of the first row, the second row\n" << all;
  Document as_is;
  as_is.table(wide_table());
  EXPECT_EQ(set_lines(as_is, {.width = 80}).size(), 3U) << "a pipe gets whole lines";
}

TEST(DocumentLaws, a_row_is_as_high_as_its_highest_cell) {
  Document d;
  d.table({.header = {},
           .rows = {{"aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd", "x"}},
           .flush_right = {}});
  const auto lines = set_lines(d, {.width = 30, .fits_tables = true});
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
// text, and what is text is escaped.
TEST(DocumentLaws, markdown_pairs_backticks_as_commonmark_does) {
  EXPECT_EQ(as_markdown(Paragraph{"`a` [b]"}), "`a` \\[b\\]\n");
  EXPECT_EQ(as_markdown(Paragraph{"`x``<y>"}), "\\`x\\`\\`&lt;y>\n");
  EXPECT_EQ(as_markdown(Paragraph{"``a`<b>``"}), "``a`<b>``\n");
}

TEST(DocumentLaws, markdown_text_begins_no_heading_and_no_quote) {
  EXPECT_EQ(as_markdown(Paragraph{"# one"}), "\\# one\n");
  EXPECT_EQ(as_markdown(Paragraph{"> one"}), "\\> one\n");
  EXPECT_EQ(as_markdown(Paragraph{"one # > | two"}), "one # > | two\n");
}

TEST(DocumentLaws, a_cell_of_markdown_has_no_bar_of_its_own) {
  const std::string m = as_markdown(Table{.header = {"a|b"}, .rows = {{"c|d"}}, .flush_right = {}});
  EXPECT_EQ(m, "| a\\|b |\n| --- |\n| c\\|d |\n");
}

TEST(DocumentLaws, a_fence_is_longer_than_any_in_its_text) {
  EXPECT_EQ(as_markdown(Verbatim{"plain"}), "```\nplain\n```\n");
  EXPECT_EQ(as_markdown(Verbatim{"a ```` b"}), "`````\na ```` b\n`````\n");
}

// A table of GitHub has a head and as many columns in its rule as in its rows.
TEST(DocumentLaws, a_markdown_table_without_a_head_has_an_empty_one) {
  EXPECT_EQ(as_markdown(Table{.header = {}, .rows = {{"a", "b"}}, .flush_right = {false, true}}),
            "|  |  |\n| --- | ---: |\n| a | b |\n");
  EXPECT_EQ(as_markdown(Table{.header = {"a", "b"}, .rows = {}, .flush_right = {}}),
            "| a | b |\n| --- | --- |\n");
}

TEST(DocumentLaws, markdown_ends_with_one_break) {
  for (const Block& b : {Block(Paragraph{"a"}), Block(Bullets{{"a"}}), Block(Heading{1, "a"})}) {
    const std::string m = as_markdown(b);
    EXPECT_THAT(m, EndsWith("\n"));
    EXPECT_THAT(m, Not(EndsWith("\n\n")));
  }
}

TEST(DocumentLaws, html_is_named_by_its_first_heading_and_sets_numbers_right) {
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

TEST(DocumentLaws, tiles_say_label_value_and_interval_in_every_form) {
  Document d;
  d.tiles({{.label = "goodput", .value = "97 %", .detail = "95 % .. 98 %"}});
  for (const std::string& form : {to_text(d), to_markdown(d), to_html(d)}) {
    for (const char* part : {"goodput", "97 %", "95 % .. 98 %"}) EXPECT_THAT(form, HasSubstr(part));
  }
}

}  // namespace
}  // namespace orrery::report
