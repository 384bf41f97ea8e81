// The power chain: quoted efficiencies at half load, and what redundancy costs.
#include "layers/facility/power_chain.h"

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

TEST(PowerChain, every_stage_has_its_quoted_efficiency_at_half_load) {
  for (const catalog::PowerStage& stage : shipped_catalog().power_stages) {
    EXPECT_NEAR(efficiency(stage_curve(stage), 0.5), stage.efficiency_typical, 1e-12) << stage.id;
  }
}

// power_chain.csv: a double-conversion UPS is poor below 20 % load.
TEST(PowerChain, a_ups_is_poor_at_low_load_and_flat_above_half) {
  const StageCurve ups = stage_curve(*shipped_catalog().power_stage("ups-double-conversion"));
  EXPECT_LT(efficiency(ups, 0.1), 0.90);
  EXPECT_LT(efficiency(ups, 0.2), 0.93);
  EXPECT_NEAR(efficiency(ups, 0.8), 0.96, 0.005);
  EXPECT_EQ(efficiency(ups, 0), 0);
}

TEST(PowerChain, losses_add_up_and_power_is_conserved) {
  const auto chain = chain_of(shipped_catalog(), {}, "2n");
  ASSERT_EQ(chain.size(), 4u);
  const ChainResult r =
      run_chain(chain, {.design = megawatts(1), .load = kilowatts(600), .capacity_multiplier = 2});
  EXPECT_NEAR((r.input - r.loss) / kilowatts(600), 1, 1e-12);
  for (std::size_t i = 0; i + 1 < r.stages.size(); ++i) {
    const Watts below = r.stages[i + 1].output + r.stages[i + 1].loss;
    EXPECT_NEAR(r.stages[i].output / below, 1, 1e-12);
  }
}

TEST(PowerChain, two_paths_halve_the_load_of_each_ups_and_lose_more) {
  const auto chain = chain_of(shipped_catalog(), {}, "2n");
  const ChainRequest one{.design = megawatts(1), .load = kilowatts(700)};
  const ChainRequest two{.design = megawatts(1), .load = kilowatts(700), .capacity_multiplier = 2};
  const StageLoad single = run_chain(chain, one).stages[1];
  const StageLoad paired = run_chain(chain, two).stages[1];
  EXPECT_NEAR(paired.unit_load, single.unit_load / 2, 0.01);
  EXPECT_LT(paired.efficiency, single.efficiency);
}

TEST(PowerChain, redundancy_never_lowers_loss_and_load_never_lowers_input) {
  for (const char* id : {"n", "n+1", "5/4", "3n/2", "2n"}) {
    const catalog::Redundancy* scheme = shipped_catalog().redundancy(id);
    ASSERT_NE(scheme, nullptr) << id;
    const auto chain = chain_of(shipped_catalog(), {}, id);
    Watts last;
    for (int load = 5; load <= 100; load += 5) {
      ChainRequest r{.design = megawatts(1), .load = kilowatts(load * 10)};
      const Watts plain = run_chain(chain, r).loss;
      r.capacity_multiplier = scheme->capacity_multiplier;
      const ChainResult redundant = run_chain(chain, r);
      EXPECT_GE(redundant.loss, plain) << id << " at " << load;
      EXPECT_GT(redundant.input, last);
      EXPECT_FALSE(redundant.stages.front().overloaded);
      last = redundant.input;
    }
  }
}

TEST(PowerChain, a_load_above_the_design_is_marked) {
  const auto chain = chain_of(shipped_catalog(), {}, "n");
  const ChainResult r = run_chain(chain, {.design = megawatts(1), .load = megawatts(1.2)});
  for (const StageLoad& s : r.stages) EXPECT_TRUE(s.overloaded) << s.id;
}

TEST(PowerChain, flex_leaves_out_the_ups) {
  EXPECT_EQ(chain_of(shipped_catalog(), {}, "flex").size(), 3u);
  const std::vector<std::string> ids{"ups-eco", "no-such-stage"};
  EXPECT_EQ(chain_of(shipped_catalog(), ids, "n").size(), 1u);
}

}  // namespace
}  // namespace orrery::facility
