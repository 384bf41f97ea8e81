// Every invariant of a verdict, broken by hand in one place: it is reported, and nothing else is.
#include "plan/verdict/invariants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/spend.h"

namespace orrery::verdict {
namespace {

struct Broken {
  review::Review review = review::lab_review("superpod-h100");
  Verdict verdict;

  review::TrainView& train() { return review.trains.at(0); }
  review::ServeView& serve() { return review.serves.at(0); }
  review::SiteView& hall() { return review.sites.at(0); }
  review::FleetPower& power() { return hall().fleets.at(0); }
  std::vector<std::string> said() const { return broken_invariants(review, verdict); }
  // Exactly one invariant is broken, and its text names the subject.
  void expect(const std::string& subject) const {
    const std::vector<std::string> all = said();
    ASSERT_EQ(all.size(), 1U) << subject;
    EXPECT_TRUE(all[0].contains(subject)) << all[0];
  }
};

TEST(Invariants, shipped_templates_break_none) {
  EXPECT_TRUE(Broken{}.said().empty());
  for (const char* name : {"superpod-h100", "chatbot-zones", "fraud-cpu", "recommender"}) {
    const review::Review& r = review::lab_review(name);
    EXPECT_TRUE(broken_invariants(r, verdict_of(r, {.spends = false, .insist = false})).empty())
        << name;
  }
}

figures::Figure figure_with(double value, double low, double high) {
  figures::Figure f;
  f.kind = figures::FigureId::peak;
  f.estimate = {.value = value, .low = low, .high = high};
  return f;
}

Broken with_figure(figures::Figure f) {
  Broken b;
  b.verdict.sections = {{.name = "part"}};
  b.verdict.sections[0].figures = {std::move(f)};
  return b;
}

TEST(Invariants, an_estimate_is_finite_and_inside_its_interval) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(with_figure(figure_with(5, 4, 6)).said().empty());
  EXPECT_TRUE(with_figure(figure_with(5, 5, 5)).said().empty());
  EXPECT_TRUE(with_figure(figure_with(5, 5.000004, 6)).said().empty()) << "rounding";
  with_figure(figure_with(5, 5.1, 6)).expect("part peak");
  with_figure(figure_with(5, 4, 4.9)).expect("part peak");
  EXPECT_EQ(with_figure(figure_with(5, 5.00001, 6)).said().size(), 1U) << "twice what is allowed";
  for (const auto& f : {figure_with(inf, 4, inf), figure_with(5, -inf, 6), figure_with(5, 4, inf),
                        figure_with(std::nan(""), 4, 6)}) {
    const auto said = with_figure(f).said();
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(said[0].find("part peak is not finite: "), 0U) << said[0];
  }
  Broken b;
  b.verdict.goals = {{.text = "x < 3"}};
  b.verdict.goals[0].actual = {.value = 1, .low = 2, .high = 3};
  b.expect("x < 3");
}

TEST(Invariants, a_share_is_not_negative) {
  figures::Figure f = figure_with(-0.1, -0.2, 0.1);
  f.kind = figures::FigureId::mfu;
  with_figure(f).expect("part mfu");
  f.estimate.value = 0;
  EXPECT_TRUE(with_figure(f).said().empty());
  f.kind = figures::FigureId::racks;
  f.estimate.value = -0.1;
  EXPECT_TRUE(with_figure(f).said().empty());
}

TEST(Invariants, no_text_has_exponents_or_nan) {
  Broken b;
  for (const char* word : {"inf", "nan", "-inf", "-nan", "1e5", "1.5e+07", "-2e-3", "12e3"}) {
    b.verdict.summary = std::string("takes ") + word + ", then stops";
    b.expect(word);
  }
  for (const char* word :
       {"info", "e5", "1e", "h1e5", "1e5x", "e", "one", "a-1e5", "1e5/s", "banana", "2-e"}) {
    b.verdict.summary = std::string("takes ") + word + " of it";
    EXPECT_TRUE(b.said().empty()) << word;
  }
  b.verdict.summary = "1e5";
  EXPECT_EQ(b.said().size(), 1U);
  b.verdict.summary = "";
  EXPECT_TRUE(b.said().empty());
}

TEST(Invariants, every_text_of_a_section_is_checked) {
  const figures::Figure plain = figure_with(5, 4, 6);
  Broken b = with_figure(plain);
  b.verdict.sections[0].summary = "nan of it";
  b.expect("nan");
  b = with_figure(plain);
  b.verdict.sections[0].limit = "1e9 bytes";
  b.expect("1e9");
  figures::Figure f = plain;
  f.formula = "2 x inf";
  with_figure(f).expect("inf");
  f = plain;
  f.inputs = {{.name = "rate", .value = "3e7 B"}};
  with_figure(f).expect("3e7");
}

TEST(Invariants, spend_is_finite_and_changes_no_goal) {
  const rules::Spend sound{.what = "more", .change = {"fleet[0].count", "9"}};
  Broken b;
  b.verdict.spends = {sound};
  EXPECT_TRUE(b.said().empty());
  for (double rules::Spend::* field :
       {&rules::Spend::cost_usd_per_year, &rules::Spend::goodput_before,
        &rules::Spend::goodput_after, &rules::Spend::unit_cost_before_usd,
        &rules::Spend::unit_cost_after_usd}) {
    b.verdict.spends = {sound};
    b.verdict.spends[0].*field = std::numeric_limits<double>::infinity();
    b.expect("more");
  }
  b.verdict.spends = {sound};
  b.verdict.spends[0].change.path = "";
  b.expect("more");
  b.verdict.spends[0].change = {"goals[0]", "x"};
  b.expect("goals[0]");
}

rules::Finding sound_finding() {
  rules::Finding f;
  f.rule = "a.rule";
  f.what = "what";
  f.why = "why";
  f.fix = "fix of 12 things";
  f.edit = design_text::Change{"fleet[0].count", "12"};
  return f;
}

Broken with_finding(const rules::Finding& f) {
  Broken b;
  b.verdict.findings = {f};
  return b;
}

TEST(Invariants, a_finding_says_what_why_and_how) {
  EXPECT_TRUE(with_finding(sound_finding()).said().empty());
  for (std::string rules::Finding::* field :
       {&rules::Finding::what, &rules::Finding::why, &rules::Finding::fix}) {
    rules::Finding f = sound_finding();
    f.edit.reset();
    f.*field = "";
    with_finding(f).expect("a.rule");
    f.*field = "in nan steps";
    with_finding(f).expect("nan");
  }
}

TEST(Invariants, edit_is_round_and_named_in_the_fix) {
  rules::Finding f = sound_finding();
  f.edit = design_text::Change{"storage[0].read", "13 GB/s"};
  with_finding(f).expect("storage[0].read");
  f.fix = "Read 13 GB/s.";
  EXPECT_TRUE(with_finding(f).said().empty());
  f.edit->value = "1.25 GB/s";
  f.fix = "Read 1.25 GB/s.";
  EXPECT_TRUE(with_finding(f).said().empty()) << "three digits";
  f.edit->value = "0.00125 GB/s";
  f.fix = "Read 0.00125 GB/s.";
  EXPECT_TRUE(with_finding(f).said().empty()) << "zeros before them do not count";
  f.edit->value = "1.255 GB/s";
  f.fix = "Read 1.255 GB/s.";
  with_finding(f).expect("1.255 GB/s");
  f.edit = design_text::Change{"fleet[0].count", "1234567"};
  f.fix = "Buy 1,234,567.";
  EXPECT_TRUE(with_finding(f).said().empty()) << "grouped";
  f.fix = "Buy more.";
  EXPECT_EQ(with_finding(f).said().size(), 1U);
  f.edit = design_text::Change{"site.cooling", "air"};
  EXPECT_TRUE(with_finding(f).said().empty()) << "no number";
}

TEST(Invariants, no_edit_loosens_what_is_asked_for) {
  for (const char* end : {".deadline", ".window", ".ttft_p99", ".tpot_p99", ".latency_p99",
                          ".tokens", ".availability", ".residency", ".samples"}) {
    rules::Finding f = sound_finding();
    f.edit = design_text::Change{std::string("workloads[0].train") + end, "word"};
    with_finding(f).expect(f.edit->path);
    f.edit->path += "_x";
    EXPECT_TRUE(with_finding(f).said().empty()) << end;
  }
}

TEST(Invariants, nothing_draws_more_than_its_nameplate) {
  Broken b;
  const Watts nameplate = b.power().node.nameplate;
  b.power().node.peak = nameplate * 1.01;
  b.expect("train");
  b = {};
  b.power().mean = nameplate * 1.01;
  b.expect("train");
  b = {};
  b.power().swing.emplace();
  b.power().swing->amplitude = nameplate * 127.5;
  b.expect("train");
  b.power().swing->amplitude = nameplate * 127;
  EXPECT_TRUE(b.said().empty());
  b = {};
  b.hall().it_mean = b.hall().it_nameplate * 1.01;
  b.expect(b.hall().site->name);
  b = {};
  b.hall().pue.middle = 0.99;
  b.expect(b.hall().site->name);
  b.hall().pue.middle = 1;
  EXPECT_TRUE(b.said().empty());
  b = {};
  b.power().phases = {{"a", 0.5, watts(1)}, {"b", 0.25, watts(1)}};
  b.expect("0.75");
  b.power().phases[1].share = 0.5;
  EXPECT_TRUE(b.said().empty());
  b.power().phases.clear();
  EXPECT_TRUE(b.said().empty());
}

TEST(Invariants, shares_of_a_run_are_between_0_and_1) {
  const std::pair<const char*, double review::TrainView::*> shares[] = {
      {"goodput", &review::TrainView::goodput},
      {"efficiency", &review::TrainView::efficiency},
      {"contention", &review::TrainView::contention}};
  for (const auto& [name, field] : shares) {
    for (const double value : {1.25, -0.25}) {
      Broken b;
      b.train().*field = value;
      b.expect(name);
      b.train().infeasible = "no";
      EXPECT_TRUE(b.said().empty()) << "nothing is said of what does not run";
    }
    Broken b;
    b.train().*field = 1;
    EXPECT_TRUE(b.said().empty());
  }
  Broken b;
  b.train().failure.shortfall = 1.5;
  b.expect("shortfall");
  b = {};
  b.train().feed.known = true;
  b.train().feed.loader.utilisation = 1.5;
  b.expect("loader");
  b.train().feed.known = false;
  EXPECT_TRUE(b.said().empty());
  b = {};
  b.train().accelerators = 1017;
  b.expect("1017");
  b.train().accelerators = 1016;
  EXPECT_TRUE(b.said().empty());
}

TEST(Invariants, availability_is_a_share_and_p99_is_above_the_mean) {
  Broken b;
  b.serve().availability = 1.5;
  b.expect("assistant");
  b = {};
  b.serve().ttft = b.serve().ttft_p99 * 1.01;
  b.expect("assistant");
  b.serve().ttft = b.serve().ttft_p99;
  EXPECT_TRUE(b.said().empty());
  b.serve().availability = -1;
  b.serve().infeasible = "no";
  EXPECT_TRUE(b.said().empty());
}

TEST(Invariants, money_adds_up) {
  Broken b;
  b.review.cost.annual += usd(50);
  b.expect("cost");
  b = {};
  b.review.cost.egress_per_year += usd(50);
  EXPECT_EQ(b.said().size(), 1U);
  b = {};
  b.review.cost.wan_per_year += usd(50);
  EXPECT_EQ(b.said().size(), 1U);
  b = {};
  review::RentedFleet rented;
  rented.per_year = usd(50);
  b.review.cost.rented.push_back(rented);
  EXPECT_EQ(b.said().size(), 1U);
  b.review.cost.annual += usd(50);
  EXPECT_TRUE(b.said().empty());
  review::TierRent rent;
  rent.per_year = usd(20);
  rent.requests_per_year = usd(30);
  rent.egress_per_year = usd(40);
  b.review.cost.tier_rents.push_back(rent);
  EXPECT_EQ(b.said().size(), 1U);
  b.review.cost.annual += usd(90);
  EXPECT_TRUE(b.said().empty());
  b = {};
  b.review.cost.annual = usd(3);
  b.review.cost.owned.reset();
  b.review.cost.egress_per_year = usd(1);
  b.review.cost.wan_per_year = usd(2);
  EXPECT_TRUE(b.said().empty());
}

TEST(Invariants, counts_are_not_negative) {
  for (const double count : {-1.0, std::numeric_limits<double>::infinity()}) {
    Broken b;
    b.review.cost.bill.lines[0].count = count;
    b.expect(b.review.cost.bill.lines[0].item);
  }
  Broken b;
  b.review.cost.bill.lines[0].count = 0;
  EXPECT_TRUE(b.said().empty());
}

TEST(Invariants, missing_endpoints_need_a_finding) {
  design::Design d = review::lab_design("superpod-h100");
  d.fabric.compute.ports_per_node = 4;
  Broken b;
  b.review = review::run_stages(d, machine::known());
  const auto& compute = b.review.networks().compute;
  ASSERT_TRUE(compute.topology);
  b.expect(std::to_string(compute.topology->endpoints));
  rules::Finding said = sound_finding();
  said.rule = "fabric.endpoints";
  b.verdict.findings = {said};
  EXPECT_TRUE(b.said().empty());
  b.verdict.findings[0].rule = "another";
  EXPECT_EQ(b.said().size(), 1U);
}

TEST(Invariants, figures_are_checked_too) {
  Verdict v;
  v.sections = {{.name = "part"}};
  v.sections[0].figures = {{.kind = figures::FigureId::mfu, .estimate = {}}};
  v.sections[0].figures[0].estimate = {.value = 3, .low = 3, .high = 3};
  const review::Review& r = review::lab_review("superpod-h100");
  EXPECT_TRUE(broken_invariants(r, v).empty());
  v.sections[0].figures[0].estimate = {.value = 1e20, .low = 1e20, .high = 1e20};
  EXPECT_FALSE(broken_invariants(r, v).empty()) << "a power of ten is nothing to read";
}

}  // namespace
}  // namespace orrery::verdict
