// Edits of values in brackets that hold comments, quotes inside words and signs that only look like
// the end.
#include <gtest/gtest.h>

#include "model/design/catalog_fixture.h"
#include "model/design_text/edit.h"

namespace orrery::design_text::edit_comments_tests {
namespace {

std::string replaced(std::string_view text, const std::string& path = "a") {
  const auto edited = edit_text(text, {path, "y"}, design::catalog());
  if (!edited) return edited.error().front().code;
  return (edited->rewritten ? "anew: " : "") + edited->text;
}

TEST(EditComments, a_comment_inside_brackets_ends_nothing) {
  EXPECT_EQ(replaced("a: [1, # ]\n  2]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(replaced("a: [1,\n# ] } '\n  2]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(replaced("a: [1,\t# ]\n  2]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(replaced("a: { k: 1, # }\n  # [ \"\n  l: 2 }\nb: [1]\n"), "a: y\nb: [1]\n");
}

TEST(EditComments, a_hash_inside_a_word_is_no_comment) {
  EXPECT_EQ(replaced("a: [x#y]\nb: [1]\n"), "a: y\nb: [1]\n");
  EXPECT_EQ(replaced("a: [x#]\nb: [1]\n"), "a: y\nb: [1]\n");
  EXPECT_EQ(replaced("a: { k: x#y, l: 2 }\nb: [1]\n", "a.k"), "a: { k: y, l: 2 }\nb: [1]\n");
}

TEST(EditComments, quotes_open_where_a_value_begins) {
  EXPECT_EQ(replaced("a: [it's, 2]\nb: ['1']\n"), "a: y\nb: ['1']\n");
  EXPECT_EQ(replaced("a: [x, 'it''s ]']\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(replaced("a: [x,\n'] ']\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(replaced("a: [\"\\\"]\"]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(replaced("a: ['\\']\nb: 1\n"), "a: y\nb: 1\n") << "a backslash is one in single quotes";
}

TEST(EditComments, a_value_in_brackets_ends_at_its_comma_or_comment) {
  EXPECT_EQ(replaced("a: [1\n  , 2]\n", "a[0]"), "a: [y\n  , 2]\n");
  EXPECT_EQ(replaced("a: [1 # one\n  , 2]\n", "a[0]"), "a: [y # one\n  , 2]\n");
  EXPECT_EQ(replaced("a: [1\t]\n", "a[0]"), "a: [y\t]\n");
}

}  // namespace
}  // namespace orrery::design_text::edit_comments_tests
