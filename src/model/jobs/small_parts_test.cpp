// Small parts of a machine at their edges: goals and where they look, units, ledgers, fleets of
// hosts, failures, lines between sites, batches that spread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layers/cost/rental.h"
#include "layers/failure/rates.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/jobs/batch_split.h"
#include "model/jobs/build_machine.h"
#include "model/machine/failure_source.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/partitions.h"
#include "model/machine/site_load.h"
#include "model/machine/wan.h"

namespace orrery::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

machine::Machine machine_from(const std::string& fleet, const std::string& more = "") {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa, cooling: air-contained, "
      "supply_temperature: 21 C, cooling_unit: 300 kW }\n  - { name: two, region: deu }\nfleet:\n" +
          fleet + more,
      machine::known().catalog());
  EXPECT_TRUE(read) << to_text(read.error());
  return build_machine(read.value(), machine::known());
}

// Two sockets where nobody says: 600 GB/s of memory, 400 TFLOP/s of products, 2 TB.
TEST(SmallFleets, a_host_without_accelerators_is_a_device) {
  const machine::Machine m = machine_from(
      "  - { name: c, node: cpu-2s-server, count: 3, site: two }\n"
      "  - { name: d, count: 5, site: one, custom: { accelerators: 0, cores: 64, sockets: 4, "
      "memory: 1 TB, memory_bandwidth: 900 GB/s, matrix_rate: 50 TFLOP/s } }\n"
      "  - { name: n, node: gb200-nvl72, count: 2, site: one }\n");
  const machine::Fleet& plain = m.fleets[design::FleetIndex(0)];
  ASSERT_NE(plain.host, nullptr);
  EXPECT_EQ(plain.host->id, "cpu");
  EXPECT_EQ(plain.host->memory, terabytes(2));
  EXPECT_EQ(plain.host->memory_bandwidth, gbytes_per_s(600));
  EXPECT_EQ(plain.host->peak(catalog::Dtype::bf16), tflops_per_s(400));
  EXPECT_EQ(plain.host->scaleup_link, "none");
  EXPECT_EQ(plain.host->pcie_generation, 5);
  EXPECT_EQ(plain.host->tdp, kilowatts(0.8));
  EXPECT_EQ(plain.host->idle, kilowatts(0.25));
  EXPECT_EQ(plain.host->provenance.reference, "nodes/cpu-2s-server");
  EXPECT_EQ(plain.devices(), 3);
  EXPECT_EQ(plain.device(), plain.host.get());
  EXPECT_EQ(plain.hosts, 3);
  EXPECT_EQ(plain.accelerators, 0);
  EXPECT_EQ(plain.path, "fleet[0]");
  EXPECT_EQ(plain.site->name, "two");
  EXPECT_EQ(plain.region, machine::known().catalog().region("deu"));
  const machine::Fleet& own = m.fleets[design::FleetIndex(1)];
  EXPECT_EQ(own.host->memory, terabytes(1));
  EXPECT_EQ(own.host->memory_bandwidth, gbytes_per_s(900));
  EXPECT_EQ(own.host->peak(catalog::Dtype::bf16), tflops_per_s(50));
  const machine::Fleet& racks = m.fleets[design::FleetIndex(2)];
  EXPECT_EQ(racks.host, nullptr);
  EXPECT_EQ(racks.accelerators, 144);
  EXPECT_EQ(racks.accelerators_per_host, 4);
  EXPECT_EQ(racks.hosts, 36);
  EXPECT_EQ(racks.devices(), 144);
  EXPECT_EQ(units_per_node(racks), 72);
  EXPECT_EQ(units_per_node(plain), 1);
  EXPECT_EQ(find_fleet(m.fleets, "d"), &m.fleets[design::FleetIndex(1)]);
  EXPECT_EQ(find_fleet(m.fleets, ""), &m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(find_fleet(m.fleets, "x"), nullptr);
}

TEST(SmallFleets, slices_are_counted_on_each_accelerator) {
  const machine::Machine m =
      machine_from("  - { name: a, node: dgx-h100, count: 2, mig: { 1g.10gb: 7, 2g.20gb: 3 } }\n");
  ASSERT_EQ(m.fleets[design::FleetIndex(0)].slices.size(), 2U);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].slice()->profile->id, "h100-sxm-1g.10gb");
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].slice()->each, 7);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].slices[1].each, 3);
  EXPECT_EQ(machine::FleetSlice{}.each, 1);
}

// Of 10 nodes: rounding apart, what is over and what is idle; the first of the largest gives way.
TEST(SmallLedger, at_its_edges) {
  design::Design d;
  d.workloads.resize(3);
  machine::FleetBook b{.count = 10};
  EXPECT_EQ(b.largest_given(), nullptr);
  EXPECT_EQ(b.find(d.workloads[0]), nullptr);
  book(b, {.workload = &d.workloads[0], .nodes = 5, .needed = 7, .given = true});
  book(b, {.workload = &d.workloads[1], .nodes = 5 + 1e-9, .needed = 2, .share = 3, .given = true});
  EXPECT_EQ(b.over(), 0) << "a thousandth of a millionth of ten";
  EXPECT_EQ(b.idle(), 0);
  EXPECT_EQ(b.largest_given(), &b.bookings[1]);
  EXPECT_DOUBLE_EQ(b.used(), 5 + 2) << "no more than it has, and no more than all the time";
  book(b, {.workload = &d.workloads[2], .nodes = 2, .needed = 2, .share = 0.99});
  EXPECT_DOUBLE_EQ(b.in_turn(), 2);
  EXPECT_DOUBLE_EQ(b.asked(), 10 + 1e-9);
  EXPECT_NEAR(b.over(), 2, 1e-8);
  EXPECT_NEAR(b.used(), 7 + 1.98, 1e-12);
  b.count = 8;
  EXPECT_EQ(b.used(), 8);
  EXPECT_FALSE((machine::Booking{.share = 0.99}).held());
  EXPECT_TRUE((machine::Booking{.share = 1}).held());
  EXPECT_TRUE((machine::Booking{.share = 0, .given = true}).held());
  EXPECT_EQ(machine::Booking{}.share, 1);
  const machine::Booking* found = b.find(d.workloads[2]);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->nodes, 2);
}

TEST(SmallLedger, a_service_in_zones_asks_by_zone) {
  const machine::Machine m = machine_from(
      "  - { name: a, node: dgx-h100, count: 8, site: one }\n"
      "  - { name: b, node: dgx-h100, count: 8, site: two }\n",
      "workloads:\n"
      "  - serve: { model: llama-3-8b, nodes: 2, fleet: b, arrivals: { rate: 1 /s, trace: chat } "
      "}\n"
      "  - serve: { name: z, model: llama-3-8b, nodes: 3, arrivals: { rate: 1 /s, trace: chat }, "
      "zones: [{ site: one, share: 1 }] }\n");
  EXPECT_THAT(m.ledger.fleets[design::FleetIndex(0)].bookings, IsEmpty());
  ASSERT_EQ(m.ledger.fleets[design::FleetIndex(1)].bookings.size(), 1U);
  const machine::Booking& b = m.ledger.fleets[design::FleetIndex(1)].bookings[0];
  EXPECT_EQ(b.nodes, 2);
  EXPECT_EQ(b.needed, 2);
  EXPECT_TRUE(b.given);
  EXPECT_EQ(machine::path_of(m.design().workloads[1]), "workloads[1].serve");
}

// 20 hosts on leaves of 8 are three leaves; on power units of 4 five.
TEST(SmallFailures, groups_fail_together) {
  machine::FailureSource s{.base = PerSecond(1), .rate = PerSecond(1)};
  add_shared_faults(s,
                    {.link_mtbf = seconds(2),
                     .storm_mtbf = seconds(4),
                     .leaf_mtbf = seconds(8),
                     .pdu_mtbf = seconds(16),
                     .racks_per_pdu = 2},
                    {.ports = 3, .hosts_per_leaf = 8, .hosts_per_rack = 2});
  EXPECT_DOUBLE_EQ(s.links.base(), 1.5);
  EXPECT_DOUBLE_EQ(s.storms.base(), 0.75);
  EXPECT_DOUBLE_EQ(s.rate.base(), 3.25);
  ASSERT_EQ(s.shared.size(), 2U);
  EXPECT_EQ(s.shared[0].part, machine::SharedPart::leaf_switch);
  EXPECT_DOUBLE_EQ(s.shared[0].rate.base(), 0.125);
  EXPECT_EQ(s.shared[0].hosts, 8);
  EXPECT_EQ(s.shared[1].part, machine::SharedPart::power_unit);
  EXPECT_DOUBLE_EQ(s.shared[1].rate.base(), 0.0625);
  EXPECT_EQ(s.shared[1].hosts, 4);
  EXPECT_DOUBLE_EQ(s.shared_rate(20).base(), 3 * 0.125 + 5 * 0.0625);
  EXPECT_DOUBLE_EQ(s.shared_rate(16).base(), 2 * 0.125 + 4 * 0.0625);
  EXPECT_DOUBLE_EQ(s.host_rate().base(), 1 + 1.5 + 0.75 + 0.1875);
  machine::FailureSource least;
  add_shared_faults(least, {.leaf_mtbf = seconds(8), .pdu_mtbf = seconds(16)},
                    {.hosts_per_leaf = 0, .hosts_per_rack = 0});
  EXPECT_EQ(least.shared[0].hosts, 1);
  EXPECT_EQ(least.shared[1].hosts, 1);
  EXPECT_EQ(least.rate, PerSecond(0));
  EXPECT_EQ(machine::SharedParts{}.hosts_per_leaf, 1);
  EXPECT_EQ(machine::SharedParts{}.hosts_per_rack, 1);
  EXPECT_EQ(machine::SharedFault{}.hosts, 1);
  EXPECT_EQ(machine::FailureSource{}.shape, 1);
  EXPECT_EQ(machine::kSharedRepair, hours(4));
}

TEST(SmallFailures, who_says_how_often) {
  const auto source = [](const std::string& fleet,
                         const machine::Models& models = machine::known()) {
    const machine::Machine m =
        machine_from("  - { name: a, node: dgx-h100, count: 4" + fleet + " }\n");
    return machine::failure_source(m.fleets[design::FleetIndex(0)], models, 4);
  };
  const machine::FailureSource own = source(", failures: { node_mtbf: 50 d, shape: 0.8 }");
  EXPECT_TRUE(own.own);
  EXPECT_EQ(own.reference, "the design");
  EXPECT_DOUBLE_EQ(own.base * days(50), 1);
  EXPECT_EQ(own.shape, 0.8);
  EXPECT_EQ(own.high, 1.5) << "nobody counted";
  EXPECT_DOUBLE_EQ(own.low, 1 / 1.5);
  const machine::FailureSource published = source("");
  EXPECT_FALSE(published.own);
  const auto row = failure::published_rate(machine::known().failure_rates, 4);
  EXPECT_DOUBLE_EQ(published.base.base(), row.per_node.base());
  EXPECT_DOUBLE_EQ(published.high, row.factor);
  EXPECT_DOUBLE_EQ(published.low, 1 / row.factor);
  EXPECT_EQ(published.shape, 1);
  machine::Models none = machine::known();
  none.failure_rates.clear();
  const machine::FailureSource assumed = source("", none);
  EXPECT_DOUBLE_EQ(assumed.base * days(264), 1);
  EXPECT_EQ(assumed.low, 0);
  EXPECT_EQ(assumed.high, 0);
  const machine::FailureSource lemons =
      source(", failures: { node_mtbf: 50 d, lemon_share: 0.2, lemon_factor: 6 }");
  EXPECT_DOUBLE_EQ(lemons.rate * days(50), 0.8 + 0.2 * 6);
  EXPECT_DOUBLE_EQ(lemons.base * days(50), 1);
}

// A tenth of the nodes a month where nothing else is known; the market comes on top.
TEST(SmallFailures, the_market_takes_nodes_back) {
  const auto source = [](const std::string& rent) {
    const machine::Machine m = machine_from(
        "  - { name: a, node: dgx-h100, count: 4, failures: { node_mtbf: 50 d }, rent: { provider: "
        "aws" +
        rent + " } }\n");
    return machine::failure_source(m.fleets[design::FleetIndex(0)], machine::known(), 4);
  };
  const machine::FailureSource given = source(", contract: spot, interruption: 0.25");
  EXPECT_DOUBLE_EQ(given.spot.base(), cost::spot_hazard(0.25).base());
  EXPECT_DOUBLE_EQ(given.rate.base(), given.base.base() + given.spot.base());
  EXPECT_EQ(source(", contract: on-demand, interruption: 0.25").spot, PerSecond(0));
  double share = 0.10;
  for (const catalog::SpotBand& b : machine::known().catalog().spot_bands) {
    if (b.accelerator_id == "h100-sxm" && b.low_month && b.high_month) {
      share = (*b.low_month + *b.high_month) / 2;
    }
  }
  EXPECT_DOUBLE_EQ(source(", contract: spot").spot.base(), cost::spot_hazard(share).base());
}

TEST(SmallWan, a_line_joins_two_sites_and_a_way_is_the_shortest) {
  design::Design d;
  d.fabric.wan = {{.between = {"a"}, .rate = gbits_per_s(9), .latency = milliseconds(1)},
                  {.between = {"a", "b"}, .rate = gbits_per_s(8), .latency = milliseconds(9)},
                  {.between = {"a", "b"}, .rate = gbits_per_s(16), .latency = milliseconds(7)},
                  {.between = {"b", "c"}, .rate = gbits_per_s(24), .latency = milliseconds(2)},
                  {.between = {"a", "c"}, .rate = gbits_per_s(32), .latency = milliseconds(4)}};
  const auto direct = machine::wan_between(d, "a", "b");
  ASSERT_TRUE(direct);
  EXPECT_DOUBLE_EQ(direct->latency.base(), 6e-3) << "over c";
  EXPECT_EQ(direct->rate, gbytes_per_s(3));
  EXPECT_EQ(direct->slowest, 3U);
  const auto here = machine::wan_between(d, "a", "a");
  ASSERT_TRUE(here);
  EXPECT_EQ(here->latency, Seconds(0));
  EXPECT_EQ(machine::WanPath{}.slowest, 0U);
  const machine::Crossing none{.leaves_site = true};
  EXPECT_FALSE(none.leads_there());
  EXPECT_EQ(none.capped(gbytes_per_s(5)), gbytes_per_s(5));
  EXPECT_EQ(none.latency(), Seconds(0));
  const machine::Crossing line{.leaves_site = true, .path = *direct};
  EXPECT_TRUE(line.leads_there());
  EXPECT_EQ(line.capped(gbytes_per_s(5)), gbytes_per_s(3));
  EXPECT_EQ(line.capped(gbytes_per_s(2)), gbytes_per_s(2));
  EXPECT_DOUBLE_EQ(line.latency().base(), 6e-3);
  EXPECT_TRUE(machine::Crossing{}.leads_there());
}

TEST(SmallPartitions, count_hosts_from_the_first) {
  const machine::Machine m = machine_from(
      "  - { name: k, node: dgx-h100, count: 2, site: one, partition: kubernetes }\n"
      "  - { name: s, node: gb200-nvl72, count: 3, site: one, partition: slurm }\n",
      "scheduler:\n  kind: both\n  partitions: [{ name: p, nodes: 1 }, { name: q, nodes: 2 }, { "
      "name: all, fleet: s }]\n");
  EXPECT_THAT(partitions_of(m.design(), m.fleets, m.fleets[design::FleetIndex(0)]), IsEmpty());
  const auto parts = partitions_of(m.design(), m.fleets, m.fleets[design::FleetIndex(1)]);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].first, 0);
  EXPECT_EQ(parts[0].hosts, 18);
  EXPECT_EQ(parts[1].first, 18);
  EXPECT_EQ(parts[1].hosts, 36);
  EXPECT_EQ(parts[2].first, 0);
  EXPECT_EQ(parts[2].hosts, 54);
  design::Workload w;
  w.terms.partition = "q";
  EXPECT_EQ(machine::partition_of(parts, w), 1U);
  w.terms.partition = "";
  EXPECT_EQ(machine::partition_of(parts, w), 0U);
  EXPECT_EQ(reserved_fleet(m.design(), m.fleets, {}), &m.fleets[design::FleetIndex(1)]);
  EXPECT_EQ(reserved_fleet(m.design(), m.fleets, {.fleet = "k"}), &m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(reserved_fleet(m.design(), m.fleets, {.fleet = "x"}), nullptr);
  EXPECT_EQ(machine::FleetPartition{}.first, 0);
  EXPECT_EQ(machine::FleetPartition{}.hosts, 0);
}

// 32 devices in hosts of 8.
TEST(SmallBatches, spread_over_what_they_divide) {
  const machine::Machine m = machine_from("  - { name: a, node: dgx-h100, count: 4, site: one }\n");
  design::Workload w;
  design::Train train{.batch = 96};
  const catalog::ModelShape model{.layers = 6};
  TrainJob job{.workload = &w, .train = &train, .fleet = &m.fleets[design::FleetIndex(0)]};
  EXPECT_EQ(accelerators_for(job), 32);
  w.terms.nodes = 3;
  EXPECT_EQ(accelerators_for(job), 24);
  w.terms.nodes = 9;
  EXPECT_EQ(accelerators_for(job), 32);
  EXPECT_TRUE(batch_spreads(job, 32));
  EXPECT_FALSE(batch_spreads(job, 40));
  EXPECT_FALSE(batch_spreads(job, 0));
  EXPECT_THAT(counts_to_try(job, 32), ElementsAre(32, 24));
  train.batch = 40;
  EXPECT_THAT(counts_to_try(job, 32), IsEmpty()) << "8 is below the half";
  EXPECT_EQ(nearest_batch(job, 32), 32);
  train.batch = 50;
  EXPECT_EQ(nearest_batch(job, 32), 64);
  train.batch = 7;
  EXPECT_THAT(counts_to_try(job, 8), ElementsAre(1)) << "fewer than a host has";
  EXPECT_EQ(nearest_batch(job, 32), 32) << "none is below it";
  job.model = &model;
  train.batch = 5;
  EXPECT_TRUE(batch_spreads(job, 5));
  EXPECT_TRUE(batch_spreads(job, 40)) << "tp 8: 5 replicas";
  EXPECT_FALSE(batch_spreads(job, 35));
  EXPECT_TRUE(batch_spreads(job, 30)) << "six stages of five";
  train.layout = design::Layout{.tp = 2, .pp = 3, .mbs = 5};
  train.layout->cp = 2;
  train.batch = 30;
  EXPECT_TRUE(batch_spreads(job, 24)) << "two replicas of five";
  EXPECT_TRUE(batch_spreads(job, 36)) << "three of five";
  EXPECT_FALSE(batch_spreads(job, 48)) << "four of five";
  EXPECT_FALSE(batch_spreads(job, 32)) << "12 do not divide it";
  train.layout->dp = 2;
  EXPECT_THAT(counts_to_try(job, 32), ElementsAre(24));
  EXPECT_THAT(counts_to_try(job, 23), IsEmpty());
  EXPECT_FALSE(batch_spreads(job, 12)) << "the layout says two replicas";
}

TEST(SmallSites, the_load_of_a_site_is_its_hosts_and_what_draws_always) {
  const machine::Machine m = machine_from(
      "  - { name: a, node: dgx-h100, count: 4, spares: 1, site: one }\n"
      "  - { name: r, node: dgx-h100, count: 9, site: one, rent: { provider: aws } }\n"
      "  - { name: b, node: dgx-h100, count: 2, site: two }\n",
      "storage:\n  - { tier: hot, site: one, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: "
      "3 }\n  - { tier: cold, kind: object, site: two, provider: aws, capacity: 1 PB }\n");
  const machine::SiteLoad one = load_of(m, design::SiteIndex(0));
  EXPECT_NEAR(one.hosts_nameplate / kilowatts(1), 5 * 10.2, 1e-9);
  EXPECT_EQ(one.climate, machine::known().catalog().region("usa")->climate);
  const machine::Networks& n = m.networks[design::SiteIndex(0)];
  const Watts wires = n.compute.bill.power() + n.storage.bill.power() + n.management.bill.power();
  EXPECT_NEAR(one.constant.base(), wires.base() + 3 * 1900, 1e-6);
  const facility::SitePowerRequest r = one.request(kilowatts(7));
  EXPECT_EQ(r.cooling_id, "air-contained");
  EXPECT_EQ(r.mean, kilowatts(7));
  EXPECT_NEAR(r.design.base(), one.hosts_nameplate.base() + one.constant.base(), 1e-6);
  EXPECT_EQ(r.grid, machine::known().catalog().region("usa")->carbon);
  EXPECT_EQ(r.supply_c, 21);
  const machine::SiteLoad two = load_of(m, design::SiteIndex(1));
  EXPECT_NEAR(two.hosts_nameplate / kilowatts(1), 2 * 10.2, 1e-9);
  const design::Site& site = m.design().sites[0];
  EXPECT_EQ(machine::cooling_plant(site, kilowatts(9)).unit, kilowatts(300));
  EXPECT_EQ(machine::cooling_plant(site, kilowatts(9)).heat, kilowatts(9));
  EXPECT_EQ(machine::kMeanPowerSpread, 0.11);
  EXPECT_EQ(machine::kGridSpread, 0.15);
  EXPECT_EQ(machine::kOutageLength, hours(1));
  EXPECT_EQ(m.sites[design::SiteIndex(0)].path, "sites[0]");
  EXPECT_EQ(m.sites[design::SiteIndex(1)].path, "sites[1]");
}

}  // namespace
}  // namespace orrery::jobs
