#include "layers/storage/exposure.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::storage {
namespace {

// 127 nodes that each fail every 264 days (3.79 per 1000 node-days), a drain of 10 minutes.
ExposureProblem cluster() {
  return {.nodes = 127,
          .node_mtbf = days(1000 / 3.79),
          .drain = minutes(10),
          .interval = minutes(30),
          .holders = 1};
}

TEST(Exposure, LocalOnlyByHand) {
  const Exposure e = expose(cluster());
  EXPECT_NEAR(e.loss_per_save, 1 - std::exp(-127 * (600.0 / 86400) * 3.79e-3), 1e-12);
  EXPECT_NEAR(e.share_exposed, 1.0 / 3, 1e-12);
  EXPECT_EQ(e.rpo, minutes(30));
  EXPECT_EQ(e.rpo_holder_lost, minutes(40));
  EXPECT_NEAR(e.losses_per_year, e.loss_per_save * 17520, 1e-9);
}

TEST(Exposure, APeerCutsTheChanceByOrders) {
  ExposureProblem p = cluster();
  const double alone = expose(p).loss_per_save;
  p.holders = 2;
  const double paired = expose(p).loss_per_save;
  EXPECT_LT(paired, alone / 10000);
  p.holders = 3;
  EXPECT_LT(expose(p).loss_per_save, paired);
}

TEST(Exposure, ShorterDrainsExposeLess) {
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

}  // namespace
}  // namespace orrery::storage
