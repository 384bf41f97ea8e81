// A service that escalates to a larger one: time, quality and money.
#include "plan/review/cascade_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/service_review_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

TEST(CascadeView, cascade_loads_the_larger_service_and_mixes_quality) {
  const Review r = review_of(
      small_service("small", "quality: 0.7, quality_source: t, arrivals: { rate: 20 /s, peak: 2, " +
                                 kShort + " }, escalate: { service: large, share: 0.2 }") +
      "  - serve: { name: large, model: llama-3-70b, tp: 8, quality: 0.9, quality_source: t, "
      "arrivals: { rate: 1 /s, peak: 1, " +
      kShort + " } }\n");
  const ServeView& small = r.serves[0];
  const ServeView& large = r.serves[1];
  EXPECT_DOUBLE_EQ(large.rate.base(), 1 + 0.2 * 20);
  EXPECT_DOUBLE_EQ(large.peak.base(), 1 + 0.2 * 40);
  EXPECT_NEAR(large.day[15], large.peak.base(), 1e-9);
  const auto c = view_cascade(r, small);
  ASSERT_TRUE(c);
  EXPECT_FALSE(view_cascade(r, large));
  EXPECT_NEAR(*c->quality, 0.8 * 0.7 + 0.2 * 0.9, 1e-12);
  EXPECT_NEAR(*c->quality_best, 0.7 + 0.2 * 0.9, 1e-12);
  EXPECT_NEAR(c->answer.base(), small.answer.base() + 0.2 * large.answer.base(), 1e-12);
  EXPECT_NEAR(c->usd, c->usd_here + 0.2 * c->usd_large, 1e-15);
  EXPECT_NEAR(c->usd_here / c->usd_large, (small.devices / 20) / (large.devices / 5), 1e-9);
  EXPECT_EQ(c->replicas_alone, std::ceil(40 / (large.capacity_per_replica.base() * 0.8)));
}

// At best, all escalated answers are those that were wrong; no more than the wrong ones can be
// corrected.
TEST(CascadeView, best_quality_is_capped_by_the_mistakes_there_are) {
  const Review r =
      review_of(small_service("small", "quality: 0.7, arrivals: { rate: 20 /s, " + kShort +
                                           " }, escalate: { service: large, share: 0.5 }") +
                small_service("large", "quality: 0.9, arrivals: { rate: 0 /s, " + kShort + " }"));
  EXPECT_NEAR(*view_cascade(r, r.serves[0])->quality_best, 0.5 + 0.45, 1e-12);
  EXPECT_DOUBLE_EQ(r.serves[1].rate.base(), 10);
}

// A quarter of the answers of 'small' go on to 'large'. An accelerator costs a tenth of a cent per
// second.
struct Pair {
  Review r;
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
    r = run_stages(*d, machine::known());
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

  static void fill(ServeView& v, double devices, double rate, double answer) {
    v.infeasible.clear();
    v.devices = devices;
    v.rate = PerSecond(rate);
    v.answer = seconds(answer);
    v.error = 0.2;
  }
  std::optional<CascadeView> view() const { return view_cascade(r, r.serves[0]); }
};

TEST(CascadeView, answer_combines_both_services) {
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
  // 33 per second over 4 x 0.8 are eleven replicas of four accelerators, for twenty per second.
  EXPECT_EQ(c->replicas_alone, 11);
  EXPECT_NEAR(c->usd_alone, 44 * 0.001 / 20, 1e-15);
}

TEST(CascadeView, zones_of_the_larger_service_must_all_be_feasible) {
  Pair p;
  p.r.serves.push_back(p.r.serves[1]);
  p.r.serves[2].answer = seconds(40);
  EXPECT_EQ(p.view()->large, &p.r.serves[1]);
  EXPECT_NEAR(p.view()->answer.base(), 2.5, 1e-12);
  p.r.serves[2].infeasible = "too large";
  EXPECT_FALSE(p.view());
}

}  // namespace
}  // namespace orrery::review
