// A service that lets a larger model answer, from views set by hand: time, quality, money, and what
// the section says of them.
#include "plan/review/cascade_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/design_text/read_design.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

// A quarter of what 'small' answers goes on to 'large'. An accelerator is a tenth of a cent a
// second.
struct Pair {
  review::Review r;
  design::Serve small, large;

  Pair() {
    const auto d = design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 "
        "}]\nworkloads:\n"
        "  - serve: { name: small, model: llama-3-8b, tp: 1, replicas: 4, quality: 0.7, "
        "quality_source: our test, arrivals: { rate: 20 /s, input_tokens: 800, output_tokens: 100 "
        "}, escalate: { service: large, share: 0.25 } }\n"
        "  - serve: { name: large, model: llama-3-8b, tp: 1, replicas: 4, quality: 0.9, arrivals: "
        "{ rate: 0 /s, input_tokens: 800, output_tokens: 100 } }\n",
        machine::known().catalog());
    EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
    r = review::run_stages(*d, machine::known());
    small = *r.serves[0].serve;
    large = *r.serves[1].serve;
    r.serves[0].serve = &small;
    r.serves[1].serve = &large;
    r.cost.annual = usd(3153600);
    r.cost.accelerators = 100;
    fill(r.serves[0], 6, 20, 1.5);
    fill(r.serves[1], 12, 5, 4);
    r.serves[0].peak = PerSecond(33);
    r.serves[1].capacity_per_replica = PerSecond(4);
    r.serves[1].devices_per_replica = 4;
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  static void fill(review::ServeView& v, double devices, double rate, double answer) {
    v.infeasible.clear();
    v.devices = devices;
    v.rate = PerSecond(rate);
    v.answer = seconds(answer);
    v.error = 0.2;
  }
  std::optional<review::CascadeView> view() const { return review::view_cascade(r, r.serves[0]); }
  figures::Section section() const { return serving_sections(r).at(0); }
};

const figures::Figure* cascade_figure(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return &f;
  }
  return nullptr;
}

void expect_told(const figures::Section& s, std::string_view id, double value, double low,
                 double high, const std::string& formula) {
  const figures::Figure* f = cascade_figure(s, id);
  ASSERT_NE(f, nullptr) << id;
  EXPECT_NEAR(f->estimate.value, value, 1e-9 * value) << id;
  EXPECT_NEAR(f->estimate.low, low, 1e-9 * value) << id;
  EXPECT_NEAR(f->estimate.high, high, 1e-9 * value) << id;
  EXPECT_EQ(f->formula, formula) << id;
}

TEST(Cascade, AnAnswerIsWhatBothGive) {
  const Pair p;
  const auto c = p.view();
  ASSERT_TRUE(c);
  EXPECT_EQ(c->large, &p.r.serves[1]);
  EXPECT_NEAR(c->answer.base(), 1.5 + 0.25 * 4, 1e-12);
  EXPECT_NEAR(*c->quality, 0.75 * 0.7 + 0.25 * 0.9, 1e-12);
  EXPECT_NEAR(*c->quality_best, 0.7 + 0.25 * 0.9, 1e-12);
  EXPECT_NEAR(c->usd_here, 6 * 0.001 / 20, 1e-15);
  EXPECT_NEAR(c->usd_large, 12 * 0.001 / 5, 1e-15);
  EXPECT_NEAR(c->usd, 0.0003 + 0.25 * 0.0024, 1e-15);
  // 33 a second over 4 x 0.8 are eleven replicas of four accelerators, for twenty a second.
  EXPECT_EQ(c->replicas_alone, 11);
  EXPECT_NEAR(c->usd_alone, 44 * 0.001 / 20, 1e-15);
}

TEST(Cascade, IsToldInItsSection) {
  const Pair p;
  const figures::Section s = p.section();
  expect_told(s, "quality", 0.75, 0.75, 0.925,
              "0.75 x 0.7 + 0.25 x 0.9 of 'large', were those that go on like the others; at best "
              "they are those that were wrong. 'large' alone: 0.9");
  EXPECT_EQ(cascade_figure(s, "quality")->estimate.basis, Basis::given);
  EXPECT_EQ(cascade_figure(s, "quality")->estimate.reference, "our test");
  EXPECT_EQ(cascade_figure(s, "quality")->title(), "answers that are right");
  // 0.2 times 1.2 either way.
  expect_told(s, "answer_time", 2.5, 2.5 * 0.76, 2.5 * 1.24, "1.5 s + 0.25 x 4 s of 'large'");
  expect_told(s, "usd_per_kanswer", 0.9, 0.9 * 0.65, 0.9 * 1.45,
              "0.3 USD here and 0.25 of 2.4 USD of 'large'");
  expect_told(s, "usd_per_kanswer_alone", 2.2, 2.2 * 0.65, 2.2 * 1.45,
              "11 replicas for this service's peak");
  EXPECT_EQ(cascade_figure(s, "usd_per_kanswer_alone")->title(),
            "cost of a thousand answers of the larger model alone, large");
  EXPECT_EQ(cascade_figure(s, "usd_per_kanswer")->title(),
            "cost of a thousand answers at this traffic");
}

TEST(Cascade, HasNoPriceWhereNothingIsPaidOrAsked) {
  const auto without = [](void (*change)(review::Review&)) {
    Pair p;
    change(p.r);
    const auto c = p.view();
    EXPECT_TRUE(c);
    EXPECT_EQ(c->usd_here + c->usd_large + c->usd + c->usd_alone + c->replicas_alone, 0);
    EXPECT_NEAR(c->answer.base(), 2.5, 1e-12);
    const figures::Section s = p.section();
    EXPECT_NE(cascade_figure(s, "answer_time"), nullptr);
    EXPECT_EQ(cascade_figure(s, "usd_per_kanswer"), nullptr);
    EXPECT_EQ(cascade_figure(s, "usd_per_kanswer_alone"), nullptr);
  };
  without([](review::Review& r) { r.cost.accelerators = 0; });
  without([](review::Review& r) { r.serves[0].rate = PerSecond(0); });
  without([](review::Review& r) { r.serves[1].rate = PerSecond(0); });
  Pair idle;
  idle.r.serves[0].peak = PerSecond(0);
  EXPECT_EQ(idle.view()->replicas_alone, 1) << "one stands all the same";
}

TEST(Cascade, IsNoneWhereOneOfThemCannotBeServed) {
  Pair p;
  EXPECT_FALSE(review::view_cascade(p.r, p.r.serves[1])) << "it lets nobody else answer";
  p.r.serves[1].infeasible = "too large";
  EXPECT_FALSE(p.view());
  // Then its own quality stands alone.
  expect_told(p.section(), "quality", 0.7, 0.7, 0.7, "our test");
  p.small.quality_source.clear();
  expect_told(p.section(), "quality", 0.7, 0.7, 0.7, "");
  EXPECT_EQ(cascade_figure(p.section(), "quality")->estimate.basis, Basis::assumed);
  EXPECT_EQ(cascade_figure(p.section(), "quality")->estimate.reference,
            "the design, without a source");
  p.small.quality.reset();
  EXPECT_EQ(cascade_figure(p.section(), "quality"), nullptr);
  p.r.serves[1].infeasible.clear();
  EXPECT_TRUE(p.view());
  p.r.serves[0].infeasible = "too large";
  EXPECT_FALSE(p.view());
  p.r.serves[0].infeasible.clear();
  p.r.serves.pop_back();
  EXPECT_FALSE(p.view()) << "nobody there";
}

TEST(Cascade, OfZonesTakesTheFirstAndAsksForAll) {
  Pair p;
  p.r.serves.push_back(p.r.serves[1]);
  p.r.serves[2].answer = seconds(40);
  EXPECT_EQ(p.view()->large, &p.r.serves[1]);
  EXPECT_NEAR(p.view()->answer.base(), 2.5, 1e-12);
  p.r.serves[2].infeasible = "too large";
  EXPECT_FALSE(p.view());
}

// Seven in ten are right and half go on: at best none of the half that stays is wrong.
TEST(Cascade, QualityNeedsBoth) {
  Pair p;
  p.small.escalate->share = 0.5;
  EXPECT_NEAR(*p.view()->quality, 0.35 + 0.45, 1e-12);
  EXPECT_NEAR(*p.view()->quality_best, 0.5 + 0.45, 1e-12);
  p.large.quality.reset();
  EXPECT_FALSE(p.view()->quality);
  EXPECT_FALSE(p.view()->quality_best);
  EXPECT_EQ(cascade_figure(p.section(), "quality"), nullptr);
  p.large.quality = 0.9;
  p.small.quality.reset();
  EXPECT_FALSE(p.view()->quality);
}

}  // namespace
}  // namespace orrery::verdict
