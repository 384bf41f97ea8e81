#include "plan/verdict/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "core/base/units.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/figures/goals.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::verdict {
namespace {

TEST(Verdict, summary_counts_rules_warnings_and_goals) {
  review::Review r = review::lab_review("superpod-h100");
  r.sites[0].draw_peak = megawatts(3);
  const Verdict v = verdict_of(r, {.spends = false, .insist = false});
  std::size_t errors = 0, warnings = 0, met = 0;
  for (const rules::Finding& f : v.findings) {
    errors += f.severity == Severity::error ? 1 : 0;
    warnings += f.severity == Severity::warning ? 1 : 0;
  }
  for (const figures::GoalOutcome& g : v.goals) met += g.met ? 1 : 0;
  ASSERT_EQ(errors, 1U);
  const std::vector<std::string> counts = {"1", std::to_string(warnings), std::to_string(met), "2"};
  const std::vector<std::string> numbers = rules::numbers_in(v.summary);
  ASSERT_GE(numbers.size(), counts.size()) << v.summary;
  EXPECT_TRUE(std::ranges::equal(counts, std::span(numbers).first(counts.size()))) << v.summary;
  EXPECT_FALSE(v.passes());
  EXPECT_EQ(v.design, "superpod-h100-4su");
  EXPECT_EQ(v.version, "1");
  EXPECT_TRUE(std::ranges::is_sorted(v.sections, {}, &figures::Section::layer));
  const Verdict fine =
      verdict_of(review::lab_review("fraud-cpu"), {.spends = false, .insist = false});
}

TEST(Verdict, coarse_layers_are_named) {
  const auto coarse = [](const review::Review& r) {
    return verdict_of(r, {.spends = false, .insist = false}).coarse;
  };
  const std::vector<std::string> all = coarse(review::lab_review("superpod-h100"));
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].find("serving: "), 0U);
  EXPECT_EQ(all[1].find("cluster: "), 0U);
  EXPECT_EQ(all[2].find("failure: "), 0U);
  EXPECT_EQ(all[3].find("facility: "), 0U);
  EXPECT_EQ(all[4].find("cost: "), 0U);
  EXPECT_EQ(coarse(review::lab_review("fraud-cpu")).size(), 2U);
  EXPECT_EQ(coarse(review::lab_review("av-vision"))[0].find(
                review::lab_review("av-vision").trains[0].label +
                ": a network that is not a transformer is a roofline"),
            0U);
}

// Agents and qualities occur in an example only: no template has them.
TEST(Verdict, every_metric_is_given_by_some_template_or_example) {
  std::vector<design::Design> all;
  for (const design_text::Template& t : design_text::templates())
    all.push_back(review::lab_design(t.name));
  std::ifstream example(ORRERY_SOURCE_DIR "/examples/cascade.yaml");
  const std::string text{std::istreambuf_iterator<char>(example), {}};
  all.push_back(design_text::read_design(text, machine::known().catalog()).value());
  std::set<std::string> missing;
  for (const design::GoalMetric& m : design::goal_metrics()) missing.insert(std::string(m.name));
  for (design::Design& d : all) {
    d.goals.clear();
    for (const design::GoalMetric& m : design::goal_metrics()) {
      d.goals.push_back({.metric = std::string(m.name), .bound = 0, .dimension = m.dimension});
    }
    const Verdict v = verdict_of(d, machine::known(), {.spends = false});
    for (const figures::GoalOutcome& g : v.goals) {
      if (g.actual.value != 0) missing.erase(g.metric);
    }
  }
  EXPECT_EQ(missing, std::set<std::string>{});
}

TEST(Verdict, bounds_are_compared_in_the_units_of_the_figure) {
  design::Design d = review::lab_design("superpod-h100");
  const auto outcome = [&](const std::string& text) {
    d.goals = {design::parse_goal(text).value()};
    return verdict_of(d, machine::known(), {.spends = false}).goals.at(0);
  };
  const double annual = outcome("cost <= 1 MUSD/y").actual.value;
  EXPECT_FALSE(outcome("cost <= 1 MUSD/y").met);
  EXPECT_NEAR(outcome("cost <= 1 MUSD/y").bound, 1e6, 1e-3);
  EXPECT_TRUE(outcome("cost <= " + std::to_string(annual / 1e6 * 1.001) + " MUSD/y").met);
  EXPECT_NEAR(outcome("cost_per_gpu_hour <= 4 USD/h").bound, 4, 1e-9);
  EXPECT_TRUE(outcome("goodput >= 0.5").likely);
  EXPECT_FALSE(outcome("goodput > 1").met);
}

// A review shares its machine: a copy is valid after the original and its design are gone.
TEST(Verdict, copy_of_a_review_outlives_the_original) {
  std::optional<review::Review> copy;
  std::string before;
  {
    const design::Design d =
        design_text::read_design(design_text::find_template("chatbot-zones")->text,
                                 machine::known().catalog())
            .value();
    const review::Review first = review::run_stages(d, machine::known());
    // Services are taken over from an equal design; they must point into their own design.
    const review::Review second = review::run_stages(d, machine::known(), &first);
    before = verdict_of(second).summary;
    copy = second;
  }
  EXPECT_EQ(verdict_of(*copy).summary, before);
  for (const review::ServeView& s : copy->serves) {
    EXPECT_GE(s.workload, copy->design().workloads.data());
    EXPECT_LT(s.workload, copy->design().workloads.data() + copy->design().workloads.size());
    EXPECT_EQ(s.fleet, &copy->fleets()[s.fleet->index]);
  }
}

}  // namespace
}  // namespace orrery::verdict
