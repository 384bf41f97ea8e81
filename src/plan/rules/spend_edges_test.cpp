// Which changes are tried for money, and which of them are worth a line: gains at their bound,
// prices and shares that read alike, the best first and no more than five.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/text.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/spend.h"

namespace orrery::rules {
namespace {

// Whatever a change brings pays where a useful hour costs as much as this.
review::Review at_any_price(review::Review r) {
  r.cost.per_useful_hour = usd_per_hour(1e6);
  return r;
}

std::vector<std::string> spent_on(const review::Review& r) {
  std::vector<std::string> all;
  for (const Spend& s : best_spends(at_any_price(r))) {
    all.push_back(s.change.path + " = " + s.change.value.substr(0, 12));
  }
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> spent_in(const std::vector<design_text::Change>& changes) {
  return spent_on(review::edited_review("superpod-h100", changes));
}

bool is_tried(const std::vector<std::string>& all, const std::string& start) {
  return std::ranges::any_of(all, [&](const std::string& s) { return s.starts_with(start); });
}

TEST(SpendTrials, AreWhatTheDesignHasNotYet) {
  const auto all = spent_in({});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], "fleet[0].spares = 1");
  EXPECT_EQ(all[1], "scheduler.recovery.detect = 10 s");
  EXPECT_EQ(all[2], "scheduler.recovery.requeue = 2 s");
  EXPECT_TRUE(all[3].starts_with("storage[0] = ")) << "the hot tier and not the cold one";
}

TEST(SpendTrials, OfARestartAndANotice) {
  const auto with = [](const char* key, const char* value) {
    return spent_in({{std::string("scheduler.recovery.") + key, value}});
  };
  const std::string requeue = "scheduler.recovery.requeue = ";
  const std::string detect = "scheduler.recovery.detect = ";
  EXPECT_FALSE(is_tried(with("requeue", "2 s"), requeue));
  EXPECT_TRUE(is_tried(with("requeue", "2.1 s"), requeue));
  EXPECT_TRUE(is_tried(with("requeue", ""), requeue)) << "as it usually is";
  EXPECT_FALSE(is_tried(with("detect", "10 s"), detect));
  EXPECT_TRUE(is_tried(with("detect", "10.5 s"), detect));
  EXPECT_TRUE(is_tried(with("detect", ""), detect));
}

TEST(SpendTrials, OfSaves) {
  const std::string path = "workloads[0].train.checkpoint.";
  EXPECT_TRUE(is_tried(spent_in({{path + "mode", "sync"}}), path + "mode = async"));
  EXPECT_TRUE(is_tried(spent_in({{path + "every", "1 h"}}), path + "every = auto"));
  const auto none = spent_in({{"workloads[0].train.checkpoint", ""}});
  EXPECT_FALSE(is_tried(none, path));
}

TEST(SpendTrials, OfNetworksAndTiers) {
  const auto shared = spent_in({{"fabric.storage", "{ converged: true }"}});
  EXPECT_TRUE(is_tried(shared, "fabric.storage = "));
  EXPECT_FALSE(is_tried(spent_in({}), "fabric.storage"));
  const review::Review bare = review::edited_review("superpod-h100", {{"storage[0].read", ""},
                                                                      {"storage[0].write", ""},
                                                                      {"storage[0].capacity", ""},
                                                                      {"storage[1].name", "cold"},
                                                                      {"storage[1].tier", "warm"}});
  for (const Spend& s : best_spends(at_any_price(bare))) {
    if (s.change.path != "storage[0]") continue;
    EXPECT_EQ(s.what, "twice the servers of tier 'hot'");
    EXPECT_NE(s.change.value.find("servers: 32"), std::string::npos) << s.change.value;
    EXPECT_EQ(s.change.value.find("read"), std::string::npos) << s.change.value;
    EXPECT_EQ(s.change.value.find("write"), std::string::npos) << s.change.value;
    EXPECT_EQ(s.change.value.find("capacity"), std::string::npos) << s.change.value;
  }
  EXPECT_TRUE(is_tried(spent_on(bare), "storage[1] = ")) << "a warm tier too";
}

TEST(SpendTrials, AreOfTheFirstRunThatRuns) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].infeasible = "no";
  EXPECT_TRUE(best_spends(at_any_price(r)).empty());
  r.trains[0].infeasible.clear();
  r.trains.push_back(r.trains[0]);
  r.trains[0].infeasible = "no";
  r.trains[1].path = "workloads[7].train";
  EXPECT_EQ(spent_on(r).size(), 4U);
  EXPECT_TRUE(best_spends(at_any_price(review::lab_review("inference-pod"))).empty()) << "no run";
}

// Six are worth it; five are shown, the cheapest first.
TEST(SpendOrder, TheBestFiveFirst) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.mode", "sync"},
                                              {"workloads[0].train.checkpoint.every", "1 h"}});
  const auto all = best_spends(at_any_price(r));
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1].unit_cost_after_usd, all[i].unit_cost_after_usd);
  }
}

// What a change comes to is a review of its own.
TEST(SpendFigures, AreThoseOfTheDesignWithTheChange) {
  const review::Review& r = review::lab_review("superpod-h100");
  design::Design d = r.design();
  d.fleet[0].spares = 1;
  const review::Review after = review::run_stages(d, machine::known());
  review::Review asked = at_any_price(r);
  asked.cost.goodput = 0.5;
  bool found = false;
  for (const Spend& s : best_spends(asked)) {
    if (s.what != "one more spare node") continue;
    found = true;
    EXPECT_NEAR(s.cost_usd_per_year, (after.cost.annual - r.cost.annual).base(), 1e-3);
    EXPECT_EQ(s.goodput_before, 0.5);
    EXPECT_NEAR(s.goodput_after, after.cost.goodput, 1e-12);
    EXPECT_NEAR(s.unit_cost_before_usd, 1e6, 1e-3);
    EXPECT_NEAR(s.unit_cost_after_usd, after.cost.per_useful_hour.base() * 3600, 1e-9);
  }
  EXPECT_TRUE(found);
}

// A restart that an agent makes: in two seconds, and without a person.
TEST(SpendFigures, ARestartIsMadeByAnAgent) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"scheduler.recovery.automatic", "false"}});
  design::Design d = r.design();
  d.scheduler.recovery.requeue = seconds(2);
  d.scheduler.recovery.automatic = true;
  const review::Review after = review::run_stages(d, machine::known());
  ASSERT_GT(after.cost.goodput, r.cost.goodput);
  bool found = false;
  for (const Spend& s : best_spends(at_any_price(r))) {
    if (s.what != "restart in seconds: drain, requeue and release by an agent") continue;
    found = true;
    EXPECT_NEAR(s.goodput_after, after.cost.goodput, 1e-12);
  }
  EXPECT_TRUE(found);
}

// A fall of the price by one in two thousand is worth a line, if it or the goodput reads otherwise.
TEST(SpendBounds, AGainThatIsSeen) {
  review::Review r = at_any_price(review::lab_review("superpod-h100"));
  const auto of = [](const std::vector<Spend>& all, std::string_view what) {
    const auto at = std::ranges::find(all, what, &Spend::what);
    return at == all.end() ? std::optional<Spend>() : std::optional(*at);
  };
  const std::string_view what = "one more spare node";
  const auto first = of(best_spends(r), what);
  ASSERT_TRUE(first);
  const double after = first->unit_cost_after_usd;
  const auto offered = [&](double before, double goodput) {
    r.cost.per_useful_hour = usd_per_hour(before);
    r.cost.goodput = goodput;
    return of(best_spends(r), what).has_value();
  };
  const double other = first->goodput_after * 0.9;
  EXPECT_FALSE(offered(after * 1.000499, other));
  EXPECT_TRUE(offered(after * 1.000502, other));
  EXPECT_FALSE(offered(after, other));
  // To three digits: the next of them that the price rounds to.
  const double alike = after * 1.0006;
  ASSERT_EQ(significant(alike, 3), significant(after, 3));
  EXPECT_TRUE(offered(alike, other)) << "the goodput reads otherwise";
  EXPECT_FALSE(offered(alike, first->goodput_after)) << "nothing does";
  EXPECT_TRUE(offered(after * 1.02, first->goodput_after)) << "the price does";
}

}  // namespace
}  // namespace orrery::rules
