// Every rule can fire, and its finding offers the edit that fixes it.
//
// tests/golden/rules/RULE.golden breaks the rule in templates that pass, this rule and no other,
// and holds its findings word for word; no other test does. A file consists of cases:
//
//   template: superpod-h100
//   workloads[0].train.batch = 1        edits, `path = value`; an empty value removes the key
//   ! reason                            if the finding offers no edit
//   ----
//   error at `train:`                   the findings, each with the line that it points at
//   what: ...
//
// Applied to the author's own text, the edits of the findings restore a passing design. In
// addition, pranks on every template are fixed edit by edit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/base/text.h"
#include "golden_file.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

using design_text::Change;

// Rules whose findings state a fact but offer no edit.
const std::map<std::string, std::string> kNoEdit = {
    {"cluster.idle-nodes", "whether to buy fewer or to find work is the author's choice"},
    {"cost.renting", "whether to own is the author's choice"},
    {"cluster.partitions", "two fleets in place of one, by hand"},
    {"storage.latency-target", "faster media or another name is the author's choice"},
    {"storage.gb200-guidance", "a note on how to read the guidance"},
    {"serving.retrieval-tail", "a faster tier, fewer reads or a longer promise is a choice"},
    {"workload.inference", "which number format or fleet is a choice"},
    {"serving.cascade", "whether the larger model should answer all is a choice"},
    {"serving.quality-source", "only the author knows the test"},
    {"fabric.emerging", "a note on what to ask the maker"},
    {"facility.residual-air", "a note on what the hall needs beside the racks"},
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(std::filesystem::path(ORRERY_SOURCE_DIR) / path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string template_text(std::string_view name) {
  const auto found = design_text::find_template(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found ? std::string(found->text) : std::string();
}

// Files that a broken design names are in the folder of the rich designs.
design_text::ReadDesignOptions files() {
  return {.read_file = [](std::string_view path) -> Result<std::string> {
    return read_file(std::filesystem::path("tests/rich") / path);
  }};
}

// Returns only the findings; the cost of a design does not matter here.
std::vector<rules::Finding> findings_of(std::string_view text) {
  const auto design = design_text::read_design(text, machine::known().catalog(), files());
  EXPECT_TRUE(design.has_value()) << (design ? "" : to_text(design.error())) << text;
  if (!design) return {};
  return rules::check_rules(review::run_stages(*design, machine::known()));
}

// Edits the author's own text as one click does, keeping its form.
std::string edited(const std::string& text, const Change& edit) {
  auto after = design_text::edit_text(text, edit, machine::known().catalog(), files());
  EXPECT_TRUE(after.has_value()) << edit.path << " = " << edit.value << '\n'
                                 << (after ? "" : to_text(after.error()));
  if (!after) return text;
  EXPECT_FALSE(after->rewritten) << edit.path << " = " << edit.value;
  return std::move(after->text);
}

std::string all_edited(std::string text, const std::vector<Change>& edits) {
  for (const Change& e : edits) text = edited(text, e);
  return text;
}

// Idle nodes, or nodes too little used to own, follow from many changes; only the cases of these
// rules expect these notes.
bool follows(const rules::Finding& f) {
  return f.rule == "cluster.idle-nodes" || f.rule == "cost.renting";
}
std::set<std::string> rules_in(const std::vector<rules::Finding>& findings,
                               std::string_view wanted = {}) {
  std::set<std::string> ids;
  for (const rules::Finding& f : findings) {
    if (!follows(f) || f.rule == wanted) ids.insert(f.rule);
  }
  return ids;
}

std::string as_text(const rules::Finding& f) {
  return f.rule + ": " + f.what +
         (f.edit ? "\n  " + f.edit->path + " = " + f.edit->value : "\n  no edit");
}

struct Mutation {
  std::string rule;
  std::string name;     // name of the template
  std::string no_edit;  // why the finding offers no edit
  std::vector<Change> edits;
};

std::filesystem::path rules_folder() { return golden_folder() / "rules"; }

// Reads the cases of one rule's golden file; the lines after `----` are skipped.
std::vector<Mutation> read_mutations(const std::filesystem::path& file) {
  std::vector<Mutation> cases;
  std::istringstream lines(golden_text(file));
  bool is_input = false;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kTemplate = "template: ";
    if (line.starts_with(kTemplate)) {
      is_input = true;
      cases.push_back({file.stem().string(), line.substr(kTemplate.size()), {}, {}});
    } else if (line == "----") {
      is_input = false;
    } else if (is_input && line.starts_with("  ! ")) {
      cases.back().no_edit = line.substr(4);
    } else if (is_input && line.starts_with("  ")) {
      const std::size_t equals = line.find(" =");
      const std::size_t value = std::min(line.size(), equals + 3);
      cases.back().edits.push_back({line.substr(2, equals - 2), line.substr(value)});
    }
  }
  return cases;
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (const auto& file : golden_files(rules_folder())) {
    for (Mutation& m : read_mutations(file)) all.push_back(std::move(m));
  }
  return all;
}

std::string line_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(lines, line);
  return std::string(trimmed(line));
}

// One case with the current findings of its rule.
std::string told(const Mutation& m) {
  std::string out = "template: " + m.name + '\n';
  for (const Change& e : m.edits) {
    out += "  " + e.path + " =" + (e.value.empty() ? "" : " " + e.value) + '\n';
  }
  if (!m.no_edit.empty()) out += "  ! " + m.no_edit + '\n';
  out += "----\n";
  const std::string broken = all_edited(template_text(m.name), m.edits);
  for (const rules::Finding& f : findings_of(broken)) {
    if (f.rule != m.rule) continue;
    out += std::string(word_of(f.severity)) + " at `" + line_of(broken, f.place.line) + "`\n";
    out += "what: " + f.what + "\nwhy: " + f.why + "\nfix: " + f.fix + '\n';
    if (f.edit) out += "edit: " + f.edit->path + " = " + f.edit->value + '\n';
  }
  return out;
}

TEST(Fixes, every_rule_has_a_golden_file_that_breaks_it) {
  std::set<std::string> rules, files;
  for (const rules::Rule& r : rules::all_rules()) rules.insert(r.id);
  for (const auto& file : golden_files(rules_folder())) files.insert(file.stem().string());
  EXPECT_EQ(files, rules);
}

TEST(Fixes, guide_counts_the_rules_and_has_a_row_for_each) {
  const std::string page = read_file("docs/reference/rules.md");
  const std::string count = std::to_string(rules::all_rules().size());
  EXPECT_NE(page.find("The review checks " + count + " rules"), std::string::npos) << count;
  for (const rules::Rule& r : rules::all_rules()) {
    EXPECT_NE(page.find(r.id), std::string::npos) << r.id << " has no row";
  }
}

class EveryRule : public testing::TestWithParam<std::string> {};

TEST_P(EveryRule, findings_match_the_golden_file) {
  const std::filesystem::path file = rules_folder() / (GetParam() + ".golden");
  std::string now;
  for (const Mutation& m : read_mutations(file)) now += (now.empty() ? "" : "\n") + told(m);
  expect_golden(file, now);
}

std::vector<std::string> rule_ids() {
  std::vector<std::string> ids;
  for (const rules::Rule& r : rules::all_rules()) ids.emplace_back(r.id);
  return ids;
}

std::string test_name(std::string name) {
  std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(rules, EveryRule, testing::ValuesIn(rule_ids()),
                         [](const auto& one) { return test_name(one.param); });

class EveryMutation : public testing::TestWithParam<Mutation> {};

TEST_P(EveryMutation, breaks_only_its_rule_and_the_edits_fix_it) {
  const Mutation& m = GetParam();
  const std::string text = template_text(m.name);
  const std::set<std::string> before = rules_in(findings_of(text));
  ASSERT_FALSE(before.contains(m.rule));

  const std::string broken = all_edited(text, m.edits);
  const std::vector<rules::Finding> findings = findings_of(broken);
  std::set<std::string> expected = before;
  expected.insert(m.rule);
  EXPECT_EQ(rules_in(findings, m.rule), expected);

  std::string cured = broken;
  for (const rules::Finding& f : findings) {
    if (f.rule != m.rule) continue;
    EXPECT_FALSE(f.what.empty() || f.why.empty() || f.fix.empty()) << as_text(f);
    EXPECT_GT(f.place.line, 0) << "a finding must point into the file";
    EXPECT_EQ(f.edit.has_value(), m.no_edit.empty() && !kNoEdit.contains(f.rule)) << as_text(f);
    if (f.edit) cured = edited(cured, {f.edit->path, f.edit->value});
  }
  if (cured == broken) return;
  for (const rules::Finding& f : findings_of(cured)) {
    if (follows(f)) continue;
    EXPECT_TRUE(before.contains(f.rule)) << as_text(f) << '\n' << cured;
  }
}

INSTANTIATE_TEST_SUITE_P(mutations, EveryMutation, testing::ValuesIn(all_mutations()),
                         [](const auto& one) {
                           return test_name(one.param.rule + "_" + one.param.name + "_" +
                                            std::to_string(one.index));
                         });

TEST(Fixes, the_examples_findings_offer_edits) {
  const std::filesystem::path folder = std::filesystem::path(ORRERY_SOURCE_DIR) / "examples/pairs";
  int designs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++designs;
    for (const rules::Finding& f : findings_of(read_file(entry.path()))) {
      EXPECT_TRUE(f.edit || kNoEdit.contains(f.rule)) << entry.path() << '\n' << as_text(f);
    }
  }
  EXPECT_GT(designs, 10);
}

TEST(Fixes, paths_name_the_site_as_the_file_does) {
  const auto path_of_fix = [](const std::string& text) {
    const std::vector<rules::Finding> findings = findings_of(text);
    const auto found =
        std::ranges::find(findings, "facility.rack-above-cooling", &rules::Finding::rule);
    return found != findings.end() && found->edit ? found->edit->path : "none";
  };
  const std::string one = edited(template_text("superpod-h100"), {"site.cooling", "air-perimeter"});
  EXPECT_EQ(path_of_fix(one), "site.cooling");
  const std::string several =
      edited(template_text("medical-imaging"), {"sites[0].cooling", "air-perimeter"});
  EXPECT_EQ(path_of_fix(several), "sites[0].cooling");
}

// What a person does in the console, without the browser: each line of web/tests/broken.txt is
// "template: path = value", followed by clicks on the first fix until the design passes.
TEST(Fixes, lead_from_a_broken_edit_to_a_design_that_passes) {
  constexpr int kClicksMost = 6;  // as in web/tests/templates.test.mjs
  std::istringstream lines(read_file("web/tests/broken.txt"));
  int designs = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    const std::size_t equals = line.find(" =");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    SCOPED_TRACE(line);
    ++designs;
    std::string text = edited(template_text(line.substr(0, colon)),
                              {line.substr(colon + 2, equals - colon - 2),
                               line.substr(std::min(line.size(), equals + 3))});
    bool passes = false;
    for (int click = 0; click <= kClicksMost && !passes; ++click) {
      const auto design = design_text::read_design(text, machine::known().catalog());
      const verdict::Verdict v = verdict::verdict_of(*design, machine::known(), {.spends = false});
      passes = v.passes();
      EXPECT_FALSE(click == 0 && passes) << "the edit must break something";
      const auto first = std::ranges::find_if(v.findings, [](const auto& f) { return !!f.edit; });
      if (passes || first == v.findings.end()) break;
      text = edited(text, {first->edit->path, first->edit->value});
    }
    EXPECT_TRUE(passes) << text;
  }
  EXPECT_GE(designs, 15);
}

// tests/pranks.txt with the places of a design filled in; pranks on places that it lacks are left
// out.
std::vector<Change> pranks_on(const std::string& text) {
  std::map<std::string, std::string> places;
  const auto design = design_text::read_design(text, machine::known().catalog());
  places["{site}"] = design->places.given("site") ? "site" : "sites[0]";
  for (const design::Workload& w : design->workloads) {
    places.emplace("{" + std::string(kind_of(w)) + "}", machine::path_of(w));
  }
  std::vector<Change> pranks;
  std::istringstream lines(read_file("tests/pranks.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find(" =");
    Change prank{line.substr(0, equals), line.substr(std::min(line.size(), equals + 3))};
    const std::size_t close = prank.path.find('}');
    if (close != std::string::npos) {
      const auto place = places.find(prank.path.substr(0, close + 1));
      if (place == places.end()) continue;
      prank.path.replace(0, close + 1, place->second);
    }
    pranks.push_back(std::move(prank));
  }
  return pranks;
}

// Returns the text after a prank; nullopt if the file has no such place, or is not a valid design
// any more.
std::optional<std::string> pranked(const std::string& text, const Change& prank) {
  const auto after = design_text::edit_text(text, prank, machine::known().catalog());
  if (!after || !design_text::read_design(after->text, machine::known().catalog()))
    return std::nullopt;
  return after->text;
}

// Clicks the first offered edit again and again. Each must fix its own finding: afterwards the rule
// no longer complains about the same line.
void expect_mended(std::string text, const std::string& prank) {
  constexpr int kClicksMost = 16;
  SCOPED_TRACE(prank);
  std::string story;
  std::vector<rules::Finding> findings = findings_of(text);
  for (int click = 0; click < kClicksMost; ++click) {
    const auto first =
        std::ranges::find_if(findings, [](const rules::Finding& f) { return f.edit.has_value(); });
    if (first == findings.end()) return;
    rules::Finding clicked = *first;  // a copy, because the list is rebuilt
    story += as_text(clicked) + '\n';
    text = edited(text, {clicked.edit->path, clicked.edit->value});
    findings = findings_of(text);
    for (const rules::Finding& f : findings) {
      const bool same = f.rule == clicked.rule && f.edit && f.edit->path == clicked.edit->path;
      ASSERT_FALSE(same) << "not fixed: " << as_text(f) << "\nafter\n" << story;
    }
  }
  ADD_FAILURE() << "still not fixed after " << kClicksMost << " edits:\n" << story;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const design_text::Template& t : design_text::templates()) names.emplace_back(t.name);
  return names;
}

class EveryTemplate : public testing::TestWithParam<std::string> {};

TEST_P(EveryTemplate, edits_fix_any_prank) {
  const std::string text = template_text(GetParam());
  // A third of the pranks on each template, different ones on the next; a full run applies all
  // pranks to all templates.
  const bool full = std::getenv("ORRERY_FULL") != nullptr;
  const std::vector<std::string> names = template_names();
  auto turn = static_cast<int>(std::ranges::find(names, GetParam()) - names.begin());
  int played = 0;
  for (const Change& prank : pranks_on(text)) {
    if (!full && ++turn % 3 != 0) continue;
    const auto broken = pranked(text, prank);
    if (!broken) continue;
    ++played;
    expect_mended(*broken, prank.path + " = " + prank.value);
  }
  EXPECT_GT(played, 6);
}

INSTANTIATE_TEST_SUITE_P(templates, EveryTemplate, testing::ValuesIn(template_names()),
                         [](const auto& one) { return test_name(one.param); });

}  // namespace
}  // namespace orrery
