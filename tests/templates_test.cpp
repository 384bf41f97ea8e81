// Every template is a design that passes its own review, and every rule can fire: a small change to
// a template that passes breaks that rule and no other, and the finding's own edit cures it.
#include "design/templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "design/edit.h"
#include "design/write_design.h"
#include "plan/review.h"
#include "plan/rules.h"
#include "report/verdict_report.h"

namespace orrery {
namespace {

using design::TextEdit;

std::string read_file(const std::string& path) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Known {
  Catalog catalog;
  Models models;
};

const Known& known() {
  static const Known* all = [] {
    auto* k = new Known{load_embedded_catalog().value(), {}};
    k->models = load_models(k->catalog).value();
    return k;
  }();
  return *all;
}

design::Design read_text(std::string_view text, const std::string& name) {
  auto design = design::read_design(text, known().catalog, {.file = name});
  EXPECT_TRUE(design.has_value()) << name << '\n' << (design ? "" : to_text(design.error()));
  return design ? *std::move(design) : design::Design{};
}

Verdict verdict_of(std::string_view text, const std::string& name) {
  return review(read_text(text, name), known().catalog, known().models, {.spends = false});
}

std::string text_of(std::string_view name) {
  const auto found = design::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found ? std::string(found->text) : std::string();
}

// As a finding's one-click edit does it: in the author's own text, which keeps its form.
std::string apply_edits(std::string text, const std::vector<TextEdit>& edits) {
  for (const TextEdit& e : edits) {
    auto edited = design::edit_text(text, e, known().catalog);
    EXPECT_TRUE(edited.has_value()) << e.path << '\n' << (edited ? "" : to_text(edited.error()));
    if (!edited) continue;
    EXPECT_FALSE(edited->rewritten) << e.path << " = " << e.value;
    text = std::move(edited->text);
  }
  return text;
}

std::set<std::string> rules_in(const Verdict& v) {
  std::set<std::string> ids;
  for (const Finding& f : v.findings) ids.insert(f.rule);
  return ids;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const design::Template& t : design::templates()) names.emplace_back(t.name);
  return names;
}

class EveryTemplate : public testing::TestWithParam<std::string> {};

TEST_P(EveryTemplate, passes_its_review) {
  const Verdict v = verdict_of(text_of(GetParam()), GetParam());
  EXPECT_TRUE(v.passes()) << v.summary;
  for (const Finding& f : v.findings) {
    EXPECT_EQ(f.severity, Severity::note) << f.rule << ": " << f.what;
  }
  for (const GoalOutcome& g : v.goals) EXPECT_TRUE(g.met) << g.text;
  EXPECT_FALSE(v.goals.empty()) << "a template shows what a goal is";
}

TEST_P(EveryTemplate, gives_the_same_bytes_twice) {
  const design::Design design = read_text(text_of(GetParam()), GetParam());
  const std::string once = json_of(review(design, known().catalog, known().models));
  EXPECT_EQ(once, json_of(review(design, known().catalog, known().models)));
  // And from its canonical text; only places differ, which a passing design hardly shows.
  const design::Design again = read_text(write_design(design), "again");
  EXPECT_EQ(run_stages(again, known().catalog, known().models).cost.annual.base(),
            run_stages(design, known().catalog, known().models).cost.annual.base());
}

INSTANTIATE_TEST_SUITE_P(templates, EveryTemplate, testing::ValuesIn(template_names()));

TEST(templates, the_sample_is_the_template) {
  EXPECT_EQ(read_file("examples/superpod-h100-4su.yaml"), text_of("superpod-h100"));
}

struct Mutation {
  std::string rule;
  std::string name;  // of the template
  std::vector<TextEdit> edits;
};

// tests/mutations.txt: a line at the margin opens a mutation, indented ones are its edits.
std::vector<Mutation> read_mutations() {
  std::vector<Mutation> all;
  std::istringstream lines(read_file("tests/mutations.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("  ")) {
      const std::size_t equals = line.find(" =");
      const std::size_t value = std::min(line.size(), equals + 3);
      all.back().edits.push_back({line.substr(2, equals - 2), line.substr(value)});
    } else {
      const std::size_t space = line.find(' ');
      all.push_back({line.substr(0, space), line.substr(space + 1), {}});
    }
  }
  return all;
}

std::vector<std::string> rule_ids() {
  std::vector<std::string> ids;
  for (const Rule& r : all_rules()) ids.emplace_back(r.id);
  return ids;
}

class EveryRule : public testing::TestWithParam<std::string> {};

TEST_P(EveryRule, fires_alone_and_its_edit_cures_it) {
  const std::vector<Mutation> mutations = read_mutations();
  const auto found = std::ranges::find(mutations, GetParam(), &Mutation::rule);
  ASSERT_NE(found, mutations.end()) << "a rule needs a design here that breaks it";
  const Mutation& m = *found;
  const std::string text = text_of(m.name);
  const std::set<std::string> before = rules_in(verdict_of(text, m.name));
  ASSERT_FALSE(before.contains(m.rule));

  const Verdict broken = verdict_of(apply_edits(text, m.edits), m.name);
  std::set<std::string> expected = before;
  expected.insert(m.rule);
  EXPECT_EQ(rules_in(broken), expected);

  std::vector<TextEdit> cured = m.edits;
  for (const Finding& f : broken.findings) {
    if (f.rule != m.rule) continue;
    EXPECT_FALSE(f.what.empty());
    EXPECT_FALSE(f.why.empty());
    EXPECT_FALSE(f.fix.empty());
    EXPECT_GT(f.place.line, 0) << "a finding points into the file";
    if (f.edit) cured.push_back({f.edit->path, f.edit->value});
  }
  if (cured.size() == m.edits.size()) return;
  EXPECT_EQ(rules_in(verdict_of(apply_edits(text, cured), m.name)), before);
}

INSTANTIATE_TEST_SUITE_P(rules, EveryRule, testing::ValuesIn(rule_ids()));

}  // namespace
}  // namespace orrery
