// Edits of every shape of YAML: what changes, what stays, and when the file is rewritten.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/units.h"
#include "model/design/catalog_fixture.h"
#include "model/design_text/edit.h"
#include "model/design_text/yaml_tree.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

// The text after an edit that keeps it; otherwise the fault.
std::string text_after(std::string_view text, const std::string& path, const std::string& value) {
  const auto edited = edit_text(text, {path, value}, design::catalog(), {.file = "f.yaml"});
  if (edited) return (edited->rewritten ? "rewritten: " : "") + edited->text;
  return edited.error().front().code;
}

TEST(EditYaml, values_of_every_shape_are_replaced_in_place) {
  EXPECT_EQ(text_after("a: 'it''s' # c\nb: 1\n", "a", "x"), "a: x # c\nb: 1\n");
  EXPECT_EQ(text_after("a: \"q \\\" q\"\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
  EXPECT_EQ(text_after("'a b': 1\nc: 2\n", "a b", "x"), "'a b': x\nc: 2\n");
  EXPECT_EQ(text_after("\"a\" : 1\n", "a", "x"), "\"a\" : x\n");
  EXPECT_EQ(text_after("a: [1, 2, 3]\n", "a[1]", "x"), "a: [1, x, 3]\n");
  EXPECT_EQ(text_after("a: { b: 'x, }', c: 2 }\n", "a.b", "y"), "a: { b: y, c: 2 }\n");
  EXPECT_EQ(text_after("a: { b: [1, { c: '}' }], d: 4 }\n", "a.b", "y"), "a: { b: y, d: 4 }\n");
  EXPECT_EQ(text_after("a: { b: [1, # ]\n   2], d: 4 }\n", "a.b", "y"), "a: { b: y, d: 4 }\n");
  EXPECT_EQ(text_after("a: { b: \"]\" , d: 4 }\n", "a.d", "y"), "a: { b: \"]\" , d: y }\n");
  EXPECT_EQ(text_after("a:\n  - 1\n  - 2 # two\n", "a[1]", "x"), "a:\n  - 1\n  - x # two\n");
  EXPECT_EQ(text_after("a:\n  b:\n    c: 1\nd: 2\n", "a.b.c", "x"), "a:\n  b:\n    c: x\nd: 2\n");
  EXPECT_EQ(text_after("a:\n  - b: 1\n    c: 2\n  - d: 3\n", "a[0]", "x"), "a:\n  - x\n  - d: 3\n");
}

TEST(EditYaml, empty_values_are_filled) {
  EXPECT_EQ(text_after("a:\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
  EXPECT_EQ(text_after("a: ~\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
  EXPECT_EQ(text_after("a: null # c\nb: 1\n", "a", "x"), "a: x # c\nb: 1\n");
  EXPECT_EQ(text_after("a: Null\nb: NULL\n", "b", "x"), "a: Null\nb: x\n");
  EXPECT_EQ(text_after("a: { b: , c: 1 }\n", "a.b", "x"), "a: { b: x , c: 1 }\n");
  EXPECT_EQ(text_after("a:\n", "a.b", "x"), "a: { b: x }\n");
  EXPECT_EQ(text_after("a: []\n", "a[0]", "x"), "a: [x]\n");
  EXPECT_EQ(text_after("a:\n", "a[0].b", "x"), "a: [{ b: x }]\n");
}

TEST(EditYaml, replaced_block_keeps_the_comment_of_its_key) {
  EXPECT_EQ(text_after("a: # why\n  - 1\n  - 2\nb: 3\n", "a", "[4]"), "a: [4] # why\nb: 3\n");
  EXPECT_EQ(text_after("a:\n  b: { c: 1 }\n", "a", "2"), "a: 2\n");
}

TEST(EditYaml, missing_values_are_added_in_the_surrounding_style) {
  EXPECT_EQ(text_after("a: [1, 2]\n", "a[2]", "x"), "a: [1, 2, x]\n");
  EXPECT_EQ(text_after("a: { b: { c: 1 } }\n", "a.b.d", "x"), "a: { b: { c: 1, d: x } }\n");
  EXPECT_EQ(text_after("a:\n  - b: 1\n", "a[0].c", "x"), "a:\n  - b: 1\n    c: x\n");
  EXPECT_EQ(text_after("a:\n- 1 # one\nb: 2\n", "a[1]", "x"), "a:\n- 1 # one\n- x\nb: 2\n");
  EXPECT_EQ(text_after("a:\n  - { b: 1 }\n", "a[1]", "{ b: 2 }"),
            "a:\n  - { b: 1 }\n  - { b: 2 }\n");
  EXPECT_EQ(text_after("a:\n  b: 1\n", "c.d[0].e", "x"), "a:\n  b: 1\nc: { d: [{ e: x }] }\n");
  EXPECT_EQ(text_after("a:\n  b:\n    c: 1 # c\nd: 2\n", "a.e", "x"),
            "a:\n  b:\n    c: 1 # c\n  e: x\nd: 2\n");
  EXPECT_EQ(text_after("a:\n  b:\n  c: ~\nd: 1\n", "a.e", "x"), "a:\n  b:\n  c: ~\n  e: x\nd: 1\n");
}

TEST(EditYaml, removed_value_takes_its_line_or_comma) {
  EXPECT_EQ(text_after("a: 1\nb: 2 # c\nc: 3\n", "b", ""), "a: 1\nc: 3\n");
  EXPECT_EQ(text_after("a: 1\nb: 2", "b", ""), "a: 1\n");
  EXPECT_EQ(text_after("a: [1, 2, 3]\n", "a[0]", ""), "a: [2, 3]\n");
  EXPECT_EQ(text_after("a: [1, 2, 3]\n", "a[1]", ""), "a: [1, 3]\n");
  EXPECT_EQ(text_after("a: [1, 2, 3]\n", "a[2]", ""), "a: [1, 2]\n");
  EXPECT_EQ(text_after("a: [1]\nb: 2\n", "a[0]", ""), "a: []\nb: 2\n");
  EXPECT_EQ(text_after("a:\n  - 1\n  - 2\n", "a[0]", ""), "a:\n  - 2\n");
  EXPECT_EQ(text_after("a:\n  - 1\n  - b: 2\n    c: 3\nd: 4\n", "a[1]", ""), "a:\n  - 1\nd: 4\n");
  EXPECT_EQ(text_after("a:\n  b: 1\n  c:\n    d: 2\ne: 3\n", "a.c", ""), "a:\n  b: 1\ne: 3\n");
  EXPECT_EQ(text_after("a: 1\n", "b", ""), "a: 1\n") << "what is not there";
  EXPECT_EQ(text_after("a: 1\n", "b", "  "), "a: 1\n");
}

TEST(EditYaml, quotes_keep_the_type_of_a_value) {
  EXPECT_EQ(text_after("a: [x]\n", "a[0]", "one, two"), "a: [\"one, two\"]\n");
  EXPECT_EQ(text_after("a: 1\n", "a", "  x  "), "a: x\n");
  EXPECT_EQ(text_after("a: 1\n", "a", "\"1\""), "a: \"1\"\n");
  EXPECT_EQ(text_after("a: { b: 1 }\n", "a.b", "x }"), "a: { b: \"x }\" }\n");
}

// Rewriting needs a whole design, so these texts are whole designs.
TEST(EditYaml, unusual_layouts_are_rewritten) {
  const std::string head = "orrery: 1\nname: n\nsite: { region: usa }\n";
  const std::string block = head +
                            "fleet: [{ name: f, node: dgx-h100, count: 1 }]\n"
                            "description: |\n  two\n  lines\n";
  EXPECT_EQ(
      text_after(block, "description", "one"),
      "rewritten: orrery: 1\nname: n\ndescription: one\nsite:\n  region: usa\nfleet:\n  - name: f\n"
      "    node: dgx-h100\n    count: 1\n");
  const std::string alone = head +
                            "fleet:\n  - name: f\n    node: dgx-h100\n    count: 1\n"
                            "economics:\n  horizon: 4 y\n";
  EXPECT_EQ(text_after(alone, "economics.horizon", "").substr(0, 11), "rewritten: ")
      << "the only key of its section";
}

TEST(EditYaml, impossible_edits_are_refused) {
  for (const char* bad : {"", ".a", "a..b", "[0]", "a[", "a[x]", "a[-1]", "a[0]b", "a]["}) {
    EXPECT_EQ(text_after("a: 1\n", bad, "x"), "edit.path");
  }
  EXPECT_EQ(text_after("a: 1\n", std::string(257, 'k'), "x"), "edit.path");
  EXPECT_EQ(text_after("a: 1\n", std::string(256, 'k'), "x"),
            "a: 1\n" + std::string(256, 'k') + ": x\n");
  EXPECT_EQ(text_after("a: 1\n", "a.b", "x"), "edit.path");
  EXPECT_EQ(text_after("a: [1]\n", "a[2].b", "x"), "edit.path");
  EXPECT_EQ(text_after("a: { b: 1 }\n", "a[0]", "x"), "edit.path");
  EXPECT_EQ(text_after("a: 1\n", "a", "[1"), "edit.value");
  EXPECT_EQ(text_after("a: 1\n", "a", "1\n"), "edit.value");
  EXPECT_EQ(text_after("[1]\n", "a", "1"), "design.empty");
}

std::string text_replaced(std::string_view text, const std::string& path = "a") {
  const auto edited = edit_text(text, {path, "y"}, design::catalog());
  if (!edited) return edited.error().front().code;
  return (edited->rewritten ? "rewritten: " : "") + edited->text;
}

TEST(EditYaml, comment_inside_brackets_closes_nothing) {
  EXPECT_EQ(text_replaced("a: [1, # ]\n  2]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(text_replaced("a: [1,\n# ] } '\n  2]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(text_replaced("a: [1,\t# ]\n  2]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(text_replaced("a: { k: 1, # }\n  # [ \"\n  l: 2 }\nb: [1]\n"), "a: y\nb: [1]\n");
}

TEST(EditYaml, a_hash_inside_a_word_is_no_comment) {
  EXPECT_EQ(text_replaced("a: [x#y]\nb: [1]\n"), "a: y\nb: [1]\n");
  EXPECT_EQ(text_replaced("a: [x#]\nb: [1]\n"), "a: y\nb: [1]\n");
  EXPECT_EQ(text_replaced("a: { k: x#y, l: 2 }\nb: [1]\n", "a.k"), "a: { k: y, l: 2 }\nb: [1]\n");
}

TEST(EditYaml, quotes_open_where_a_value_begins) {
  EXPECT_EQ(text_replaced("a: [it's, 2]\nb: ['1']\n"), "a: y\nb: ['1']\n");
  EXPECT_EQ(text_replaced("a: [x, 'it''s ]']\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(text_replaced("a: [x,\n'] ']\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(text_replaced("a: [\"\\\"]\"]\nb: 1\n"), "a: y\nb: 1\n");
  EXPECT_EQ(text_replaced("a: ['\\']\nb: 1\n"), "a: y\nb: 1\n")
      << "a backslash is one in single quotes";
}

TEST(EditYaml, value_in_brackets_ends_at_its_comma_or_comment) {
  EXPECT_EQ(text_replaced("a: [1\n  , 2]\n", "a[0]"), "a: [y\n  , 2]\n");
  EXPECT_EQ(text_replaced("a: [1 # one\n  , 2]\n", "a[0]"), "a: [y # one\n  , 2]\n");
  EXPECT_EQ(text_replaced("a: [1\t]\n", "a[0]"), "a: [y\t]\n");
}

TEST(EditYaml, quotes_inside_brackets_are_closed) {
  const auto after = [](std::string_view text, const std::string& path) {
    const auto edited = edit_text(text, {path, "y"}, design::catalog());
    return edited ? (edited->rewritten ? "rewritten" : edited->text) : edited.error().front().code;
  };
  EXPECT_EQ(after("a: ['x']\nb: 1\n", "a"), "a: y\nb: 1\n");
  EXPECT_EQ(after("a: [\"x\"]\nb: [2]\n", "a"), "a: y\nb: [2]\n");
  EXPECT_EQ(after("a: {'k':'x'}\nb: [2]\n", "a"), "a: y\nb: [2]\n");
  Diagnostics faults;
  EXPECT_FALSE(parse_yaml("a: \"xy\"\nb: " + std::string(33, '[') + "\n", "f", faults));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].place, (Place{"f", 2, 36}));
}

}  // namespace
}  // namespace orrery::design_text
