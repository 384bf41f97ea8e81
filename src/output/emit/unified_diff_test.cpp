#include "output/emit/unified_diff.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "live/agent/test_folder.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;

std::string lines_of_numbers(int from, int to, int changed = -1) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    text += (i == changed ? "other" : std::to_string(i)) + std::string("\n");
  }
  return text;
}

struct DiffSides {
  std::string before, after;
  std::size_t changes = 0;
};

DiffSides sides_of(const std::string& diff) {
  DiffSides sides;
  std::size_t at = diff.find("\n@@");
  if (at == std::string::npos) return sides;
  at = diff.find('\n', at + 1) + 1;
  for (; at < diff.size(); at = diff.find('\n', at) + 1) {
    const char sign = diff[at];
    if (sign != '+') sides.before += diff[at + 1];
    if (sign != '-') sides.after += diff[at + 1];
    sides.changes += sign == ' ' ? 0 : 1;
  }
  return sides;
}

std::string lines_of_letters(const std::string& letters) {
  std::string text;
  for (const char c : letters) text += std::string(1, c) + '\n';
  return text;
}

// Returns the length of the longest common subsequence, by the usual table.
std::size_t common_lines(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> most(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      most[i][j] =
          a[i - 1] == b[j - 1] ? most[i - 1][j - 1] + 1 : std::max(most[i - 1][j], most[i][j - 1]);
    }
  }
  return most[a.size()][b.size()];
}

TEST(UnifiedDiff, equals_the_output_of_diff) {
  const std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
  const std::string after = "1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
  EXPECT_EQ(unified_diff({.path = "f", .before = before, .after = after}),
            "--- a/f\n+++ b/f\n"
            "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n"
            "@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n");
  EXPECT_EQ(unified_diff({.path = "f", .before = before, .after = before}), "");
  EXPECT_EQ(unified_diff({.path = "f", .before = "", .after = "a\n", .is_new = true}),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
}

TEST(UnifiedDiff, very_different_texts_are_replaced) {
  std::string before;
  std::string after;
  for (int i = 0; i < 3000; ++i) {
    before += "a" + std::to_string(i) + '\n';
    after += "b" + std::to_string(i) + '\n';
  }
  const std::string diff = unified_diff({.path = "f", .before = before, .after = after});
  EXPECT_THAT(diff, HasSubstr("@@ -1,3000 +1,3000 @@\n-a0\n"));
}

// Every pair of texts with up to five lines of two kinds: such short texts are shown completely,
// except lines more than three away from any change.
TEST(UnifiedDiff, a_diff_gives_both_texts_and_is_the_shortest) {
  std::vector<std::string> all = {""};
  for (std::size_t i = 0; all[i].size() < 5; ++i) {
    all.push_back(all[i] + 'a');
    all.push_back(all[i] + 'b');
  }
  for (const std::string& a : all) {
    for (const std::string& b : all) {
      if (a == b) continue;
      const std::string before = lines_of_letters(a), after = lines_of_letters(b);
      const std::string diff = unified_diff({.path = "f", .before = before, .after = after});
      const DiffSides sides = sides_of(diff);
      ASSERT_EQ(sides.changes, a.size() + b.size() - 2 * common_lines(a, b)) << a << ' ' << b;
      ASSERT_NE(a.find(sides.before), std::string::npos) << a << ' ' << b;
      ASSERT_NE(b.find(sides.after), std::string::npos) << a << ' ' << b;
      ASSERT_TRUE(diff.starts_with("--- a/f\n+++ b/f\n@@ -")) << diff;
    }
  }
}

// A change after four lines: the first of them is not shown.
TEST(UnifiedDiff, three_lines_of_context_on_either_side) {
  const auto diff = [](const std::string& a, const std::string& b) {
    const std::string before = lines_of_letters(a), after = lines_of_letters(b);
    return unified_diff({.path = "f", .before = before, .after = after}).substr(16);
  };
  EXPECT_EQ(diff("abcXdef", "abcYdef"), "@@ -1,7 +1,7 @@\n a\n b\n c\n-X\n+Y\n d\n e\n f\n");
  EXPECT_EQ(diff("abcdXefgh", "abcdYefgh"), "@@ -2,7 +2,7 @@\n b\n c\n d\n-X\n+Y\n e\n f\n g\n");
  EXPECT_EQ(diff("X123456Y", "x123456y"),
            "@@ -1,8 +1,8 @@\n-X\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-Y\n+y\n");
  EXPECT_EQ(diff("X1234567Y", "x1234567y"),
            "@@ -1,4 +1,4 @@\n-X\n+x\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-Y\n+y\n");
}

// As diff -u: three lines around a change, one hunk if two changes are close.
TEST(UnifiedDiff, hunks_have_three_lines_of_context_and_their_place) {
  const std::string a = lines_of_numbers(1, 30);
  const std::string one =
      unified_diff({.path = "f", .before = a, .after = lines_of_numbers(1, 30, 15)});
  EXPECT_THAT(one,
              HasSubstr("--- a/f\n+++ b/f\n@@ -12,7 +12,7 @@\n 12\n 13\n 14\n-15\n+other\n 16\n"));
  std::string two = lines_of_numbers(1, 30, 10);
  two.replace(two.find("16\n"), 3, "twin\n");
  const std::string near = unified_diff({.path = "f", .before = a, .after = two});
  EXPECT_EQ(near.find("@@ ", near.find("@@ -") + 10), std::string::npos) << near;
  EXPECT_THAT(near, HasSubstr("@@ -7,13 +7,13 @@\n"));
  std::string far = lines_of_numbers(1, 30, 5);
  far.replace(far.find("25\n"), 3, "far\n");
  const std::string apart = unified_diff({.path = "f", .before = a, .after = far});
  EXPECT_THAT(apart, HasSubstr("@@ -2,7 +2,7 @@\n"));
  EXPECT_THAT(apart, HasSubstr("@@ -22,7 +22,7 @@\n"));
}

TEST(UnifiedDiff, an_empty_side_has_the_line_before_it) {
  EXPECT_EQ(unified_diff({.path = "f", .before = "", .after = "a\nb\n", .is_new = true}),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(unified_diff({.path = "f", .before = "a\n", .after = "", .is_gone = true}),
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
  EXPECT_EQ(unified_diff({.path = "f", .before = "a\n", .after = "a\n"}), "");
  EXPECT_NE(unified_diff({.path = "f", .before = "", .after = "", .is_new = true}), "");
  EXPECT_THAT(unified_diff({.path = "f", .before = "", .after = "\x1b[2J\tx\x7f\n"}),
              HasSubstr("+?[2J\tx?\n"));
}

// Applying a script gives the second text: lines are kept, inserted or removed.
TEST(UnifiedDiff, a_diff_of_few_edits_is_the_shortest) {
  const std::string a = "a\nb\nc\na\nb\nb\na\n", b = "c\nb\na\nb\na\nc\n";
  const std::string diff = unified_diff({.path = "f", .before = a, .after = b});
  int edits = 0;
  std::string kept_and_new;
  std::istringstream lines(diff.substr(diff.find("@@\n") + 3));
  for (std::string line; std::getline(lines, line);) {
    edits += line[0] != ' ';
    if (line[0] != '-') kept_and_new += line.substr(1) + '\n';
  }
  EXPECT_EQ(kept_and_new, b);
  EXPECT_EQ(edits, 5);
}

}  // namespace
}  // namespace orrery::emit
