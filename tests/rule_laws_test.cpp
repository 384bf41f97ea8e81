// Rules as laws: over a series of designs that cross the threshold, a finding exists exactly if the
// quantities of the review say so, and there is at least one design on each side of the threshold.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "core/base/text.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

using Changes = std::vector<design_text::Change>;

review::Review review_of(const std::string& name, const Changes& changes) {
  std::string text(design_text::find_template(name)->text);
  for (const design_text::Change& c : changes) {
    auto edited = design_text::edit_text(text, c, machine::known().catalog());
    EXPECT_TRUE(edited.has_value()) << c.path << " = " << c.value;
    if (edited) text = edited->text;
  }
  const auto design = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(design) << (design ? "" : to_text(design.error()));
  return review::run_stages(design.value(), machine::known());
}

bool finds(const review::Review& review, std::string_view rule) {
  const verdict::Verdict verdict = verdict::verdict_of(review, {.spends = false});
  return std::ranges::any_of(verdict.findings,
                             [&](const rules::Finding& f) { return f.rule == rule; });
}

// The rule must agree with `broken` on every design, and both outcomes must occur.
void expect_law(const std::string& name, std::string_view rule, const std::vector<Changes>& designs,
                const std::function<bool(const review::Review&)>& broken) {
  int yes = 0;
  int no = 0;
  for (const Changes& changes : designs) {
    const review::Review review = review_of(name, changes);
    const bool is_broken = broken(review);
    EXPECT_EQ(finds(review, rule), is_broken)
        << rule << " of " << name << " with " << changes.back().path << " = "
        << changes.back().value;
    ++(is_broken ? yes : no);
  }
  EXPECT_GT(yes, 0) << rule;
  EXPECT_GT(no, 0) << rule;
}

// A series of designs in which one value changes.
std::vector<Changes> each(const std::string& path, const std::vector<std::string>& values,
                          const Changes& first = {}) {
  std::vector<Changes> all;
  for (const std::string& value : values) {
    all.push_back(first);
    all.back().push_back({path, value});
  }
  return all;
}

TEST(rule_laws, a_save_is_safe_before_the_next_failure) {
  const review::Review plain = review_of("superpod-a100", {});
  const double size = plain.trains[0].checkpoint->size.base();
  const double mtbf = plain.trains[0].failure.mtbf.base();
  std::vector<std::string> rates;
  for (const double share : {0.5, 0.98, 1.02, 2.0}) {
    rates.push_back(shortest(size / (mtbf * share)) + " B/s");
  }
  // By hand: its size divided by the rate of the tier, plus the creation of its files and a commit
  // of 2 s.
  expect_law("superpod-a100", "storage.never-safe", each("storage[0].write", rates),
             [&](const review::Review& r) {
               const double drain =
                   size / r.tiers()[design::TierIndex(0)].write.base() + 600.0 / 20000 + 2;
               EXPECT_NEAR(r.trains[0].checkpoint->drain.total.base(), drain, 0.01 * drain);
               return drain > r.trains[0].failure.mtbf.base();
             });
}

TEST(rule_laws, later_copies_keep_up_with_their_rhythm) {
  expect_law("superpod-h100", "storage.later-copies",
             each("storage[1].write", {"1 MB/s", "10 MB/s", "20 MB/s", "40 MB/s", "1 GB/s"}),
             [](const review::Review& r) {
               const jobs::SavePlan& k = *r.trains[0].checkpoint;
               // One milestone per week, sent at the tier's own rate.
               const double takes = k.size.base() / r.tiers()[design::TierIndex(1)].write.base();
               EXPECT_NEAR(k.later.at(0).takes.base(), takes, 0.02 * takes + 3);
               return k.later.at(0).takes > k.later.at(0).every;
             });
}

TEST(rule_laws, accelerators_starve_below_four_fifths) {
  const auto worked = [](const review::Review& r) { return r.trains[0].feed.loader.utilisation; };
  // If storage is the limit, the share of productive time equals the share of the data that is
  // read.
  const double at_five = worked(review_of("av-vision", {{"storage[0].read", "5 GB/s"}}));
  ASSERT_LT(at_five, 0.5);
  std::vector<std::string> rates;
  for (const double share : {0.5, 0.78, 0.79, 0.81, 0.82, 0.95}) {
    rates.push_back(shortest(5 * share / at_five) + " GB/s");
  }
  expect_law("av-vision", "storage.starving", each("storage[0].read", rates),
             [&](const review::Review& r) {
               EXPECT_NEAR(worked(r) / r.tiers()[design::TierIndex(0)].read.base(), at_five / 5e9,
                           0.02 * at_five / 5e9);
               return worked(r) < 0.8;
             });
}

TEST(rule_laws, spares_cover_all_but_one_per_cent_of_the_time) {
  expect_law(
      "superpod-a100", "failure.spares",
      each("fleet[0].spares", {"0", "1", "2", "3", "4", "6"}, {{"workloads[0].train.nodes", "80"}}),
      [](const review::Review& r) {
        const jobs::FailurePlan& f = r.trains[0].failure;
        // P(Poisson(mean) > spares), summed up here.
        double term = std::exp(-f.mean_in_repair);
        double within = term;
        for (int k = 1; k <= f.spares; ++k) within += term *= f.mean_in_repair / k;
        EXPECT_NEAR(f.shortfall, 1 - within, 1e-9);
        EXPECT_EQ(f.spares, r.design().fleet[0].spares);
        return 1 - within > 0.01;
      });
}

TEST(rule_laws, replicas_are_ample_half_as_many_again_and_two_more) {
  expect_law("superpod-h100", "serving.over-provision",
             each("workloads[1].serve.replicas", {"1", "2", "3", "4", "5", "6", "8", "12"}),
             [](const review::Review& r) {
               const review::ServeView& v = r.serves[0];
               const double enough = std::max(1.0, std::ceil(v.replicas_needed - 1e-9));
               return v.replicas > 1.5 * enough && v.replicas >= enough + 2;
             });
}

// Seven of the 127 nodes are spares for repairs; the nodes beyond those that repairs need have no
// workload.
TEST(rule_laws, nodes_without_work_are_reported_above_five_per_cent) {
  expect_law("superpod-h200", "cluster.idle-nodes",
             each("workloads[0].train.nodes", {"120", "112", "96", "80"}),
             [](const review::Review& r) {
               const jobs::FailurePlan& f = r.trains[0].failure;
               double term = std::exp(-f.mean_in_repair);
               double within = term;
               int standing = 0;
               while (1 - within > 0.01) within += term *= f.mean_in_repair / ++standing;
               const int idle = 127 - r.trains[0].hosts - standing;
               return idle >= 1 && idle > 0.05 * 127;
             });
}

// The lowest level needs 15 GB/s of reads and 7 of writes per unit of 256 accelerators, with a
// tolerance of two per cent. 1,016 accelerators are slightly fewer than the four units that have
// their own row.
TEST(rule_laws, the_lowest_published_level_is_required) {
  const auto slower_than = [](double read, double write) {
    return [=](const review::Review& r) {
      return r.tiers()[design::TierIndex(0)].read.base() < read ||
             r.tiers()[design::TierIndex(0)].write.base() < write;
    };
  };
  expect_law("superpod-h200", "storage.unit-guidance",
             each("storage[0].read", {"57 GB/s", "58 GB/s", "58.5 GB/s", "61 GB/s"}),
             slower_than(0.98 * 15e9 * 1016 / 256, 0));
  expect_law("superpod-h200", "storage.unit-guidance",
             each("storage[0].write", {"26 GB/s", "27 GB/s", "27.5 GB/s", "31 GB/s"}),
             slower_than(0, 0.98 * 7e9 * 1016 / 256));
}

TEST(rule_laws, events_are_written_as_fast_as_they_come) {
  const review::Review plain = review_of("recommender", {});
  const auto& features = *plain.trains[0].train->features;
  const double bytes = features.size.base();
  const machine::Tier* tier = jobs::features_tier(plain.trains[0], *plain.machine);
  ASSERT_NE(tier, nullptr);
  std::vector<std::string> rates;
  for (const double share : {0.5, 0.99, 1.01, 2.0}) {
    rates.push_back(shortest(tier->write.base() / bytes * share) + " /s");
  }
  expect_law("recommender", "storage.features", each("workloads[0].train.features.rate", rates),
             [&](const review::Review& r) {
               return r.trains[0].train->features->rate.base() * bytes > tier->write.base();
             });
}

TEST(rule_laws, a_tier_answers_within_what_its_name_promises) {
  expect_law("superpod-h100", "storage.latency-target",
             each("storage[0].first_byte", {"500 us", "900 us", "990 us", "1.01 ms", "2 ms"}),
             [](const review::Review& r) {
               return r.tiers()[design::TierIndex(0)].latency.total > milliseconds(1);
             });
}

}  // namespace
}  // namespace orrery
