// Reading YAML: the tree with its places, what is refused, and each limit on both sides.
#include "model/design_text/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::design_text {
namespace {

using testing::StartsWith;

// The tree as one line, each value with its place; or the fault.
std::string shown(const YamlNode& n) {
  const std::string at = '@' + std::to_string(n.mark.line) + ':' + std::to_string(n.mark.column);
  switch (n.kind) {
    case YamlNode::Kind::null:
      return '~' + at;
    case YamlNode::Kind::scalar:
      return (n.quoted ? '"' + n.text + '"' : n.text) + at;
    case YamlNode::Kind::list: {
      std::string out = "[";
      for (const YamlNode& item : n.items) out += (out.size() > 1 ? ", " : "") + shown(item);
      return out + ']' + at;
    }
    case YamlNode::Kind::map: {
      std::string out = "{";
      for (std::size_t i = 0; i < n.items.size(); ++i) {
        out += (i > 0 ? ", " : "") + n.keys[i].text + '@' + std::to_string(n.keys[i].mark.line) +
               ':' + std::to_string(n.keys[i].mark.column) + ": " + shown(n.items[i]);
      }
      return out + '}' + at;
    }
  }
  return "";
}

std::string places_and_codes(const Diagnostics& faults) {
  std::string out;
  for (const Diagnostic& d : faults) {
    EXPECT_EQ(d.place.file, "f.yaml");
    out += (out.empty() ? "" : "\n") + std::to_string(d.place.line) + ':' +
           std::to_string(d.place.column) + ' ' + d.code;
  }
  return out;
}

std::string read_tree(std::string_view text) {
  Diagnostics faults;
  const auto tree = parse_yaml(text, "f.yaml", faults);
  EXPECT_EQ(!tree, !faults.empty()) << text;
  return tree ? shown(*tree) : places_and_codes(faults);
}

TEST(YamlTree, every_value_knows_its_place) {
  EXPECT_EQ(read_tree("a: 1\nb:\n  - x\n  - \"y\"\nc: {d: [], e: }\n"),
            "{a@1:1: 1@1:4, b@2:1: [x@3:5, \"y\"@4:5]@3:3, c@5:1: {d@5:5: []@5:8, e@5:12: "
            "~@5:15}@5:4}@1:1");
  EXPECT_EQ(read_tree("\xef\xbb\xbf"
                      "a: 0777\n"),
            "{a@1:1: 0777@1:4}@1:1")
      << "a mark of the order";
  EXPECT_EQ(read_tree("a: &x [1, 2]\nb: *x\n"),
            "{a@1:1: [1@1:8, 2@1:11]@1:4, b@2:1: [1@1:8, 2@1:11]@2:4}@1:1");
  EXPECT_EQ(read_tree("a: '#'\nb: \"[[\" # [\nc: it's\n"),
            "{a@1:1: \"#\"@1:4, b@2:1: \"[[\"@2:4, c@3:1: it's@3:4}@1:1");
}

TEST(YamlTree, duplicate_key_keeps_its_first_value) {
  Diagnostics faults;
  const auto tree = parse_yaml("a: 1\nb: {c: 2, c: [3]}\na: 4\nd: 5\n", "f.yaml", faults);
  ASSERT_TRUE(tree);
  EXPECT_EQ(shown(*tree), "{a@1:1: 1@1:4, b@2:1: {c@2:5: 2@2:8}@2:4, d@4:1: 5@4:4}@1:1");
  EXPECT_EQ(places_and_codes(faults), "2:11 yaml.duplicate-key\n3:1 yaml.duplicate-key");
  EXPECT_TRUE(faults.at(0).why.contains("line 2, column 5")) << "the place of the first one";
}

TEST(YamlTree, text_that_is_not_plain_is_refused_at_its_place) {
  EXPECT_EQ(read_tree("a: b\nc: \x02\n"), "2:4 file.control-character");
  EXPECT_EQ(read_tree("a: \x7f\n"), "1:4 file.control-character");
  EXPECT_EQ(read_tree("a: \x1f\n"), "1:4 file.control-character");
  EXPECT_EQ(read_tree("a: \xc3\xbc\x01\n"), "1:5 file.control-character")
      << "two bytes are one column";
  EXPECT_EQ(read_tree("a:\tb\r\n"), "{a@1:1: b@1:4}@1:1")
      << "behind a value tabs and returns are fine";
  EXPECT_EQ(read_tree("a:\n \tb: 1\n"), "2:2 yaml.tab");
  EXPECT_EQ(read_tree("a: \xff\n"), "0:0 file.not-utf8");
}

TEST(YamlTree, unneeded_yaml_features_are_refused) {
  EXPECT_EQ(read_tree("a: 1\n---\nb: 2\n"), "2:1 yaml.documents");
  EXPECT_EQ(read_tree("---\na: 1\n"), "{a@2:1: 1@2:4}@2:1");
  const std::string tag = " yaml.tag";
  EXPECT_EQ(read_tree("a: !!str b\n"), "1:4" + tag);
  EXPECT_EQ(read_tree("a: !x [b]\n"), "1:4" + tag);
  EXPECT_EQ(read_tree("a: !x {b: 1}\n"), "1:4" + tag);
  EXPECT_EQ(read_tree("a: &a [*a]\n"), "1:8 yaml.alias");
  EXPECT_EQ(read_tree("a: \"x\\_y\"\n"), "1:4 yaml.escape");
  EXPECT_EQ(read_tree("[a, b]: 1\n"), "1:1 yaml.key");
  EXPECT_THAT(read_tree("a: [1\nb: 2\n"), testing::HasSubstr(" yaml.syntax"));
}

TEST(YamlTree, nesting_is_at_most_32_deep) {
  const auto nested = [](std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close) + '\n';
  };
  const std::string too_deep = " yaml.too-deep";
  // The file itself is one level.
  EXPECT_THAT(read_tree("a: " + nested(31, '[', ']')), StartsWith("{a@1:1: [["));
  EXPECT_EQ(read_tree("a: " + nested(32, '[', ']')), "1:35" + too_deep);
  EXPECT_EQ(read_tree("a: " + nested(33, '[', ']')), "1:36" + too_deep);
  EXPECT_EQ(read_tree("a: " + nested(33, '{', '}')), "1:36" + too_deep);
  std::string stairs;
  for (std::size_t i = 0; i < 33; ++i) stairs += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(read_tree(stairs + std::string(33, ' ') + "1\n"), "32:32" + too_deep);
  stairs.clear();
  for (std::size_t i = 0; i < 31; ++i) stairs += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(read_tree(stairs + std::string(31, ' ') + "1\n"), StartsWith("{a@1:1: {a@2:2: "));
  // Brackets in texts and comments do not count, nor do closed ones.
  const std::string open(40, '[');
  EXPECT_EQ(read_tree("a: '" + open + "'\n"), "{a@1:1: \"" + open + "\"@1:4}@1:1");
  EXPECT_EQ(read_tree("a: \"\\\"" + open + "\"\n"), "{a@1:1: \"\"" + open + "\"@1:4}@1:1");
  EXPECT_EQ(read_tree("a: 1 # " + open + "\n"), "{a@1:1: 1@1:4}@1:1");
  EXPECT_EQ(read_tree("# " + open + "\na: 1\n"), "{a@2:1: 1@2:4}@2:1");
  std::string many = "a: [";
  for (int i = 0; i < 40; ++i) many += "[], ";
  EXPECT_THAT(read_tree(many + "1]\n"), StartsWith("{a@1:1: [[]@1:5, "));
  EXPECT_EQ(read_tree("a: it's [" + open + "\n"), "1:41 yaml.too-deep")
      << "a quote inside a word begins no text";
}

// The file is one of the 50,000 values, and its list another.
TEST(YamlTree, values_and_bytes_are_counted) {
  const auto list = [](int values) {
    std::string text = "a: [0";
    for (int i = 1; i < values; ++i) text += ",0";
    return text + "]\n";
  };
  Diagnostics faults;
  EXPECT_TRUE(parse_yaml(list(49'997), "f.yaml", faults));
  EXPECT_THAT(read_tree(list(49'998)), testing::EndsWith("yaml.too-many-values"));
  std::string large = "a: 1\n#";
  large.resize(std::size_t{1} << 20, 'x');
  EXPECT_EQ(read_tree(large), "{a@1:1: 1@1:4}@1:1");
  EXPECT_EQ(read_tree(large + 'x'), "0:0 file.too-large");
}

}  // namespace
}  // namespace orrery::design_text
