// Power where there is none: feeds that ask for nothing beside those that do, a stage without load
// or loss, and copies of a chain's stages.
#include <gtest/gtest.h>

#include "layers/facility/power_cap.h"
#include "layers/facility/power_chain.h"

namespace orrery::facility {
namespace {

// 100 kW for 100, nothing and 100 that its own limit holds to 20: 80 are left for the first,
// wherever the idle feed stands.
TEST(FeedEdges, a_feed_that_asks_for_nothing_takes_nothing) {
  const Feed root{.name = "root", .limit = kilowatts(100)};
  const Feed wide{.name = "wide", .parent = 0, .demand = kilowatts(100)};
  const Feed idle{.name = "idle", .parent = 0};
  const Feed held{.name = "held", .parent = 0, .limit = kilowatts(20), .demand = kilowatts(100)};
  const std::vector<std::vector<Feed>> orders = {{root, wide, idle, held},
                                                 {root, idle, wide, held},
                                                 {root, held, idle, wide},
                                                 {root, wide, held, idle}};
  for (const std::vector<Feed>& feeds : orders) {
    const TreeReview review = review_tree(feeds);
    EXPECT_TRUE(review.overloaded);
    for (const FeedState& f : review.feeds) {
      const double kw = f.cap / kilowatts(1);
      if (f.name == "wide") EXPECT_NEAR(kw, 80, 1e-9);
      if (f.name == "idle") EXPECT_NEAR(kw, 0, 1e-9);
      if (f.name == "held") EXPECT_NEAR(kw, 20, 1e-9);
      if (f.name == "root") EXPECT_NEAR(kw, 100, 1e-9);
    }
  }
}

TEST(FeedEdges, a_stage_without_load_has_no_efficiency) {
  EXPECT_EQ(efficiency(StageCurve{}, 0), 0) << "nor loss";
  EXPECT_EQ(efficiency(StageCurve{}, 0.5), 1);
}

// 80 kW want stages of 100 (a load runs at 80 % for long); twice the capacity is a second path of
// every stage, half as much again is more UPS modules alone.
TEST(FeedEdges, what_is_built_again_for_redundancy) {
  const StageCurve ups{.id = "ups", .kind = StageKind::ups};
  const StageCurve wires{.id = "wires", .kind = StageKind::conductor};
  const std::vector<StageCurve> stages = {ups, wires};
  const auto rated = [&](double multiplier) {
    const ChainResult r =
        run_chain(stages, {.load = kilowatts(80), .capacity_multiplier = multiplier});
    std::string out;
    for (const StageLoad& s : r.stages) {
      out += s.id + ' ' + std::to_string(static_cast<int>(s.rated / kilowatts(1) + 0.5)) + ' ';
    }
    return out;
  };
  EXPECT_EQ(rated(1), "ups 100 wires 100 ");
  EXPECT_EQ(rated(1.5), "ups 150 wires 100 ");
  EXPECT_EQ(rated(1.99), "ups 199 wires 100 ");
  EXPECT_EQ(rated(2), "ups 200 wires 200 ");
}

}  // namespace
}  // namespace orrery::facility
