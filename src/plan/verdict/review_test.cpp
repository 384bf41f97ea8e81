// The stages of a review on small designs: what each hands on, and which way a change pushes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/figures/goals.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/sections.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict {
namespace {

design::Design sample(std::string_view name = "superpod-h100") {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

design::Train& train_of(design::Design& d) { return std::get<design::Train>(d.workloads[0].task); }

review::Review stages_of(const design::Design& d) {
  return review::run_stages(d, machine::known());
}

double goodput_of(const design::Design& d) { return stages_of(d).trains.at(0).goodput; }

TEST(networks, of_the_sample_are_the_reference_architectures) {
  const design::Design d = sample();
  const review::Review r = stages_of(d);
  // RA-11333-001, four scalable units: 32 leaves and 16 spines of 64 ports.
  const fabric::Topology& compute = *r.networks().compute.topology;
  EXPECT_EQ(compute.leaves, 32);
  EXPECT_EQ(compute.spines, 16);
  EXPECT_EQ(r.networks().compute.ports_per_node, 8);
  EXPECT_DOUBLE_EQ(r.networks().compute.per_node().base(), 400e9);
  EXPECT_FALSE(r.networks().compute.is_roce);
}

TEST(networks, a_switch_splits_its_ports_for_slower_endpoints) {
  const catalog::Switch& part = *machine::known().catalog().switch_part("sn5600");  // 64 x 800G
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(800)), 64);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(400)), 128);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(1600)), 64) << "no port is merged";
}

TEST(networks, ethernet_without_a_protocol_is_taken_for_roce) {
  const catalog::Switch* ethernet = machine::known().catalog().switch_part("sn5600");
  design::Network n{.topology = design::NamedTopology::fat_tree};
  EXPECT_TRUE(machine::speaks_roce(n, ethernet));
  EXPECT_FALSE(machine::speaks_roce(n, machine::known().catalog().switch_part("qm9700")));
  n.protocol = design::Protocol::ethernet;
  EXPECT_FALSE(machine::speaks_roce(n, ethernet));
}

// A zone's fleet may have nothing to serve a model with: said, and the lines between sites go on.
TEST(networks, of_a_zone_without_accelerators_are_still_shown) {
  design::Design d = sample("chatbot-zones");
  d.fleet[1].node.clear();
  d.fleet[1].custom = design::CustomNode{.accelerators = 0, .cores = 64};
  const review::Review r = stages_of(d);
  ASSERT_EQ(r.serves.size(), 3U);
  EXPECT_FALSE(r.serves[1].feasible());
  int lines = 0;
  for (const figures::Section& s : all_sections(r)) lines += s.name.starts_with("line ") ? 1 : 0;
  EXPECT_EQ(lines, 2);
}

TEST(tiers, rates_come_from_devices_and_stop_at_the_servers_network) {
  design::Design d = sample();
  design::StorageTier& hot = d.storage[0];
  hot.read.reset();
  hot.write.reset();
  hot.server_network.reset();
  const catalog::StorageDevice& drive = *machine::known().catalog().storage_device(hot.device);
  EXPECT_DOUBLE_EQ(stages_of(d).tiers()[design::TierIndex(0)].read.base(),
                   drive.read.base() * 16 * 24 * 0.8)
      << "a file system delivers four fifths of it";
  hot.server_network = gbits_per_s(400);
  EXPECT_DOUBLE_EQ(stages_of(d).tiers()[design::TierIndex(0)].read.base(), 16 * 50e9);
  hot.read = gbytes_per_s(160);
  EXPECT_DOUBLE_EQ(stages_of(d).tiers()[design::TierIndex(0)].read.base(), 160e9)
      << "the design has the last word";
}

TEST(tiers, drives_of_the_nodes_are_a_tier_without_being_named) {
  const design::Design d = sample();
  const review::Review r = stages_of(d);
  const machine::Tier* local = find_tier(r.tiers(), "node-nvme");
  ASSERT_NE(local, nullptr);
  EXPECT_TRUE(local->per_node);
  EXPECT_FALSE(local->durable());
  EXPECT_NEAR(local->capacity.base(), 8 * 3.84e12, 0.1e12);  // as a DGX H100 has
}

TEST(tiers, hold_data_sets_and_kept_checkpoints) {
  design::Design d = sample();
  const review::Review r = stages_of(d);
  // 10 TB of text; three checkpoints and one in flight of 14 B for each of 70.55e9 parameters.
  EXPECT_NEAR(r.used[design::TierIndex(0)].base(), 10e12 + 4 * 14 * 70.55e9, 0.01e12);
}

TEST(training, goodput_falls_with_what_harms_it_and_never_rises) {
  const design::Design base = sample();
  const double before = goodput_of(base);
  design::Design slow = base;
  slow.storage[0].write = *base.storage[0].write / 20;
  EXPECT_LT(goodput_of(slow), before);
  design::Design sync = base;
  train_of(sync).checkpoint->mode = design::CheckpointMode::sync;
  EXPECT_LT(goodput_of(sync), before);
  design::Design frail = base;
  frail.fleet[0].failures.node_mtbf = days(50);
  EXPECT_LT(goodput_of(frail), before);
  design::Design lemons = base;
  lemons.fleet[0].failures.lemon_share = 0.02;
  lemons.fleet[0].failures.lemon_factor = 10;
  EXPECT_LT(goodput_of(lemons), before);
  design::Design manual = base;
  manual.scheduler.recovery.automatic = false;
  EXPECT_LT(goodput_of(manual), before);
  design::Design shared = base;
  shared.fabric.storage.converged = true;
  EXPECT_LE(goodput_of(shared), before);
}

TEST(training, an_interval_of_its_own_is_never_better_than_the_best) {
  design::Design d = sample();
  const double best = goodput_of(d);
  for (const double minutes_between : {1.0, 5.0, 20.0, 60.0, 240.0}) {
    train_of(d).checkpoint->every = minutes(minutes_between);
    EXPECT_LE(goodput_of(d), best * (1 + 1e-9)) << minutes_between << " min";
  }
}

TEST(training, shares_of_the_step_and_of_the_wall_time_add_up) {
  for (const char* name : {"superpod-h100", "superpod-gb200", "av-vision", "recommender"}) {
    const design::Design d = sample(name);
    const review::Review r = stages_of(d);
    const review::TrainView& t = r.trains.at(0);
    EXPECT_LE(t.step.matrix_share + t.step.memory_share + t.step.exposed_share, 1 + 1e-9) << name;
    const facility::PhaseShares& p = t.phases;
    EXPECT_LE(p.matrix + p.memory + p.communication + p.checkpoint, 1 + 1e-9) << name;
    const failure::TimeShares& s = t.shares;
    EXPECT_NEAR(s.productive + s.saving + s.lost_work + s.restarting, 1, 1e-9) << name;
    EXPECT_LE(t.goodput_low, t.goodput) << name;
    EXPECT_GE(t.goodput_high, t.goodput) << name;
  }
}

TEST(training, a_cap_above_the_draw_costs_nothing_and_one_below_slows) {
  design::Design d = sample();
  const Seconds free = stages_of(d).trains[0].step.step;
  d.fleet[0].power_cap = watts(700);
  EXPECT_DOUBLE_EQ(stages_of(d).trains[0].step.step.base(), free.base());
  d.fleet[0].power_cap = watts(400);
  EXPECT_GT(stages_of(d).trains[0].step.step.base(), free.base() * 1.05);
}

TEST(site, a_cap_leaves_the_sustained_draw_that_it_does_not_reach) {
  design::Design d = sample();
  const review::Review free = stages_of(d);
  d.fleet[0].power_cap = watts(650);
  const review::Review mild = stages_of(d);
  // 50 W x 8 off the breaker; 8.4 of 10.2 kW is 576 W an accelerator, below the cap.
  EXPECT_NEAR(
      (free.sites[0].fleets[0].node.nameplate - mild.sites[0].fleets[0].node.nameplate).base(), 400,
      1e-6);
  EXPECT_DOUBLE_EQ(free.sites[0].fleets[0].node.peak.base(),
                   mild.sites[0].fleets[0].node.peak.base());
}

// 9 racks of 132 kW stand there: a swing beyond 1.2 MW would be more than all of it.
TEST(site, a_step_swings_by_no_more_than_what_stands_there) {
  const review::Review r = stages_of(sample("superpod-gb200"));
  const review::FleetPower& p = r.sites[0].fleets[0];
  ASSERT_TRUE(p.swing);
  EXPECT_LE(p.swing->amplitude.base(), 8 * p.node.nameplate.base());
  EXPECT_GT(p.swing->amplitude.base(), 0.05 * 8 * p.node.nameplate.base());
}

// A tier in another site is read and written over the line between the two, and not without one.
TEST(wan, bounds_what_a_run_reads_and_saves_elsewhere) {
  design::Design d = sample();
  d.sites.push_back(d.sites.front());
  d.sites[1].name = "far";
  d.storage[0].site = "far";
  d.fabric.wan = {
      {.between = {d.sites[0].name, "far"}, .rate = gbits_per_s(8), .latency = milliseconds(40)}};
  const review::Review r = stages_of(d);
  const jobs::SavePlan& k = *r.trains[0].checkpoint;
  ASSERT_EQ(k.safe->label, "hot");
  EXPECT_NEAR(k.drain.server.base(), k.size.base() / 1e9, 1e-6 * k.drain.server.base());
  d.fabric.wan.clear();
  std::vector<std::string> rules;
  for (const rules::Finding& f : verdict_of(stages_of(d)).findings) rules.push_back(f.rule);
  EXPECT_NE(std::ranges::find(rules, "fabric.sites-joined"), rules.end());
}

TEST(site, heat_of_a_rack_follows_the_nodes_that_the_design_puts_in_it) {
  design::Design d = sample();
  d.fleet[0].nodes_per_rack = 8;
  d.sites[0].cooling = "direct-to-chip-1p";
  const review::Review r = stages_of(d);
  const facility::RackFit& rack = r.sites[0].fleets[0].rack;
  EXPECT_NEAR(rack.power.base(), 8 * 10.2e3, 1);
  EXPECT_NEAR(rack.air_heat.base(), 0.2 * 8 * 10.2e3, 1);
  EXPECT_TRUE(rack.air_heat_is_a_legacy_rack);
}

TEST(cost, parts_of_the_year_add_up_and_the_useful_hour_follows) {
  for (const char* name : {"superpod-h100", "cloud-rental", "fraud-cpu"}) {
    const design::Design d = sample(name);
    const review::Review r = stages_of(d);
    const review::CostView& c = r.cost;
    double sum = c.egress_per_year.base();
    if (c.owned) {
      for (const cost::CostItem& i : c.owned->items) sum += i.per_year.base();
    }
    for (const review::RentedFleet& f : c.rented) sum += f.per_year.base();
    for (const review::TierRent& t : c.tier_rents) sum += t.total().base();
    EXPECT_NEAR(c.annual.base(), sum, 1e-6 * sum) << name;
    EXPECT_NEAR(c.per_useful_hour.base() * 3600,
                sum / (c.accelerators * 8760 * c.use * c.utilisation * c.goodput), 1e-6)
        << name;
  }
}

// Agents and qualities are of an example: no template has them.
TEST(goals, every_metric_is_given_by_some_template_or_example) {
  std::vector<design::Design> all;
  for (const design_text::Template& t : design_text::templates()) all.push_back(sample(t.name));
  std::ifstream example(ORRERY_SOURCE_DIR "/examples/cascade.yaml");
  const std::string text{std::istreambuf_iterator<char>(example), {}};
  all.push_back(design_text::read_design(text, machine::known().catalog()).value());
  std::set<std::string> missing;
  for (const design::GoalMetric& m : design::goal_metrics()) missing.insert(std::string(m.name));
  for (design::Design& d : all) {
    d.goals.clear();
    for (const design::GoalMetric& m : design::goal_metrics()) {
      d.goals.push_back({.metric = std::string(m.name), .bound = 0, .dimension = m.dimension});
    }
    const Verdict v = verdict_of(d, machine::known(), {.spends = false});
    for (const figures::GoalOutcome& g : v.goals) {
      if (g.actual.value != 0) missing.erase(g.metric);
    }
  }
  EXPECT_EQ(missing, std::set<std::string>{});
}

TEST(goals, bounds_are_compared_in_the_units_of_the_figure) {
  design::Design d = sample();
  const auto outcome = [&](const std::string& text) {
    d.goals = {design::parse_goal(text).value()};
    return verdict_of(d, machine::known(), {.spends = false}).goals.at(0);
  };
  const double annual = outcome("cost <= 1 MUSD/y").actual.value;
  EXPECT_FALSE(outcome("cost <= 1 MUSD/y").met);
  EXPECT_NEAR(outcome("cost <= 1 MUSD/y").bound, 1e6, 1e-3);
  EXPECT_TRUE(outcome("cost <= " + std::to_string(annual / 1e6 * 1.001) + " MUSD/y").met);
  EXPECT_NEAR(outcome("cost_per_gpu_hour <= 4 USD/h").bound, 4, 1e-9);
  EXPECT_TRUE(outcome("goodput >= 0.5").likely);
  EXPECT_FALSE(outcome("goodput > 1").met);
}

TEST(spends, are_better_than_nothing_and_best_first) {
  design::Design d = sample();
  train_of(d).checkpoint->mode = design::CheckpointMode::sync;
  d.storage[0].write = gbytes_per_s(5);
  const Verdict v = verdict_of(d, machine::known());
  ASSERT_FALSE(v.spends.empty());
  EXPECT_EQ(v.spends[0].what, "checkpoint asynchronously");
  double last = 0;
  for (const rules::Spend& s : v.spends) {
    EXPECT_LT(s.unit_cost_after_usd, s.unit_cost_before_usd) << s.what;
    EXPECT_GE(s.unit_cost_after_usd, last) << s.what;
    last = s.unit_cost_after_usd;
  }
}

TEST(findings, stand_errors_first_and_in_the_order_of_the_file) {
  design::Design d = sample();
  d.sites[0].power = megawatts(1);
  d.fabric.storage.converged = true;
  const Verdict v = verdict_of(d, machine::known(), {.spends = false});
  ASSERT_GE(v.findings.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(v.findings, {}, &rules::Finding::severity));
  EXPECT_EQ(v.findings[0].rule, "facility.power-above-site");
  EXPECT_FALSE(v.passes());
}

// What the file says of a service moves its figures.
// "Weights do not fit 8 accelerators" of 8 billion weights in four bits: an H100 has no such
// products, and that is what is said. 405 billion in 16 bits really do not fit.
TEST(serves, what_forbids_a_replica_is_said) {
  design::Design d = sample();
  auto& serve = std::get<design::Serve>(d.workloads[1].task);
  serve.precision = catalog::Precision::nvfp4;
  EXPECT_NE(stages_of(d).serves.at(0).infeasible.find("products for `precision: nvfp4`"),
            std::string::npos)
      << stages_of(d).serves.at(0).infeasible;
  serve.precision = catalog::Precision::bf16;
  serve.model = "llama-3.1-405b";
  EXPECT_NE(stages_of(d).serves.at(0).infeasible.find("do not fit 8"), std::string::npos)
      << stages_of(d).serves.at(0).infeasible;
}

TEST(serves, every_setting_of_an_engine_acts) {
  const auto view = [](const auto& change) {
    design::Design d = sample();
    for (design::Workload& w : d.workloads) {
      if (auto* serve = std::get_if<design::Serve>(&w.task)) change(*serve);
    }
    const review::Review r = stages_of(d);
    return r.serves.at(0);
  };
  const review::ServeView plain = view([](design::Serve&) {});
  const review::ServeView other = view([](design::Serve& s) { s.engine = "sglang"; });
  EXPECT_NE(plain.tpot, other.tpot);
  EXPECT_NE(plain.ttft, other.ttft);
  const review::ServeView apart = view([](design::Serve& s) { s.disaggregated = true; });
  EXPECT_TRUE(apart.feasible());
  EXPECT_LT(apart.tpot_p99, plain.tpot_p99) << "no prompt stands in the way of a token";
  const review::ServeView few = view([](design::Serve& s) {
    s.disaggregated = true;
    s.prefill_replicas = 1;
    s.arrivals.rate = PerSecond(4000);
  });
  EXPECT_FALSE(few.feasible());
  const review::ServeView drafted = view([](design::Serve& s) { s.draft_model = "llama-3-8b"; });
  EXPECT_NE(drafted.tpot, plain.tpot);
  const review::ServeView whole = view([](design::Serve& s) {
    s.chunked_prefill = false;
    s.arrivals.input_tokens = 60000;
    s.objective = {};
  });
  const review::ServeView cut = view([](design::Serve& s) {
    s.arrivals.input_tokens = 60000;
    s.objective = {};
  });
  EXPECT_LT(whole.replica.memory.kv_tokens, cut.replica.memory.kv_tokens)
      << "whole prompts need room for their activations";
}

}  // namespace
}  // namespace orrery::verdict
