// The power chain: quoted efficiencies at half load, and what redundancy costs.
#include "layers/facility/power_chain.h"

#include <gtest/gtest.h>

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

TEST(PowerChain, every_stage_has_its_quoted_efficiency_at_half_load) {
  for (const catalog::PowerStage& stage : shipped_catalog().power_stages) {
    EXPECT_NEAR(efficiency(stage_curve(stage), 0.5), stage.efficiency_typical, 1e-12) << stage.id;
  }
}

// power_chain.csv: a double-conversion UPS is inefficient below 20 % load.
TEST(PowerChain, ups_is_poor_at_low_load_and_flat_above_half) {
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

TEST(PowerChain, load_above_the_design_is_marked) {
  const auto chain = chain_of(shipped_catalog(), {}, "n");
  const ChainResult r = run_chain(chain, {.design = megawatts(1), .load = megawatts(1.2)});
  for (const StageLoad& s : r.stages) EXPECT_TRUE(s.overloaded) << s.id;
}

TEST(PowerChain, flex_leaves_out_the_ups) {
  EXPECT_EQ(chain_of(shipped_catalog(), {}, "flex").size(), 3u);
  const std::vector<std::string> ids{"ups-eco", "no-such-stage"};
  EXPECT_EQ(chain_of(shipped_catalog(), ids, "n").size(), 1u);
}

TEST(PowerChain, stage_without_load_has_no_efficiency) {
  EXPECT_EQ(efficiency(StageCurve{}, 0), 0) << "nor loss";
  EXPECT_EQ(efficiency(StageCurve{}, 0.5), 1);
}

// 80 kW need stages of 100 (loaded to 80 % continuously). Twice the capacity is a second path of
// every stage; 1.5 times is only more UPS modules.
TEST(PowerChain, redundancy_multiplies_what_is_built) {
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

catalog::PowerStage stage_row(const char* id, const char* name, double typical) {
  catalog::PowerStage stage;
  stage.id = id;
  stage.name = name;
  stage.efficiency_typical = typical;
  stage.provenance.reference = std::string("power_chain/") + id;
  return stage;
}

// A row's loss at half load is 0.5 (1/eta - 1) of its rating: 0.05 for eta = 10/11.
TEST(PowerChain, loss_curve_is_split_by_kind) {
  struct Expected {
    const char* id;
    const char* name;
    StageKind kind;
    double no_load, linear, squared;
  };
  for (const Expected& e :
       {Expected{"a-transformer", "x", StageKind::transformer, 0.025, 0, 0.1},
        Expected{"b", "dry transformer", StageKind::transformer, 0.025, 0, 0.1},
        Expected{"ups-eco", "x", StageKind::ups, 0.03, 0.025, 0.03},
        Expected{"c", "UPS, double", StageKind::ups, 0.03, 0.025, 0.03},
        Expected{"busway", "x", StageKind::conductor, 0, 0, 0.2},
        Expected{"psu", "rectifier", StageKind::converter, 0.01, 0.065, 0.03}}) {
    const StageCurve c = stage_curve(stage_row(e.id, e.name, 10.0 / 11));
    EXPECT_EQ(c.kind, e.kind) << e.id;
    EXPECT_NEAR(c.no_load, e.no_load, 1e-12) << e.id;
    EXPECT_NEAR(c.linear, e.linear, 1e-12) << e.id;
    EXPECT_NEAR(c.squared, e.squared, 1e-12) << e.id;
    EXPECT_EQ(c.id, e.id);
    EXPECT_EQ(c.name, e.name);
    EXPECT_EQ(c.reference, std::string("power_chain/") + e.id);
  }
}

TEST(PowerChain, loss_and_efficiency_of_a_curve) {
  const StageCurve c{.no_load = 0.02, .linear = 0.03, .squared = 0.07};
  EXPECT_NEAR(loss_share(c, 0.4), 0.02 + 0.012 + 0.0112, 1e-12);
  EXPECT_NEAR(efficiency(c, 0.4), 0.4 / 0.4432, 1e-12);
  EXPECT_EQ(efficiency(c, 0), 0);
  EXPECT_EQ(efficiency(c, -0.1), 0);
}

// A busway of 125 kW (100 over 0.8) at 60: x = 0.48, loss 125 * 0.04 * 0.2304 = 1.152 kW; at the
// design load 125 * 0.04 * 0.64 = 3.2, so the UPS before it is sized for 103.2 / 0.8 * 1.25.
TEST(PowerChain, power_accumulates_from_the_rack_up) {
  const std::vector<StageCurve> chain = {
      {.id = "ups",
       .name = "UPS",
       .kind = StageKind::ups,
       .no_load = 0.02,
       .linear = 0.03,
       .squared = 0.01,
       .reference = "r"},
      {.id = "bus", .kind = StageKind::conductor, .squared = 0.04}};
  const ChainResult r = run_chain(
      chain, {.design = kilowatts(100), .load = kilowatts(60), .capacity_multiplier = 1.25});
  ASSERT_EQ(r.stages.size(), 2U);
  const StageLoad& bus = r.stages[1];
  EXPECT_EQ(bus.id, "bus");
  EXPECT_NEAR(bus.output / kilowatts(1), 60, 1e-9);
  EXPECT_NEAR(bus.rated / kilowatts(1), 125, 1e-9);
  EXPECT_NEAR(bus.unit_load, 0.48, 1e-12);
  EXPECT_NEAR(bus.loss / kilowatts(1), 1.152, 1e-9);
  EXPECT_NEAR(bus.efficiency, 60 / 61.152, 1e-12);
  const StageLoad& ups = r.stages[0];
  const double x = 61.152 / 161.25;
  const double loss = 161.25 * (0.02 + 0.03 * x + 0.01 * x * x);
  EXPECT_EQ(ups.id + ups.name + ups.reference, "upsUPSr");
  EXPECT_NEAR(ups.output / kilowatts(1), 61.152, 1e-9);
  EXPECT_NEAR(ups.rated / kilowatts(1), 161.25, 1e-9);
  EXPECT_NEAR(ups.unit_load, x, 1e-12);
  EXPECT_NEAR(ups.loss / kilowatts(1), loss, 1e-9);
  EXPECT_FALSE(ups.overloaded || bus.overloaded);
  EXPECT_NEAR(r.loss / kilowatts(1), 1.152 + loss, 1e-9);
  EXPECT_NEAR(r.input / kilowatts(1), 61.152 + loss, 1e-9);
  EXPECT_NEAR(r.efficiency(), 60 / (61.152 + loss), 1e-12);
}

TEST(PowerChain, copies_share_the_load) {
  const std::vector<StageCurve> bus = {
      {.id = "bus", .kind = StageKind::conductor, .squared = 0.04}};
  const auto at = [&](double design, double load, double copies) {
    return run_chain(
        bus, {.design = kilowatts(design), .load = kilowatts(load), .capacity_multiplier = copies});
  };
  EXPECT_NEAR(at(80, 40, 1.99).stages[0].rated / kilowatts(1), 100, 1e-9) << "one path";
  EXPECT_NEAR(at(80, 40, 2).stages[0].rated / kilowatts(1), 200, 1e-9) << "two";
  EXPECT_NEAR(at(0, 40, 1).stages[0].rated / kilowatts(1), 50, 1e-9) << "the present load";
  EXPECT_FALSE(at(40, 40, 1).stages[0].overloaded);
  EXPECT_TRUE(at(39.9, 40, 1).stages[0].overloaded);
  EXPECT_TRUE(at(0, 0, 1).stages.empty());
  EXPECT_EQ(at(0, 0, 1).efficiency(), 1);
  EXPECT_EQ(run_chain(bus, {.load = kilowatts(40)}).stages[0].rated, kilowatts(50));
}

TEST(PowerChain, default_stages_and_their_order) {
  catalog::Catalog c;
  for (const char* id : {"busway", "pdu-transformer", "ups-double-conversion",
                         "utility-transformer-mv", "ups-eco"}) {
    c.power_stages.push_back(stage_row(id, id, 0.95));
  }
  const auto ids = [&](const std::vector<std::string>& wanted, const char* scheme) {
    std::string all;
    for (const StageCurve& s : chain_of(c, wanted, scheme)) all += s.id + " ";
    return all;
  };
  EXPECT_EQ(ids({}, "n"), "utility-transformer-mv ups-double-conversion pdu-transformer busway ");
  EXPECT_EQ(ids({}, "flex"), "utility-transformer-mv pdu-transformer busway ");
  EXPECT_EQ(ids({"ups-eco", "none", "busway"}, "flex"), "ups-eco busway ");
}

}  // namespace
}  // namespace orrery::facility
