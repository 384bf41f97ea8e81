// Tables that are too wide: which column gives way and by how much; cells that fit stand as they
// are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "output/report/document.h"

namespace orrery::report {
namespace {

std::string table_text(std::vector<std::vector<std::string>> rows, std::vector<bool> flush_right,
                       std::size_t width) {
  Document d;
  d.table({.header = {}, .rows = std::move(rows), .flush_right = std::move(flush_right)});
  return to_text(d, {.width = width, .fits_tables = true});
}

// "word" n times with blanks between: 5 n - 1 characters.
std::string words_of(int n) {
  std::string out = "word";
  for (int i = 1; i < n; ++i) out += " word";
  return out;
}

// Columns of 19 and 39, each with a blank on either side and one before: 63. In 50 the wide one has
// 26, five words.
TEST(table_widths, the_widest_column_gives_way_wherever_it_stands) {
  const std::string narrow = words_of(4), wide = words_of(8);
  EXPECT_EQ(table_text({{narrow, wide}}, {}, 50),
            "  " + narrow + "  " + words_of(5) + "\n" + std::string(23, ' ') + words_of(3) + "\n");
  EXPECT_EQ(table_text({{wide, narrow}}, {}, 50),
            "  " + words_of(5) + "    " + narrow + "\n  " + words_of(3) + "\n");
  EXPECT_EQ(table_text({{narrow, wide}}, {}, 63), "  " + narrow + "  " + wide + "\n");
}

TEST(table_widths, numbers_are_not_broken) {
  const std::string number = words_of(8), text = words_of(4);
  EXPECT_EQ(table_text({{number, text}}, {true, false}, 58),
            "  " + number + "  " + words_of(3) + "\n" + std::string(43, ' ') + "word\n");
  EXPECT_EQ(table_text({{number, text}}, {true, true}, 20), "  " + number + "  " + text + "\n")
      << "where no column may, none gives way";
}

// Fourteen are the least of a column: two words.
TEST(table_widths, no_column_is_made_narrower_than_a_word_or_two) {
  EXPECT_EQ(table_text({{words_of(4), words_of(4)}}, {}, 10),
            "  word word word  word word word\n  word            word\n");
}

TEST(table_widths, a_cell_that_fits_stands_as_it_is) {
  EXPECT_EQ(table_text({{"a  b"}, {"cdef"}}, {}, 80), "  a  b\n  cdef\n");
  EXPECT_EQ(table_text({{"a  b", "x"}}, {true, false}, 80), "  a  b  x\n");
}

}  // namespace
}  // namespace orrery::report
