#include "layers/storage/exposure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/storage/lifecycle.h"

namespace orrery::storage {
namespace {

// 127 nodes that each fail every 264 days (3.79 per 1000 node-days), and a drain of 10 minutes.
ExposureProblem cluster() {
  return {.nodes = 127,
          .node_mtbf = days(1000 / 3.79),
          .drain = minutes(10),
          .interval = minutes(30),
          .holders = 1};
}

TEST(Exposure, exposure_of_local_copies) {
  const Exposure e = expose(cluster());
  EXPECT_NEAR(e.loss_per_save, 1 - std::exp(-127 * (600.0 / 86400) * 3.79e-3), 1e-12);
  EXPECT_NEAR(e.share_exposed, 1.0 / 3, 1e-12);
  EXPECT_EQ(e.rpo, minutes(30));
  EXPECT_EQ(e.rpo_holder_lost, minutes(40));
  EXPECT_NEAR(e.losses_per_year, e.loss_per_save * 17520, 1e-9);
}

TEST(Exposure, peer_copy_cuts_the_chance_by_orders_of_magnitude) {
  ExposureProblem p = cluster();
  const double alone = expose(p).loss_per_save;
  p.holders = 2;
  const double paired = expose(p).loss_per_save;
  EXPECT_LT(paired, alone / 10000);
  p.holders = 3;
  EXPECT_LT(expose(p).loss_per_save, paired);
}

TEST(Exposure, shorter_drains_expose_less) {
  double before = 1;
  for (const double m : {60.0, 10.0, 1.0, 0.0}) {
    ExposureProblem p = cluster();
    p.drain = minutes(m);
    const double loss = expose(p).loss_per_save;
    EXPECT_LE(loss, before);
    before = loss;
  }
  EXPECT_EQ(before, 0);
}

// Pairs: both holders of one of 50 pairs must fail within the window.
TEST(Exposure, save_with_two_holders_is_lost_when_both_fail) {
  const ExposureProblem p{.nodes = 100,
                          .node_mtbf = hours(100),
                          .drain = hours(1),
                          .interval = minutes(30),
                          .holders = 2};
  const Exposure e = expose(p);
  const double q = 1 - std::exp(-0.01);
  EXPECT_NEAR(e.loss_per_save, 1 - std::pow(1 - q * q, 50), 1e-12);
  EXPECT_EQ(e.share_exposed, 1) << "never more than all of the time";
}

TEST(Exposure, exposure_lasts_for_the_drain) {
  const Exposure e = expose({.nodes = 10,
                             .node_mtbf = days(100),
                             .drain = minutes(7),
                             .interval = minutes(5),
                             .holders = 1});
  EXPECT_EQ(e.window, minutes(7));
  EXPECT_EQ(e.share_exposed, 1) << "a drain that outlasts the interval";
  const Exposure once = expose({.node_mtbf = days(100), .drain = minutes(7), .interval = {}});
  EXPECT_EQ(once.share_exposed, 1);
  EXPECT_EQ(once.losses_per_year, 0) << "saved once";
}

}  // namespace
}  // namespace orrery::storage
