// The gate that looks at a site's power, the pools that a fleet's jobs lie on, and how much a run
// writes down.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "model/design/slurm_fleets.h"
#include "model/jobs/build_machine.h"
#include "twin/twin/fleet_pool.h"
#include "twin/twin/power_gate.h"
#include "twin/twin/recorder.h"
#include "twin/twin/run_fixture.h"

namespace orrery::twin {
namespace {

class CountingGate final : public cluster::StartGate {
 public:
  bool admits(const cluster::QueuedJob&) const override { return is_open; }
  void started(const cluster::QueuedJob& job) override { running += job.ask.gpus; }
  void ended(const cluster::QueuedJob& job) override { running -= job.ask.gpus; }
  std::size_t limits() const override { return 2; }
  void add_left(std::vector<double>& left) const override {
    left.push_back(11);
    left.push_back(22);
  }
  cluster::LimitUses uses_of(const cluster::QueuedJob&) const override {
    cluster::LimitUses uses;
    uses.add({.limit = 1, .amount = 7});
    return uses;
  }

  bool is_open = true;
  int running = 0;
};

cluster::QueuedJob job_of(int gpus) {
  cluster::QueuedJob job;
  job.ask.gpus = gpus;
  return job;
}

using Uses = std::vector<std::pair<std::uint32_t, double>>;

Uses uses_of(const PowerGate& gate, int gpus) {
  const cluster::LimitUses uses = gate.uses_of(job_of(gpus));
  Uses told;
  for (const cluster::LimitUse& u : uses) told.emplace_back(u.limit, u.amount);
  return told;
}

// A feed of 6000 W at a PUE of 1.2 with 1000 W always there leaves 4000 W: eight slots of 500 W.
TEST(PowerGate, a_job_starts_where_the_feed_and_those_behind_let_it) {
  CountingGate behind;
  facility::PowerRoom room{.feed = Watts(6000), .pue = 1.2, .always = Watts(1000)};
  PowerGate gate(behind, &room, Watts(500));
  EXPECT_TRUE(gate.admits(job_of(8)));
  EXPECT_FALSE(gate.admits(job_of(9)));
  gate.started(job_of(5));
  EXPECT_EQ(behind.running, 5);
  EXPECT_EQ(room.running, Watts(2500));
  EXPECT_TRUE(gate.admits(job_of(3)));
  EXPECT_FALSE(gate.admits(job_of(4)));
  EXPECT_EQ(gate.limits(), 3U);
  std::vector<double> left;
  gate.add_left(left);
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0], 11);
  EXPECT_EQ(left[1], 22);
  EXPECT_NEAR(left[2], 1500, 1e-3);
  EXPECT_EQ(uses_of(gate, 3), (Uses{{1, 7}, {2, 1500}}));
  gate.ended(job_of(5));
  EXPECT_EQ(behind.running, 0);
  EXPECT_EQ(room.running, Watts(0));
  behind.is_open = false;
  EXPECT_FALSE(gate.admits(job_of(1)));
}

TEST(PowerGate, without_a_room_all_is_admitted) {
  CountingGate behind;
  PowerGate gate(behind, nullptr, Watts(500));
  EXPECT_TRUE(gate.admits(job_of(1000)));
  gate.started(job_of(4));
  EXPECT_EQ(behind.running, 4);
  gate.ended(job_of(4));
  EXPECT_EQ(gate.limits(), 3U);
  std::vector<double> left;
  gate.add_left(left);
  EXPECT_EQ(left.back(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(uses_of(gate, 3), (Uses{{1, 7}}));
}

std::vector<int> placed_on(const cluster::NodePool& pool, int hosts) {
  std::vector<cluster::NodeShare> where;
  std::vector<int> nodes;
  if (!pool.place({.gpus = 8 * hosts, .per_node = 8}, nullptr, where)) return nodes;
  for (const cluster::NodeShare& s : where) nodes.push_back(s.node);
  return nodes;
}

machine::Machine pooled(int hosts, design::PlacementTopology topology) {
  design::Design d = sample_design();
  d.fleet.front().count = hosts;
  d.scheduler.topology = topology;
  d.workloads.clear();
  return jobs::build_machine(std::move(d), machine::known());
}

// A gang as large as a leaf goes below one, though the leaf before has hosts that are free.
TEST(FleetPool, gangs_go_below_the_lowest_switch_that_holds_them) {
  const machine::Machine m = pooled(120, design::PlacementTopology::tree);
  const machine::Fleet& fleet = m.fleets[design::FleetIndex(0)];
  cluster::NodePool pool = pool_of_fleet(m, fleet, 3, 8);
  EXPECT_EQ(pool.nodes(), 123);
  EXPECT_EQ(pool.gpus(), 123 * 8);
  EXPECT_EQ(pool.rule(), cluster::PlacementRule::tree);
  const int leaf = machine::hosts_per_leaf(m.networks_of(fleet).compute, 123);
  ASSERT_GT(leaf, 1);
  ASSERT_LT(2 * leaf, 123);
  std::vector<cluster::NodeShare> first = {{.node = 0, .gpus = 8}};
  pool.take(first);
  const std::vector<int> gang = placed_on(pool, leaf);
  ASSERT_EQ(gang.size(), static_cast<std::size_t>(leaf));
  EXPECT_EQ(gang.front(), leaf);
  EXPECT_EQ(gang.back(), 2 * leaf - 1);
  // One less fits the first leaf.
  EXPECT_EQ(placed_on(pool, leaf - 1).back(), leaf - 1);
  const machine::Machine none = pooled(120, design::PlacementTopology::none);
  EXPECT_EQ(pool_of_fleet(none, none.fleets[design::FleetIndex(0)], 0, 8).rule(),
            cluster::PlacementRule::pack);
}

TEST(FleetPool, one_host_has_no_tree) {
  const machine::Machine one = pooled(1, design::PlacementTopology::tree);
  EXPECT_EQ(pool_of_fleet(one, one.fleets[design::FleetIndex(0)], 0, 8).rule(),
            cluster::PlacementRule::pack);
  EXPECT_EQ(pool_of_fleet(one, one.fleets[design::FleetIndex(0)], 1, 8).rule(),
            cluster::PlacementRule::tree);
  EXPECT_EQ(pool_of(one).rule(), cluster::PlacementRule::pack);
  const machine::Machine two = pooled(2, design::PlacementTopology::tree);
  EXPECT_EQ(pool_of(two).rule(), cluster::PlacementRule::tree);
  EXPECT_EQ(pool_of(two).nodes(), 2);
  const machine::Machine plain = pooled(2, design::PlacementTopology::none);
  EXPECT_EQ(pool_of(plain).rule(), cluster::PlacementRule::pack);
}

// Where nothing is known of the wires, all hosts are below one switch.
TEST(FleetPool, a_network_that_is_no_tree_is_one_leaf) {
  machine::Machine m = pooled(40, design::PlacementTopology::tree);
  for (machine::Networks& n : m.networks) n.compute.topology.reset();
  cluster::NodePool pool = pool_of_fleet(m, m.fleets[design::FleetIndex(0)], 0, 8);
  std::vector<cluster::NodeShare> first = {{.node = 0, .gpus = 8}};
  pool.take(first);
  EXPECT_EQ(placed_on(pool, 20).front(), 1);
  EXPECT_EQ(placed_on(pool, 20).back(), 20);
}

// Of a whole design's fleets, those that Slurm runs and that have accelerators.
TEST(FleetPool, a_replay_has_the_fleets_of_slurm) {
  design::Design d = sample_design();
  d.workloads.clear();
  d.fleet.front().count = 3;
  d.fleet.push_back(d.fleet.front());
  d.fleet.back().name = "pods";
  d.fleet.back().count = 5;
  d.fleet.back().partition = design::Partition::kubernetes;
  d.fleet.push_back(d.fleet.front());
  d.fleet.back().name = "cores";
  d.fleet.back().node = "cpu-2s-server";
  d.fleet.back().count = 7;
  const machine::Machine m = jobs::build_machine(std::move(d), machine::known());
  EXPECT_EQ(pool_of(m).nodes(), 3);
  EXPECT_EQ(pool_of(m).gpus(), 24);
}

TEST(FleetPool, backfill_is_the_schedulers) {
  EXPECT_EQ(variant_of(design::Backfill::none), cluster::BackfillVariant::fifo);
  EXPECT_EQ(variant_of(design::Backfill::easy), cluster::BackfillVariant::easy);
  EXPECT_EQ(variant_of(design::Backfill::conservative), cluster::BackfillVariant::conservative);
  EXPECT_EQ(variant_of(design::Backfill::slurm), cluster::BackfillVariant::slurm);
  design::Design d = sample_design();
  d.workloads.clear();
  d.scheduler.backfill = design::Backfill::conservative;
  const machine::Machine slurm = jobs::build_machine(d, machine::known());
  EXPECT_EQ(backfill_of(slurm, slurm.fleets[design::FleetIndex(0)]),
            cluster::BackfillVariant::conservative);
  d.scheduler.kind = design::SchedulerKind::kubernetes;
  d.fleet.front().partition = design::Partition::kubernetes;
  const machine::Machine pods = jobs::build_machine(d, machine::known());
  EXPECT_EQ(backfill_of(pods, pods.fleets[design::FleetIndex(0)]),
            cluster::BackfillVariant::best_effort);
}

// Two hundred thousand events are kept, and what comes after them is counted.
TEST(RecorderLimits, events_beyond_the_limit_are_counted) {
  Recorder r(sim::SimTime::from(hours(1)), 4);
  for (int i = 0; i < 200'000; ++i) {
    r.record({.time = {}, .kind = sim::TraceKind::instant, .track = "t", .name = "n", .value = 1});
    r.record_host({});
  }
  EXPECT_EQ(r.events_left_out(), 0U);
  r.record({.time = {}, .kind = sim::TraceKind::instant, .track = "t", .name = "n", .value = 1});
  EXPECT_EQ(r.events_left_out(), 1U);
  r.record_host({});
  r.record_host({});
  EXPECT_EQ(r.events_left_out(), 3U);
  EXPECT_EQ(r.events().size(), 200'000U);
  EXPECT_EQ(r.host_changes().size(), 200'000U);
}

// Seven seconds in three bins of three: the last has one.
TEST(RecorderLimits, the_last_bin_may_be_short) {
  Recorder r(sim::SimTime::from(seconds(7)), 3);
  const std::size_t column = r.add_column("a");
  const std::size_t other = r.add_column("b");
  EXPECT_EQ(column, 0U);
  EXPECT_EQ(other, 1U);
  const auto at = [](double s) { return sim::SimTime::from(Seconds(s)); };
  r.change(at(1), column, 6);
  r.change(at(4), column, -2);
  r.change(at(6.5), other, 10);
  const Series s = r.series(at(7));
  EXPECT_NEAR(s.bin.base(), 7 / 3.0, 1e-8);
  EXPECT_EQ(s.columns, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(s.means.size(), 3U);
  const double bin = s.bin.base();
  EXPECT_NEAR(s.means[0][0], 6 * (bin - 1) / bin, 1e-6);
  EXPECT_NEAR(s.means[1][0], (6 * (4 - bin) + 4 * (2 * bin - 4)) / bin, 1e-6);
  EXPECT_NEAR(s.means[2][0], 4, 1e-6);
  EXPECT_EQ(s.means[1][1], 0);
  EXPECT_NEAR(s.means[2][1], 10 * 0.5 / (7 - 2 * bin), 1e-6);
  // A run that was cut short has fewer.
  Recorder cut(sim::SimTime::from(seconds(9)), 3);
  cut.add_column("a");
  cut.change(at(0), 0, 2);
  EXPECT_EQ(cut.series(at(6)).means.size(), 2U);
}

}  // namespace
}  // namespace orrery::twin
