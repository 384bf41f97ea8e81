// Two designs side by side, from reviews laid down here: every word of the verdict, which lines are
// shown, which figures and findings count as changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/design/design.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"
#include "study/compare/diff.h"

namespace orrery::compare::diff_words_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A design, its totals and its verdict, none of them computed.
struct Side {
  review::Review stages;
  verdict::Verdict verdict;

  Side(const std::string& name, const std::string& digest) {
    design::Design design;
    design.name = name;
    takes(design);
    verdict.digest = digest;
  }
  void takes(const design::Design& design) {
    machine::Machine machine;
    machine.wanted = std::make_shared<design::Design>(design);
    machine.knows = &machine::known();
    stages.machine = std::make_shared<machine::Machine>(std::move(machine));
  }
  void costs(double annual_usd, double goodput, double useful_hour_usd) {
    stages.cost.annual = usd(annual_usd);
    stages.cost.goodput = goodput;
    stages.cost.per_useful_hour = usd_per_hour(useful_hour_usd);
  }
  void says(Severity severity, const std::string& rule, const std::string& what) {
    verdict.findings.push_back({.severity = severity, .rule = rule, .what = what});
  }
  void shows(figures::Layer layer, const std::string& section, const std::string& id,
             double value) {
    figures::Section* at = nullptr;
    for (figures::Section& s : verdict.sections) {
      if (s.layer == layer && s.name == section) at = &s;
    }
    if (at == nullptr) at = &verdict.sections.emplace_back();
    at->layer = layer;
    at->name = section;
    at->figures.push_back(
        {.kind = figures::FigureId::burst, .of = id, .estimate = exact(value, Basis::given, "")});
  }
};

std::string shown_as(std::string_view of) {
  return figures::label_text(figures::FigureId::burst, of);
}

DesignDiff diff_of(const Side& before, const Side& after) {
  return compare(Reviewed{before.stages, before.verdict}, Reviewed{after.stages, after.verdict},
                 machine::known());
}

TEST(DiffWords, a_verdict_is_one_sentence) {
  Side a("old", "x"), b("new", "y");
  a.costs(1e6, 0.9, 2);
  b.costs(3.5e6, 0.95, 2.5);
  EXPECT_EQ(diff_of(a, b).verdict,
            "old -> new: +2.5 MUSD a year, goodput 90 % -> 95 %, a useful hour dearer by 25 %.");
  EXPECT_EQ(diff_of(b, a).verdict,
            "new -> old: -2.5 MUSD a year, goodput 95 % -> 90 %, a useful hour cheaper by 20 %.");
  b.costs(1e6, 0.9, 2);
  EXPECT_EQ(diff_of(a, b).verdict,
            "old -> new: +0 USD a year, goodput 90 % -> 90 %, a useful hour dearer by 0 %.");
  a.costs(1e6, 0.9, 0);
  EXPECT_EQ(diff_of(a, b).verdict,
            "old -> new: +0 USD a year, goodput 90 % -> 90 %, a useful hour dearer by 0 %.")
      << "of nothing there is no share";
}

TEST(DiffWords, what_passes_now_or_no_longer_is_said) {
  Side a("a", "x"), b("b", "y");
  a.costs(1, 1, 1);
  b.costs(1, 1, 1);
  const std::string plain =
      "a -> b: +0 USD a year, goodput 100 % -> 100 %, a useful hour dearer by 0 %";
  a.says(Severity::error, "r", "too hot");
  DesignDiff d = diff_of(a, b);
  EXPECT_EQ(d.verdict, plain + "; now passes.");
  EXPECT_FALSE(d.passed_before);
  EXPECT_TRUE(d.passes_after);
  b.says(Severity::error, "r", "too cold");
  EXPECT_EQ(diff_of(a, b).verdict, plain + ".");
  a.verdict.findings.clear();
  d = diff_of(a, b);
  EXPECT_EQ(d.verdict, plain + "; no longer passes.");
  EXPECT_TRUE(d.passed_before);
  EXPECT_FALSE(d.passes_after);
  b.verdict.digest = "x";
  EXPECT_EQ(diff_of(a, b).verdict, "The designs say the same.");
}

TEST(DiffWords, findings_are_the_same_by_rule_and_words) {
  Side a("a", "x"), b("b", "y");
  a.says(Severity::warning, "both", "stays");
  a.says(Severity::warning, "rule", "went");
  a.says(Severity::error, "other", "too");
  a.says(Severity::note, "note", "is no fault");
  b.says(Severity::warning, "both", "stays");
  b.says(Severity::warning, "rule", "came");
  b.says(Severity::warning, "fresh", "went");
  b.says(Severity::note, "note", "another");
  const DesignDiff d = diff_of(a, b);
  const auto named = [](const std::vector<rules::Finding>& all) {
    std::vector<std::string> out;
    for (const rules::Finding& f : all) out.push_back(f.rule + ' ' + f.what);
    return out;
  };
  EXPECT_THAT(named(d.fixed), ElementsAre("rule went", "other too"));
  EXPECT_THAT(named(d.broken), ElementsAre("rule came", "fresh went"));
}

// Half a per cent is the least that is shown: 1000 -> 1004 is not, 1000 -> 1005.1 is.
TEST(DiffWords, figures_that_moved_are_shown_the_largest_first) {
  Side a("a", "x"), b("b", "y");
  const auto both = [&](const std::string& id, double before, double after) {
    a.shows(figures::Layer::facility, "main", id, before);
    b.shows(figures::Layer::facility, "main", id, after);
  };
  both("same", 7, 7);
  both("little", 1000, 1004);
  both("enough", 1000, 1005.1);
  both("half", 80, 40);
  both("more", 10, 14);
  both("from_nothing", 0, 3);
  both("still_nothing", 0, 0);
  a.shows(figures::Layer::facility, "main", "gone", 5);
  b.shows(figures::Layer::facility, "main", "fresh", 5);
  b.shows(figures::Layer::cost, "main", "half", 41);
  b.shows(figures::Layer::facility, "other", "half", 42);
  const DesignDiff d = diff_of(a, b);
  std::vector<std::string> labels;
  for (const FigureChange& c : d.figures) labels.push_back(c.label);
  EXPECT_THAT(labels, ElementsAre(shown_as("half"), shown_as("more"), shown_as("enough"),
                                  shown_as("from_nothing")));
  const FigureChange& half = d.figures.at(0);
  EXPECT_EQ(half.layer, figures::Layer::facility);
  EXPECT_EQ(half.section, "main");
  EXPECT_EQ(half.unit, figures::Unit::watts);
  EXPECT_DOUBLE_EQ(half.before, 80);
  EXPECT_DOUBLE_EQ(half.after, 40);
}

TEST(DiffWords, twenty_figures_are_enough) {
  Side a("a", "x"), b("b", "y");
  for (int i = 0; i < 21; ++i) {
    a.shows(figures::Layer::facility, "main", "f" + std::to_string(i), 100);
    b.shows(figures::Layer::facility, "main", "f" + std::to_string(i), 110 + i);
  }
  const DesignDiff d = diff_of(a, b);
  ASSERT_EQ(d.figures.size(), 20u);
  EXPECT_EQ(d.figures.front().label, shown_as("f20"));
  EXPECT_EQ(d.figures.back().label, shown_as("f1"));
}

design::Design with_stages(const std::vector<std::string>& names) {
  design::Design d;
  d.name = "d";
  for (const std::string& name : names) {
    d.pipeline.stages.push_back({.stage = design::DataStage::archive, .name = name});
  }
  return d;
}

std::vector<std::string> lines_between(const std::vector<std::string>& before,
                                       const std::vector<std::string>& after) {
  Side a("d", "x"), b("d", "y");
  a.takes(with_stages(before));
  b.takes(with_stages(after));
  const DesignDiff d = diff_of(a, b);
  EXPECT_THAT(d.effects, IsEmpty()) << "no section that costs anything";
  return d.lines;
}

TEST(DiffWords, common_lines_are_found_wherever_they_are) {
  EXPECT_THAT(lines_between({"p", "q"}, {"p", "r"}),
              ElementsAre("-       name: q", "+       name: r"));
  EXPECT_THAT(
      lines_between({"p", "q", "r"}, {"x", "q", "y"}),
      ElementsAre("-       name: p", "+       name: x", "-       name: r", "+       name: y"));
  EXPECT_THAT(lines_between({"p", "q", "r"}, {"q", "r"}),
              ElementsAre("-       name: p", "-     - stage: archive"));
  EXPECT_THAT(lines_between({"q", "r"}, {"q", "r", "s"}),
              ElementsAre("+     - stage: archive", "+       name: s"));
  EXPECT_THAT(lines_between({"p", "q"}, {"q", "p"}),
              ElementsAre("-       name: p", "-     - stage: archive", "+     - stage: archive",
                          "+       name: p"));
  EXPECT_THAT(lines_between({"p"}, {"p"}), IsEmpty());
}

// Between two designs of 2001 lines that differ from their first to their last, no common lines are
// looked for: all that was, then all that is.
TEST(DiffWords, of_designs_too_large_all_is_shown) {
  std::vector<std::string> before, after;
  for (int i = 0; i < 1001; ++i) {
    before.push_back('a' + std::to_string(i));
    after.push_back('b' + std::to_string(i));
  }
  const std::vector<std::string> lines = lines_between(before, after);
  ASSERT_EQ(lines.size(), 4002u);
  EXPECT_EQ(lines[0], "-       name: a0");
  EXPECT_EQ(lines[1], "-     - stage: archive");
  EXPECT_EQ(lines[2000], "-       name: a1000");
  EXPECT_EQ(lines[2001], "+       name: b0");
  EXPECT_EQ(lines[4001], "+       name: b1000");
}

}  // namespace
}  // namespace orrery::compare::diff_words_tests
