// Edits of a design's text in every shape that YAML has: what moves, what stays, when the file is
// written anew, and what is said of an edit that is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/units.h"
#include "model/design/catalog_fixture.h"
#include "model/design_text/change.h"
#include "model/design_text/edit.h"
#include "model/design_text/edit_path.h"

namespace orrery::design_text::edit_marks_tests {
namespace {

using testing::ElementsAre;

// The text after an edit that keeps it; else what was said.
std::string after(std::string_view text, const std::string& path, const std::string& value) {
  const auto edited = edit_text(text, {path, value}, design::catalog(), {.file = "f.yaml"});
  if (edited) return (edited->rewritten ? "anew: " : "") + edited->text;
  const Diagnostic& d = edited.error().front();
  return d.code + ": " + d.what + " | " + d.why + " | " + d.fix;
}

TEST(EditMarks, values_of_every_shape_are_replaced_where_they_stand) {
  EXPECT_EQ(after("a: 'it''s' # c\nb: 1\n", "a", "x"), "a: x # c\nb: 1\n");
  EXPECT_EQ(after("a: \"q \\\" q\"\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
  EXPECT_EQ(after("'a b': 1\nc: 2\n", "a b", "x"), "'a b': x\nc: 2\n");
  EXPECT_EQ(after("\"a\" : 1\n", "a", "x"), "\"a\" : x\n");
  EXPECT_EQ(after("a: [1, 2, 3]\n", "a[1]", "x"), "a: [1, x, 3]\n");
  EXPECT_EQ(after("a: { b: 'x, }', c: 2 }\n", "a.b", "y"), "a: { b: y, c: 2 }\n");
  EXPECT_EQ(after("a: { b: [1, { c: '}' }], d: 4 }\n", "a.b", "y"), "a: { b: y, d: 4 }\n");
  EXPECT_EQ(after("a: { b: [1, # ]\n   2], d: 4 }\n", "a.b", "y"), "a: { b: y, d: 4 }\n");
  EXPECT_EQ(after("a: { b: \"]\" , d: 4 }\n", "a.d", "y"), "a: { b: \"]\" , d: y }\n");
  EXPECT_EQ(after("a:\n  - 1\n  - 2 # two\n", "a[1]", "x"), "a:\n  - 1\n  - x # two\n");
  EXPECT_EQ(after("a:\n  b:\n    c: 1\nd: 2\n", "a.b.c", "x"), "a:\n  b:\n    c: x\nd: 2\n");
  EXPECT_EQ(after("a:\n  - b: 1\n    c: 2\n  - d: 3\n", "a[0]", "x"), "a:\n  - x\n  - d: 3\n");
}

TEST(EditMarks, what_says_nothing_is_given_a_value) {
  EXPECT_EQ(after("a:\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
  EXPECT_EQ(after("a: ~\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
  EXPECT_EQ(after("a: null # c\nb: 1\n", "a", "x"), "a: x # c\nb: 1\n");
  EXPECT_EQ(after("a: Null\nb: NULL\n", "b", "x"), "a: Null\nb: x\n");
  EXPECT_EQ(after("a: { b: , c: 1 }\n", "a.b", "x"), "a: { b: x , c: 1 }\n");
  EXPECT_EQ(after("a:\n", "a.b", "x"), "a: { b: x }\n");
  EXPECT_EQ(after("a: []\n", "a[0]", "x"), "a: [x]\n");
  EXPECT_EQ(after("a:\n", "a[0].b", "x"), "a: [{ b: x }]\n");
}

TEST(EditMarks, a_block_that_goes_leaves_the_comment_of_its_key) {
  EXPECT_EQ(after("a: # why\n  - 1\n  - 2\nb: 3\n", "a", "[4]"), "a: [4] # why\nb: 3\n");
  EXPECT_EQ(after("a:\n  b: { c: 1 }\n", "a", "2"), "a: 2\n");
}

TEST(EditMarks, what_is_missing_is_added_in_the_style_around_it) {
  EXPECT_EQ(after("a: [1, 2]\n", "a[2]", "x"), "a: [1, 2, x]\n");
  EXPECT_EQ(after("a: { b: { c: 1 } }\n", "a.b.d", "x"), "a: { b: { c: 1, d: x } }\n");
  EXPECT_EQ(after("a:\n  - b: 1\n", "a[0].c", "x"), "a:\n  - b: 1\n    c: x\n");
  EXPECT_EQ(after("a:\n- 1 # one\nb: 2\n", "a[1]", "x"), "a:\n- 1 # one\n- x\nb: 2\n");
  EXPECT_EQ(after("a:\n  - { b: 1 }\n", "a[1]", "{ b: 2 }"), "a:\n  - { b: 1 }\n  - { b: 2 }\n");
  EXPECT_EQ(after("a:\n  b: 1\n", "c.d[0].e", "x"), "a:\n  b: 1\nc: { d: [{ e: x }] }\n");
  EXPECT_EQ(after("a:\n  b:\n    c: 1 # c\nd: 2\n", "a.e", "x"),
            "a:\n  b:\n    c: 1 # c\n  e: x\nd: 2\n");
  EXPECT_EQ(after("a:\n  b:\n  c: ~\nd: 1\n", "a.e", "x"), "a:\n  b:\n  c: ~\n  e: x\nd: 1\n");
}

TEST(EditMarks, what_goes_takes_its_line_or_its_comma_along) {
  EXPECT_EQ(after("a: 1\nb: 2 # c\nc: 3\n", "b", ""), "a: 1\nc: 3\n");
  EXPECT_EQ(after("a: 1\nb: 2", "b", ""), "a: 1\n");
  EXPECT_EQ(after("a: [1, 2, 3]\n", "a[0]", ""), "a: [2, 3]\n");
  EXPECT_EQ(after("a: [1, 2, 3]\n", "a[1]", ""), "a: [1, 3]\n");
  EXPECT_EQ(after("a: [1, 2, 3]\n", "a[2]", ""), "a: [1, 2]\n");
  EXPECT_EQ(after("a: [1]\nb: 2\n", "a[0]", ""), "a: []\nb: 2\n");
  EXPECT_EQ(after("a:\n  - 1\n  - 2\n", "a[0]", ""), "a:\n  - 2\n");
  EXPECT_EQ(after("a:\n  - 1\n  - b: 2\n    c: 3\nd: 4\n", "a[1]", ""), "a:\n  - 1\nd: 4\n");
  EXPECT_EQ(after("a:\n  b: 1\n  c:\n    d: 2\ne: 3\n", "a.c", ""), "a:\n  b: 1\ne: 3\n");
  EXPECT_EQ(after("a: 1\n", "b", ""), "a: 1\n") << "what is not there";
  EXPECT_EQ(after("a: 1\n", "b", "  "), "a: 1\n");
}

TEST(EditMarks, a_value_keeps_its_kind_by_quotes) {
  EXPECT_EQ(after("a: [x]\n", "a[0]", "one, two"), "a: [\"one, two\"]\n");
  EXPECT_EQ(after("a: 1\n", "a", "  x  "), "a: x\n");
  EXPECT_EQ(after("a: 1\n", "a", "\"1\""), "a: \"1\"\n");
  EXPECT_EQ(after("a: { b: 1 }\n", "a.b", "x }"), "a: { b: \"x }\" }\n");
}

// Only a design can be written anew: these are none.
TEST(EditMarks, what_cannot_be_kept_is_written_anew) {
  const std::string head = "orrery: 1\nname: n\nsite: { region: usa }\n";
  const std::string block = head +
                            "fleet: [{ name: f, node: dgx-h100, count: 1 }]\n"
                            "description: |\n  two\n  lines\n";
  EXPECT_EQ(
      after(block, "description", "one"),
      "anew: orrery: 1\nname: n\ndescription: one\nsite:\n  region: usa\nfleet:\n  - name: f\n"
      "    node: dgx-h100\n    count: 1\n");
  const std::string alone = head +
                            "fleet:\n  - name: f\n    node: dgx-h100\n    count: 1\n"
                            "economics:\n  horizon: 4 y\n";
  EXPECT_EQ(after(alone, "economics.horizon", "").substr(0, 6), "anew: ")
      << "the only key of its section";
}

TEST(EditMarks, an_edit_that_is_none_says_why) {
  const auto no_path = [](const std::string& path) {
    return "edit.path: `" + path +
           "` is no path of a design |  | write keys with dots between and entries as [0]: "
           "fleet[0].count";
  };
  for (const char* bad : {"", ".a", "a..b", "[0]", "a[", "a[x]", "a[-1]", "a[0]b", "a]["}) {
    EXPECT_EQ(after("a: 1\n", bad, "x"), no_path(bad));
  }
  EXPECT_EQ(after("a: 1\n", std::string(257, 'k'), "x"), no_path(std::string(80, 'k')));
  EXPECT_EQ(after("a: 1\n", std::string(256, 'k'), "x"),
            "a: 1\n" + std::string(256, 'k') + ": x\n");
  const std::string no_place =
      " |  | entries of a list are added one after the other, and only sections have keys";
  EXPECT_EQ(after("a: 1\n", "a.b", "x"),
            "edit.path: nothing in the file can hold `a.b`" + no_place);
  EXPECT_EQ(after("a: [1]\n", "a[2].b", "x"),
            "edit.path: nothing in the file can hold `a[2].b`" + no_place);
  EXPECT_EQ(after("a: { b: 1 }\n", "a[0]", "x"),
            "edit.path: nothing in the file can hold `a[0]`" + no_place);
  const std::string no_value =
      "edit.value: the value is no YAML of one line | an edit puts one value into the file | write "
      "it as in the file: 44 kW, [node-nvme, hot], { tp: 8, pp: 1 }";
  EXPECT_EQ(after("a: 1\n", "a", "[1"), no_value);
  EXPECT_EQ(after("a: 1\n", "a", "1\n"), no_value);
  EXPECT_EQ(after("[1]\n", "a", "1"),
            "design.empty: there is no design to edit |  | start from a template: orrery init "
            "--template single-node");
}

std::vector<std::string> steps(const std::string& path, const std::string& file) {
  Diagnostics faults;
  const auto tree = parse_yaml(file, "f", faults);
  const auto found = steps_of(path, *tree);
  std::vector<std::string> out;
  if (!found) return {"none"};
  for (const PathStep& s : *found) out.push_back(s.index ? std::to_string(*s.index) : s.key);
  out.push_back(text_of(*found));
  return out;
}

TEST(EditMarks, a_path_is_keys_and_numbers_and_follows_the_file) {
  EXPECT_THAT(steps("a[0][12].b", "x: 1"), ElementsAre("a", "0", "12", "b", "a[0][12].b"));
  EXPECT_THAT(steps("fleet[1].mig.3g.71gb", "x: 1"),
              ElementsAre("fleet", "1", "mig", "3g.71gb", "fleet[1].mig.3g.71gb"));
  EXPECT_THAT(steps("sites[0].power", "site: {}"), ElementsAre("site", "power", "site.power"));
  EXPECT_THAT(steps("sites[1].power", "site: {}"),
              ElementsAre("sites", "1", "power", "sites[1].power"));
  EXPECT_THAT(steps("sites[0].power", "sites: []"),
              ElementsAre("sites", "0", "power", "sites[0].power"));
  EXPECT_THAT(steps("site.power", "sites: []"),
              ElementsAre("sites", "0", "power", "sites[0].power"));
  EXPECT_THAT(steps("site.power", "x: 1"), ElementsAre("site", "power", "site.power"));
  EXPECT_THAT(steps("sites", "site: {}"), ElementsAre("sites", "sites"));
  std::string deep = "a";
  for (int i = 0; i < 31; ++i) deep += ".a";
  EXPECT_EQ(steps(deep, "x: 1").size(), 33u);
  EXPECT_THAT(steps(deep + ".a", "x: 1"), ElementsAre("none"));
}

// 12.83 TB rounds to 13, 12.43 to 12, which is too little: half a digit more is 13.
TEST(EditMarks, an_amount_is_said_in_two_digits_and_never_too_small) {
  EXPECT_EQ(at_least(terabytes(12.83)), "13 TB");
  EXPECT_EQ(at_least(terabytes(12.43)), "13 TB");
  EXPECT_EQ(at_least(terabytes(12)), "12 TB");
  EXPECT_EQ(at_least(terabytes(1.04)), "1.1 TB");
  EXPECT_EQ(at_least(watts(0)), "0 W");
  EXPECT_EQ(name_text("plain-1"), "plain-1");
  EXPECT_EQ(name_text("a: b"), "\"a: b\"");
  EXPECT_EQ(name_text(""), "\"\"");
  EXPECT_EQ(list_text(std::vector<std::string>{"node-nvme", "a, b", "hot"}),
            "[node-nvme, \"a, b\", hot]");
  EXPECT_EQ(list_text({}), "[]");
}

}  // namespace
}  // namespace orrery::design_text::edit_marks_tests
