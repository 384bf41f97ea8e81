// Power of nodes, caps on trees of feeds, the stages of a chain and what a limiter lets through,
// by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/facility/node_power.h"
#include "layers/facility/power_admission.h"
#include "layers/facility/power_cap.h"
#include "layers/facility/power_chain.h"
#include "layers/facility/power_limiter.h"
#include "layers/facility/site_budget.h"

namespace orrery::facility {
namespace {

NodePower ten_kilowatts() {
  return {.nameplate = kilowatts(10),
          .peak = kilowatts(8),
          .idle = kilowatts(2),
          .accelerators = kilowatts(6)};
}

catalog::Node bare_node(double max_kw) {
  catalog::Node node;
  node.accelerators = 4;
  node.max_power = kilowatts(max_kw);
  node.provenance.reference = "nodes/bare";
  return node;
}

TEST(NodeByHand, shares_of_the_nameplate_stand_for_what_no_row_gives) {
  const auto power = node_power_of(bare_node(20), nullptr);
  ASSERT_TRUE(power);
  EXPECT_NEAR(power->nameplate / kilowatts(1), 20, 1e-12);
  EXPECT_NEAR(power->peak / kilowatts(1), 20 * 8.4 / 10.2, 1e-12);
  EXPECT_NEAR(power->idle / kilowatts(1), 3.8, 1e-12);
  EXPECT_TRUE(power->assumed_idle);
  EXPECT_NEAR(power->accelerators / kilowatts(1), 11, 1e-12);
  EXPECT_EQ(power->reference, "nodes/bare");
  EXPECT_FALSE(NodePower{}.assumed_idle);
  catalog::Node cloud = bare_node(20);
  cloud.max_power.reset();
  EXPECT_FALSE(node_power_of(cloud, nullptr));
}

TEST(NodeByHand, rows_stand_before_shares) {
  catalog::Node node = bare_node(20);
  node.idle_power = kilowatts(3);
  node.typical_train_power = kilowatts(17);
  catalog::Accelerator part;
  part.tdp = kilowatts(1.2);
  const auto power = node_power_of(node, &part);
  EXPECT_NEAR(power->peak / kilowatts(1), 17, 1e-12) << "8.4 of 10.2 would be 16.47";
  EXPECT_NEAR(power->idle / kilowatts(1), 3, 1e-12);
  EXPECT_FALSE(power->assumed_idle);
  EXPECT_NEAR(power->accelerators / kilowatts(1), 4.8, 1e-12);
  node.typical_train_power = kilowatts(9);
  EXPECT_NEAR(node_power_of(node, &part)->peak / kilowatts(1), 20 * 8.4 / 10.2, 1e-12);
  part.tdp = kilowatts(6);
  EXPECT_NEAR(node_power_of(node, &part)->accelerators / kilowatts(1), 20, 1e-12) << "no more";
  part.tdp.reset();
  EXPECT_NEAR(node_power_of(node, &part)->accelerators / kilowatts(1), 11, 1e-12);
}

// Six kW of accelerators sustain 4.8 at the peak of eight tenths.
TEST(NodeByHand, a_cap_takes_off_the_nameplate_at_once_and_off_the_peak_when_it_bites) {
  const auto at = [](double kw) { return capped(ten_kilowatts(), kilowatts(kw)); };
  EXPECT_NEAR(at(7).nameplate / kilowatts(1), 10, 1e-12);
  EXPECT_NEAR(at(7).peak / kilowatts(1), 8, 1e-12);
  EXPECT_NEAR(at(5).nameplate / kilowatts(1), 9, 1e-12);
  EXPECT_NEAR(at(5).peak / kilowatts(1), 8, 1e-12);
  EXPECT_NEAR(at(3).nameplate / kilowatts(1), 7, 1e-12);
  EXPECT_NEAR(at(3).peak / kilowatts(1), 8 - 1.8, 1e-12);
  EXPECT_NEAR(at(3).idle / kilowatts(1), 2, 1e-12);
  NodePower busy = ten_kilowatts();
  busy.idle = kilowatts(6.5);
  EXPECT_NEAR(capped(busy, kilowatts(1)).nameplate / kilowatts(1), 6.5, 1e-12);
  EXPECT_NEAR(capped(busy, kilowatts(1)).peak / kilowatts(1), 6.5, 1e-12);
  NodePower flat = ten_kilowatts();
  flat.peak = flat.nameplate;
  EXPECT_NEAR(capped(flat, kilowatts(3)).peak / kilowatts(1), 7, 1e-12);
}

TEST(NodeByHand, five_phases_between_idle_and_peak) {
  const auto phases = power_phases(
      ten_kilowatts(), {.matrix = 0.4, .memory = 0.2, .communication = 0.15, .checkpoint = 0.05});
  const char* names[] = {"matrix work", "memory work", "exposed communication", "checkpoint",
                         "idle"};
  const double shares[] = {0.4, 0.2, 0.15, 0.05, 0.2};
  const double kw[] = {8, 2 + 6 * 0.57, 2 + 6 * 0.57, 2 + 6 * 0.15, 2};
  ASSERT_EQ(phases.size(), 5U);
  double mean = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(phases[i].name, names[i]);
    EXPECT_NEAR(phases[i].share, shares[i], 1e-12);
    EXPECT_NEAR(phases[i].node_power / kilowatts(1), kw[i], 1e-12);
    mean += shares[i] * kw[i];
  }
  EXPECT_NEAR(mean_power(phases) / kilowatts(1), mean, 1e-12);
  EXPECT_NEAR(peak_power(phases) / kilowatts(1), 8, 1e-12);
  EXPECT_NEAR(lowest_power(phases) / kilowatts(1), 2, 1e-12);
  // 0.8 + 0.4 + 0.2 + 0.1 of the time is scaled by two thirds, and none is idle.
  const auto many = power_phases(
      ten_kilowatts(), {.matrix = 0.8, .memory = 0.4, .communication = 0.2, .checkpoint = 0.1});
  EXPECT_NEAR(many[0].share, 0.8 / 1.5, 1e-12);
  EXPECT_NEAR(many[3].share, 0.1 / 1.5, 1e-12);
  EXPECT_EQ(many[4].share, 0);
  EXPECT_NEAR(lowest_power(many) / kilowatts(1), 2.9, 1e-12) << "no time is idle";
  const auto memory = power_phases(ten_kilowatts(), {.memory = 1});
  EXPECT_NEAR(peak_power(memory) / kilowatts(1), 2 + 6 * 0.57, 1e-12) << "no time is matrix work";
  EXPECT_EQ(mean_power({}), Watts());
  EXPECT_EQ(peak_power({}), Watts());
  EXPECT_EQ(lowest_power({}), Watts());
}

// 1 - 0.9 (1 - x)^1.6 and 1 - 0.45 (1 - x)^2.
TEST(CapByHand, speeds_of_the_fit) {
  EXPECT_NEAR(capped_speed(0.6, Boundness::compute), 1 - 0.9 * std::pow(0.4, 1.6), 1e-12);
  EXPECT_NEAR(capped_speed(0.6, Boundness::memory), 1 - 0.45 * 0.16, 1e-12);
  for (const double none : {0.0, -0.7}) {
    EXPECT_NEAR(capped_speed(none, Boundness::compute), 0.1, 1e-12);
    EXPECT_NEAR(capped_speed(none, Boundness::memory), 0.55, 1e-12);
  }
  for (const double all : {1.0, 1.4}) {
    EXPECT_EQ(capped_speed(all, Boundness::compute), 1);
    EXPECT_EQ(capped_speed(all, Boundness::memory), 1);
  }
}

TEST(CapByHand, of_the_accelerators_alone) {
  EXPECT_EQ(accelerator_cap(ten_kilowatts(), kilowatts(10)), 1);
  EXPECT_NEAR(accelerator_cap(ten_kilowatts(), kilowatts(9.4)), 0.9, 1e-12);
  EXPECT_NEAR(accelerator_cap(ten_kilowatts(), kilowatts(4.3)), 0.05, 1e-12);
  EXPECT_EQ(accelerator_cap(ten_kilowatts(), kilowatts(3)), 0) << "the rest alone is 4 kW";
  EXPECT_EQ(accelerator_cap({.nameplate = kilowatts(10)}, kilowatts(3)), 1) << "nothing to cap";
}

// A root of 100 kW that draws 10 itself, over a branch limited to 30 that wants 80, a leaf of 60
// and a leaf of nothing. The branch takes its 30, the leaf what is left of 90: all of its 60.
TEST(FeedTree, a_feeds_own_demand_comes_first) {
  const auto review = [](double root_kw) {
    return review_tree(
        std::vector<Feed>{{.name = "root", .limit = kilowatts(root_kw), .demand = kilowatts(10)},
                          {.name = "branch", .parent = 0, .limit = kilowatts(30)},
                          {.name = "rack", .parent = 1, .demand = kilowatts(50)},
                          {.name = "rack", .parent = 1, .demand = kilowatts(30)},
                          {.name = "leaf", .parent = 0, .demand = kilowatts(60)},
                          {.name = "dark", .parent = 0}});
  };
  const auto kw = [](Watts w) { return w / kilowatts(1); };
  const TreeReview ample = review(100);
  EXPECT_TRUE(ample.overloaded);
  EXPECT_NEAR(kw(ample.feeds[0].demand), 150, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[0].limit), 100, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[0].over), 50, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[0].cap), 100, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[1].demand), 80, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[1].over), 50, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[1].cap), 30, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[2].cap), 30 * 50 / 80.0, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[3].cap), 30 * 30 / 80.0, 1e-9);
  EXPECT_NEAR(kw(ample.feeds[4].cap), 60, 1e-9);
  EXPECT_EQ(ample.feeds[5].cap, Watts());
  EXPECT_EQ(ample.feeds[4].over, Watts());
  EXPECT_NEAR(ample.lowest_cap, 30 / 80.0, 1e-9);
  // Of 58, 48 are left: 140 in all want it, 0.343 each; the branch's own limit lets it have 0.375.
  const TreeReview tight = review(58);
  EXPECT_NEAR(kw(tight.feeds[1].cap), 80 * 48 / 140.0, 1e-9);
  EXPECT_NEAR(kw(tight.feeds[4].cap), 60 * 48 / 140.0, 1e-9);
  EXPECT_NEAR(kw(tight.feeds[3].cap), 30 * 48 / 140.0, 1e-9);
  EXPECT_NEAR(tight.lowest_cap, 48 / 140.0, 1e-9);
  // Not even its own demand: nothing is left for those below.
  const TreeReview none = review(9);
  EXPECT_EQ(none.feeds[1].cap, Watts());
  EXPECT_EQ(none.lowest_cap, 0);
}

TEST(FeedTree, a_limit_that_is_just_met_is_not_passed) {
  const TreeReview met = review_tree(std::vector<Feed>{
      {.name = "root", .limit = kilowatts(20)}, {.name = "a", .parent = 0, .demand = watts(2e4)}});
  EXPECT_FALSE(met.overloaded);
  EXPECT_EQ(met.feeds[0].over, Watts());
  EXPECT_EQ(met.lowest_cap, 1);
  EXPECT_EQ(met.feeds[1].name, "a");
  EXPECT_EQ(TreeReview{}.lowest_cap, 1);
  EXPECT_EQ(Feed{}.parent, -1);
}

catalog::PowerStage stage_row(const char* id, const char* name, double typical) {
  catalog::PowerStage stage;
  stage.id = id;
  stage.name = name;
  stage.efficiency_typical = typical;
  stage.provenance.reference = std::string("power_chain/") + id;
  return stage;
}

// A row's loss at half load is 0.5 (1/eta - 1) of its rating: 0.05 at 10/11.
TEST(ChainByHand, a_curve_splits_the_loss_by_kind) {
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
  const StageCurve none;
  EXPECT_EQ(none.kind, StageKind::converter);
  EXPECT_EQ(none.no_load + none.linear + none.squared, 0);
}

TEST(ChainByHand, loss_and_efficiency_of_a_curve) {
  const StageCurve c{.no_load = 0.02, .linear = 0.03, .squared = 0.07};
  EXPECT_NEAR(loss_share(c, 0.4), 0.02 + 0.012 + 0.0112, 1e-12);
  EXPECT_NEAR(efficiency(c, 0.4), 0.4 / 0.4432, 1e-12);
  EXPECT_EQ(efficiency(c, 0), 0);
  EXPECT_EQ(efficiency(c, -0.1), 0);
}

// A busway of 125 kW (100 over 0.8) at 60: x = 0.48, loss 125 * 0.04 * 0.2304 = 1.152 kW; at the
// design 125 * 0.04 * 0.64 = 3.2, so that the UPS before it is sized for 103.2 / 0.8 * 1.25.
TEST(ChainByHand, from_the_rack_up) {
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

TEST(ChainByHand, copies_designs_and_overloads) {
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
  const StageLoad none;
  EXPECT_EQ(none.unit_load, 0);
  EXPECT_EQ(none.efficiency, 1);
  EXPECT_FALSE(none.overloaded);
}

TEST(ChainByHand, the_usual_stages_in_their_order) {
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

// 10 s apart, the average has forgotten: each burst of 890 W runs until it is at 700 from 100,
// which takes -0.08 ln(190 / 790) s.
TEST(LimiterByHand, slow_waves_burst_until_the_average_is_at_the_limit) {
  const PowerLimiter p = limiter_of(watts(700));
  EXPECT_NEAR(p.burst.base(), 890, 1e-9);
  EXPECT_EQ(p.window, milliseconds(80));
  const double until = -0.08 * std::log(190.0 / 790);
  const WaveDraw d = draw_of({.period = seconds(20), .duty = 0.4, .low = watts(100)}, p);
  EXPECT_NEAR(d.above_limit.base(), until, 1e-9);
  EXPECT_NEAR(d.highest.base(), 890, 1e-9);
  EXPECT_NEAR(d.mean.base(), (890 * until + 700 * (8 - until) + 100 * 12) / 20, 1e-9);
}

// 10 ms of 60 at 890 W and the rest at 100: the average stays about 232 W, far below 700.
TEST(LimiterByHand, a_burst_below_the_limit_lasts_as_long_as_its_work) {
  const WaveDraw d = draw_of({.period = milliseconds(60), .duty = 1.0 / 6, .low = watts(100)},
                             limiter_of(watts(700)));
  EXPECT_NEAR(d.above_limit.base(), 0.01, 1e-12);
  EXPECT_NEAR(d.mean.base(), 890 / 6.0 + 100 * 5 / 6.0, 1e-9);
  EXPECT_NEAR(d.highest.base(), 890, 1e-9);
}

TEST(LimiterByHand, all_or_none_of_the_time) {
  const PowerLimiter p = limiter_of(watts(700));
  for (const double duty : {1.0, 3.0}) {
    const WaveDraw d = draw_of({.period = seconds(1), .duty = duty, .low = watts(100)}, p);
    EXPECT_NEAR(d.mean.base(), 700, 1e-6) << duty;
    EXPECT_NEAR(d.above_limit.base(), 0, 1e-9) << duty;
    const WaveDraw weak = draw_of({.period = seconds(1), .duty = duty, .low = watts(100)},
                                  {.limit = watts(700), .burst = watts(650)});
    EXPECT_NEAR(weak.mean.base(), 650, 1e-9);
    EXPECT_EQ(weak.highest, watts(650));
    EXPECT_EQ(weak.above_limit, Seconds());
  }
  for (const double duty : {0.0, -1.0}) {
    const WaveDraw d = draw_of({.period = seconds(1), .duty = duty, .low = watts(100)}, p);
    EXPECT_EQ(d.mean, watts(100));
    EXPECT_EQ(d.highest, watts(100));
    EXPECT_EQ(d.above_limit, Seconds());
  }
  const WaveDraw at = draw_of({.period = seconds(1), .low = watts(100)},
                              {.limit = watts(700), .burst = watts(700)});
  EXPECT_NEAR(at.mean.base(), 400, 1e-9) << "half of the time, where nothing is said";
  EXPECT_EQ(at.above_limit, Seconds());
}

TEST(AdmissionByHand, up_to_what_is_left_itself) {
  const PowerRoom room{
      .feed = kilowatts(90), .pue = 1.25, .always = kilowatts(11), .running = kilowatts(23)};
  EXPECT_NEAR(room.left() / kilowatts(1), 72 - 34, 1e-9);
  EXPECT_NEAR(admissible(room).base() - room.left().base(), 9e-5, 1e-9);
  EXPECT_TRUE(admits(room, admissible(room)));
  EXPECT_FALSE(admits(room, admissible(room) + watts(1e-3)));
  EXPECT_EQ(PowerRoom{}.pue, 1);
}

TEST(BudgetByHand, a_pue_below_one_is_one) {
  const SiteBudgetRequest r{.site_power = kilowatts(100),
                            .pue = 0.5,
                            .other_it = kilowatts(7),
                            .power_per_node = kilowatts(9)};
  const SiteBudget b = site_budget(r);
  EXPECT_NEAR(b.it_power / kilowatts(1), 100, 1e-9);
  EXPECT_EQ(b.nodes, 10);
  EXPECT_NEAR(b.headroom / kilowatts(1), 3, 1e-9);
  EXPECT_NEAR(site_draw(r, 4) / kilowatts(1), 43, 1e-9);
  EXPECT_EQ(site_budget({.site_power = kilowatts(107),
                         .pue = 1,
                         .other_it = kilowatts(7),
                         .power_per_node = kilowatts(10)})
                .nodes,
            10)
      << "what just fits, fits";
  const SiteBudget none = site_budget({.site_power = kilowatts(100), .other_it = kilowatts(30)});
  EXPECT_EQ(none.nodes, 0);
  EXPECT_NEAR(none.headroom / kilowatts(1), 70, 1e-9);
  const SiteBudget tiny =
      site_budget({.site_power = megawatts(1000), .power_per_node = watts(1e-9)});
  EXPECT_EQ(tiny.nodes, 1'000'000'000) << "as many as a number holds";
}

}  // namespace
}  // namespace orrery::facility
