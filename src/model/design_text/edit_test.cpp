// Edits of text against an oracle that knows nothing of places: yaml-cpp's own nodes, changed and
// written out. Both texts must say the same, and ours keeps every comment.
#include "model/design_text/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>

#include "core/base/text.h"
#include "model/design/catalog_fixture.h"
#include "model/design_text/edit_path.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/write_design.h"

namespace orrery::design_text {
namespace {

using testing::HasSubstr;

YamlNode tree_of(std::string_view text) {
  Diagnostics faults;
  auto tree = parse_yaml(text, "test", faults);
  EXPECT_TRUE(tree && faults.empty()) << text << to_text(faults);
  return tree.value_or(YamlNode{});
}

std::string by_oracle(const std::string& text, const Change& edit) {
  YAML::Node root = YAML::Load(text);
  YAML::Node at = root;
  const auto steps = steps_of(edit.path, tree_of(text)).value();
  const auto below = [](YAML::Node n, const PathStep& s) {
    return s.index ? n[*s.index] : n[s.key];
  };
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) at.reset(below(at, steps[i]));
  const PathStep& last = steps.back();
  if (!edit.value.empty()) {
    below(at, last) = YAML::Load(edit.value);
  } else if (last.index) {
    at.remove(*last.index);
  } else {
    at.remove(last.key);
  }
  return YAML::Dump(root);
}

// How values are quoted is up to the writer; what they say is not.
YamlNode unquoted(YamlNode n) {
  n.quoted = false;
  for (YamlNode& item : n.items) item = unquoted(item);
  return n;
}

std::vector<std::string> comments_of(std::string_view text) {
  std::vector<std::string> all;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t hash = line.find('#');
    if (hash != std::string_view::npos && (hash == 0 || line[hash - 1] == ' ')) {
      all.emplace_back(trimmed(line.substr(hash)));
    }
  }
  return all;
}

std::string last_key(const std::string& path) {
  const std::string key = path.substr(path.rfind('.') + 1);
  return key.substr(0, key.find('['));
}

void walk(const YamlNode& at, const std::string& path,
          std::map<std::string, const YamlNode*>& all) {
  for (std::size_t i = 0; i < at.items.size(); ++i) {
    const std::string below = at.kind == YamlNode::Kind::list
                                  ? path + '[' + std::to_string(i) + ']'
                                  : path + (path.empty() ? "" : ".") + at.keys[i].text;
    all[below] = &at.items[i];
    walk(at.items[i], below, all);
  }
}

// Values that templates give to keys of one name: each of them fits such a key somewhere.
std::map<std::string, std::set<std::string>> known_values() {
  std::map<std::string, std::set<std::string>> all;
  for (const Template& t : templates()) {
    const YamlNode root = tree_of(t.text);
    std::map<std::string, const YamlNode*> nodes;
    walk(root, "", nodes);
    for (const auto& [path, node] : nodes) {
      const bool plain = node->kind == YamlNode::Kind::scalar && !node->quoted;
      if (plain) all[last_key(path)].insert(node->text);
    }
  }
  return all;
}

std::set<std::string> values_like(const std::string& path) {
  static const auto* all = new auto(known_values());
  const auto found = all->find(last_key(path));
  return found == all->end() ? std::set<std::string>{} : found->second;
}

class EveryTemplate : public testing::TestWithParam<std::string> {
 protected:
  std::string text = std::string(find_template(GetParam())->text);
  YamlNode root = tree_of(text);
  // Every third value, starting from another one in each template: together they cover every kind
  // of place.
  std::map<std::string, const YamlNode*> nodes = [this] {
    std::map<std::string, const YamlNode*> all;
    walk(root, "", all);
    std::size_t n = GetParam().size();
    std::erase_if(all, [&](const auto&) { return n++ % 3 != 0; });
    return all;
  }();

  EditedText edited(const Change& e) const {
    auto r = edit_text(text, e, design::catalog());
    EXPECT_TRUE(r.has_value()) << e.path << " = " << e.value << '\n'
                               << (r ? "" : to_text(r.error()));
    return r.value_or(EditedText{});
  }
};

TEST_P(EveryTemplate, a_value_changes_and_nothing_else_does) {
  int readable = 0;
  for (const auto& [path, node] : nodes) {
    if (node->kind != YamlNode::Kind::scalar) continue;
    int tried = 0;
    for (const std::string& value : values_like(path)) {
      if (value == node->text || ++tried > 1) continue;
      const EditedText now = edited({path, value});
      EXPECT_FALSE(now.rewritten) << path << " = " << value;
      EXPECT_EQ(comments_of(now.text), comments_of(text)) << path;
      const std::string oracle = by_oracle(text, {path, value});
      EXPECT_TRUE(same_content(unquoted(tree_of(now.text)), unquoted(tree_of(oracle)))) << path;
      const auto ours = read_design(now.text, design::catalog());
      const auto theirs = read_design(oracle, design::catalog());
      ASSERT_EQ(ours.has_value(), theirs.has_value()) << path << " = " << value;
      if (!ours) continue;
      ++readable;
      EXPECT_EQ(write_design(*ours), write_design(*theirs)) << path;
      EXPECT_TRUE(*ours == *theirs) << path;
    }
  }
  EXPECT_GT(readable, 3);
}

TEST_P(EveryTemplate, a_value_taken_away_leaves_the_rest) {
  for (const auto& [path, node] : nodes) {
    const auto r = edit_text(text, {path, ""}, design::catalog());
    if (!r) continue;  // the section is empty and no design is left, in canonical form
    const std::string oracle = by_oracle(text, {path, ""});
    if (r->rewritten) {
      EXPECT_EQ(r->text, write_design(read_design(oracle, design::catalog()).value())) << path;
    } else {
      EXPECT_TRUE(same_content(unquoted(tree_of(r->text)), unquoted(tree_of(oracle)))) << path;
    }
  }
}

TEST_P(EveryTemplate, a_key_is_added_in_the_style_of_its_map) {
  for (const auto& [path, node] : nodes) {
    if (node->kind != YamlNode::Kind::map) continue;
    const Change edit{path + ".added", "[1, { b: 2 s }]"};
    const EditedText now = edited(edit);
    EXPECT_FALSE(now.rewritten) << path;
    EXPECT_EQ(comments_of(now.text), comments_of(text)) << path;
    EXPECT_TRUE(same_content(unquoted(tree_of(now.text)), unquoted(tree_of(by_oracle(text, edit)))))
        << now.text;
  }
}

TEST_P(EveryTemplate, a_block_gives_way_to_a_value_in_braces) {
  for (const auto& [path, node] : nodes) {
    if (node->kind == YamlNode::Kind::scalar) continue;
    const EditedText now = edited({path, "{ x: 1 }"});
    EXPECT_FALSE(now.rewritten) << path;
    EXPECT_TRUE(same_content(unquoted(tree_of(now.text)),
                             unquoted(tree_of(by_oracle(text, {path, "{ x: 1 }"})))))
        << now.text;
  }
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const Template& t : templates()) names.emplace_back(t.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(templates, EveryTemplate, testing::ValuesIn(template_names()));

std::string after(std::string_view text, const Change& edit) {
  const auto r = edit_text(text, edit, design::catalog());
  return r ? r->text : to_text(r.error());
}

TEST(EditText, keeps_comments_and_spacing) {
  EXPECT_EQ(after("site:\n  power: 2 MW   # contract\n", {"site.power", "3 MW"}),
            "site:\n  power: 3 MW   # contract\n");
  EXPECT_EQ(after("a: { b: 1, c: [x, y] } # two\n", {"a.c[1]", "z"}),
            "a: { b: 1, c: [x, z] } # two\n");
  EXPECT_EQ(after("a: # why\n  b: 1\n  c: 2\nd: 3\n", {"a", "{ e: 1 }"}),
            "a: { e: 1 } # why\nd: 3\n");
}

TEST(EditText, adds_where_the_map_ends) {
  EXPECT_EQ(after("site:\n  power: 2 MW # c\n\nname: x\n", {"site.rack", "44 kW"}),
            "site:\n  power: 2 MW # c\n  rack: 44 kW\n\nname: x\n");
  EXPECT_EQ(after("a: { b: 1 }\n", {"a.c.d", "2"}), "a: { b: 1, c: { d: 2 } }\n");
  EXPECT_EQ(after("a: {}\n", {"a.c", "2"}), "a: { c: 2 }\n");
  EXPECT_EQ(after("a:\nb: 1\n", {"a.c", "2"}), "a: { c: 2 }\nb: 1\n");
  EXPECT_EQ(after("a:\n  - x\n  - y", {"a[2]", "z"}), "a:\n  - x\n  - y\n  - z");
  EXPECT_EQ(after("a: 1", {"b", "2"}), "a: 1\nb: 2");
}

TEST(EditText, removes_values) {
  EXPECT_EQ(after("a: { b: 1, c: 2 }\n", {"a.b", ""}), "a: { c: 2 }\n");
  EXPECT_EQ(after("a: { b: 1, c: 2 }\n", {"a.c", ""}), "a: { b: 1 }\n");
  EXPECT_EQ(after("a:\n  - b: 1\n    c: 2\n", {"a[0].b", ""}), "a:\n  - c: 2\n");
  EXPECT_EQ(after("a: 1\nb: 2\n", {"a", ""}), "b: 2\n");
  EXPECT_EQ(after("a: 1\n", {"b.c", ""}), "a: 1\n");
}

TEST(EditText, one_site_and_several_are_both_found) {
  EXPECT_EQ(after("site: { power: 1 MW }\n", {"sites[0].power", "2 MW"}),
            "site: { power: 2 MW }\n");
  EXPECT_EQ(after("sites:\n  - power: 1 MW\n", {"site.power", "2 MW"}),
            "sites:\n  - power: 2 MW\n");
}

TEST(EditText, quotes_what_brackets_would_break) {
  EXPECT_EQ(after("a: { b: x }\n", {"a.b", "one, two"}), "a: { b: \"one, two\" }\n");
}

TEST(EditText, counts_bytes_as_the_parser_does) {
  EXPECT_EQ(after("a: { n: Zürich, b: 1 } # ü\n", {"a.b", "2"}), "a: { n: Zürich, b: 2 } # ü\n");
}

TEST(EditText, alias_is_expanded_and_reported) {
  const std::string aliased =
      "orrery: 1\nname: &n x\nsite: { region: usa }\nfleet:\n  - { name: *n, node: dgx-h100, "
      "count: 1 }\n";
  const auto r = edit_text(aliased, {"fleet[0].name", "y"}, design::catalog());
  ASSERT_TRUE(r.has_value()) << to_text(r.error());
  EXPECT_TRUE(r->rewritten);
  EXPECT_EQ(read_design(r->text, design::catalog())->fleet[0].name, "y");
  EXPECT_EQ(read_design(r->text, design::catalog())->name, "x");
}

TEST(EditText, refuses_what_is_no_edit) {
  EXPECT_THAT(after("a: 1\n", {"a.b", "2"}), HasSubstr("edit.path"));
  EXPECT_THAT(after("a: [1]\n", {"a[3]", "2"}), HasSubstr("edit.path"));
  EXPECT_THAT(after("a: 1\n", {"..", "2"}), HasSubstr("edit.path"));
  EXPECT_THAT(after("a: 1\n", {"a[x]", "2"}), HasSubstr("edit.path"));
  EXPECT_THAT(after("a: 1\n", {"a", "{ b"}), HasSubstr("edit.value"));
  EXPECT_THAT(after("a: 1\n", {"a", "1\n2"}), HasSubstr("edit.value"));
  EXPECT_THAT(after("a: [\n", {"a", "1"}), HasSubstr("yaml.syntax"));
  EXPECT_THAT(after("", {"a", "1"}), HasSubstr("design.empty"));
}

}  // namespace
}  // namespace orrery::design_text
