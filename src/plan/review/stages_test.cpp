// What one stage of a review passes to the next.
#include "plan/review/stages.h"

#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

TEST(Stages, tiers_hold_data_sets_and_kept_checkpoints) {
  design::Design d = lab_design("superpod-h100");
  const Review r = reviewed(d);
  // 10 TB of text; three checkpoints and one in flight of 14 B for each of 70.55e9 parameters.
  EXPECT_NEAR(r.used[design::TierIndex(0)].base(), 10e12 + 4 * 14 * 70.55e9, 0.01e12);
}

// A tier in another site is read and written over the line between the two, and not without one.
TEST(Stages, line_between_sites_limits_saves) {
  design::Design d = lab_design("superpod-h100");
  d.sites.push_back(d.sites.front());
  d.sites[1].name = "far";
  d.storage[0].site = "far";
  d.fabric.wan = {
      {.between = {d.sites[0].name, "far"}, .rate = gbits_per_s(8), .latency = milliseconds(40)}};
  const Review r = reviewed(d);
  const jobs::SavePlan& k = *r.trains[0].checkpoint;
  ASSERT_EQ(k.safe->label, "hot");
  EXPECT_NEAR(k.drain.server.base(), k.size.base() / 1e9, 1e-6 * k.drain.server.base());
}

}  // namespace
}  // namespace orrery::review
