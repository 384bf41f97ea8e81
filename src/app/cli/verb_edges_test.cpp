// Verbs at the edges of what they take: networks that are refused by every question about them,
// lists without what is told elsewhere, and differences that are never longer than they must be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/cli/spoken_fixture.h"
#include "output/emit/unified_diff.h"

namespace orrery::cli {
namespace {

using emit::unified_diff;

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(VerbEdges, a_network_that_cannot_be_is_refused_whatever_is_asked_of_it) {
  for (const char* verb : {"bill", "path", "what-if", "storm"}) {
    const VerbAnswer a = spoken({"fabric", verb, "--switch", "abacus"});
    EXPECT_EQ(a.code, ExitCode::bad_input) << verb;
    EXPECT_EQ(a.err,
              "error: no switch abacus [fabric.usage]\n    fix: see orrery catalog switches\n");
    EXPECT_EQ(a.out, "");
  }
}

TEST(VerbEdges, a_part_that_is_not_there_cannot_be_lost) {
  const auto said = [](const std::string& lose, const std::string& number) {
    const VerbAnswer a =
        spoken({"fabric", "what-if", "--nodes", "8", "--lose", lose, "--number", number});
    return a.code == ExitCode::good ? "good" : a.err.substr(0, a.err.find('\n'));
  };
  const std::string none = "error: the network has no such part to lose [fabric.no-such-part]";
  EXPECT_EQ(said("spine", "99"), none);
  EXPECT_EQ(said("link", "100000000"), none) << "a number that can be one";
  EXPECT_EQ(said("link", "100000001"), "error: no such part [fabric.usage]");
  EXPECT_EQ(said("link", "-1"), "error: no such part [fabric.usage]");
  EXPECT_EQ(said("nic", "63"), "good") << "8 nodes of 8 NICs";
  EXPECT_EQ(said("nic", "64"), none);
}

TEST(VerbEdges, ends_of_a_path_are_counted_from_nothing) {
  const auto said = [](const std::string& from, const std::string& to) {
    const VerbAnswer a =
        spoken({"fabric", "path", "--nodes", "4", "--nics", "1", "--from", from, "--to", to});
    return a.code == ExitCode::good ? a.out : a.err;
  };
  const std::string outside = "error: endpoints are 0 to 3 [fabric.usage]\n";
  EXPECT_EQ(said("0", "4"), outside);
  EXPECT_EQ(said("4", "0"), outside);
  EXPECT_EQ(said("-1", "0"), outside);
  EXPECT_EQ(said("0", "-1"), outside);
  EXPECT_THAT(said("0", "3"), EndsWith("2 links, 300 ns of latency, static routing.\n"));
  EXPECT_THAT(said("3", "0"), HasSubstr("  - node 3 -> leaf 0\n  - leaf 0 -> node 0\n"));
}

TEST(VerbEdges, a_list_has_no_column_of_what_is_told_elsewhere) {
  for (const char* table : {"grid_regions", "models", "accelerators", "engines", "nodes"}) {
    const VerbAnswer a = spoken({"catalog", table});
    ASSERT_EQ(a.code, ExitCode::good) << table;
    const auto second = a.out.find('\n', a.out.find('\n') + 1) + 1;
    const std::string header = a.out.substr(second, a.out.find('\n', second) - second);
    EXPECT_THAT(header, HasSubstr("  id ")) << table;
    EXPECT_THAT(header, EndsWith("confidence")) << table;
    for (const char* word : {"source", "date", "aliases"}) {
      EXPECT_THAT(header, Not(HasSubstr(word))) << table;
    }
  }
  EXPECT_THAT(spoken({"catalog", "engines", "vllm"}).out,
              EndsWith("\nNot stated: status_since, replaced_by.\n"));
}

// Faults are told all at once, and a wrong number of streams keeps anything from being asked.
TEST(VerbEdges, regions_and_repeats_of_a_bucket_have_their_bounds) {
  const Variable id("AWS_ACCESS_KEY_ID", "k"), secret("AWS_SECRET_ACCESS_KEY", "s");
  const auto faults = [](const std::string& region, const std::string& repeats) {
    const VerbAnswer a =
        spoken({"probe", "storage", "s3://bucket/p", "--endpoint", "http://127.0.0.1:9",
                "--streams", "257", "--region", region, "--repeats", repeats});
    EXPECT_EQ(a.code, ExitCode::bad_input);
    return a.err;
  };
  const std::string streams =
      "--streams: error: 257 is out of range [usage.value]\n    fix: write 1 to 256\n";
  for (const char* region : {"a", "z", "0", "9", "-", "az-09"}) {
    EXPECT_EQ(faults(region, "1000"), streams) << region;
  }
  for (const char* region : {"A", "a_b", "a.b", "a/b", "a:b", "a{b", "a`b"}) {
    EXPECT_EQ(faults(region, "1"), "--region: error: no name of a region [usage.value]\n" + streams)
        << region;
  }
  EXPECT_EQ(
      faults("a", "1001"),
      streams + "--repeats: error: 1001 is out of range [usage.value]\n    fix: write 1 to 1000\n");
  EXPECT_EQ(
      faults("a", "0"),
      streams + "--repeats: error: 0 is out of range [usage.value]\n    fix: write 1 to 1000\n");
}

TEST(VerbEdges, words_of_a_store_are_as_many_as_its_verb_takes) {
  const std::string usage = "error: a folder is missing, or there is a word too many [store.usage]";
  const auto said = [](const std::vector<std::string>& words) {
    const std::string err = spoken(words).err;
    return err.substr(0, err.find('\n'));
  };
  EXPECT_EQ(said({"store", "fsck", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "repair", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "status", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "somewhere", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "somewhere", "a"}), usage);
  EXPECT_EQ(said({"store", "lineage"}), usage);
  EXPECT_EQ(said({"store", "/no/such", "--lifecycle-day", "soon"}),
            "error: 'soon' is not the length of a day [store.day]");
  EXPECT_EQ(said({"store", "/no/such", "--lifecycle-day", "0.09 s"}),
            "error: '0.09 s' is not the length of a day [store.day]");
}

// The longest common part of two texts, by the usual table.
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

std::string lines_of_letters(const std::string& letters) {
  std::string text;
  for (const char c : letters) text += std::string(1, c) + '\n';
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

// Every pair of texts of up to five lines of two kinds: a hunk holds the whole of both where they
// are so short, but for lines more than three away from any change.
TEST(DiffEdges, a_difference_gives_both_texts_and_is_the_shortest) {
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

// A change after four lines: the first of them is left out.
TEST(DiffEdges, three_lines_of_context_on_either_side) {
  const auto diff = [](const std::string& a, const std::string& b) {
    const std::string before = lines_of_letters(a), after = lines_of_letters(b);
    return unified_diff({.path = "f", .before = before, .after = after}).substr(16);
  };
  EXPECT_EQ(diff("abcXdef", "abcYdef"), "@@ -1,7 +1,7 @@\n a\n b\n c\n-X\n+Y\n d\n e\n f\n");
  EXPECT_EQ(diff("abcdXefgh", "abcdYefgh"), "@@ -2,7 +2,7 @@\n b\n c\n d\n-X\n+Y\n e\n f\n g\n");
  EXPECT_EQ(diff("X123456Y", "x123456y"),
            "@@ -1,8 +1,8 @@\n-X\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-Y\n+y\n")
      << "six lines between are of both";
  EXPECT_EQ(diff("X1234567Y", "x1234567y"),
            "@@ -1,4 +1,4 @@\n-X\n+x\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-Y\n+y\n");
}

}  // namespace
}  // namespace orrery::cli
