// The small parts of a machine by hand: how ranks are packed, which way a WAN goes, what a tier's
// drives give.
#include <gtest/gtest.h>

#include <cmath>

#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/tier_asks.h"
#include "model/machine/failure_source.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"
#include "model/machine/wan.h"

namespace orrery::jobs {
namespace {

design::Design pod() {
  return design_text::read_design(design_text::find_template("superpod-h100")->text,
                                  machine::known().catalog())
      .value();
}

// Whole domains are filled evenly; a split that leaves half of a domain idle is none.
TEST(links, pack_ranks_into_domains) {
  const auto per_domain = [](int ranks, int domain) {
    return machine::packed_group(ranks, domain).per_domain;
  };
  EXPECT_EQ(per_domain(64, 8), 8);
  EXPECT_EQ(per_domain(4, 8), 4);
  EXPECT_EQ(per_domain(12, 8), 6);
  EXPECT_EQ(per_domain(10, 8), 5);
  EXPECT_EQ(per_domain(14, 8), 7);
  EXPECT_EQ(per_domain(9, 8), 8);   // three by three would leave five of eight idle
  EXPECT_EQ(per_domain(11, 8), 8);  // a prime has no even split
  EXPECT_EQ(per_domain(20, 8), 5);
  EXPECT_EQ(per_domain(8, 16), 8);
  EXPECT_EQ(per_domain(1, 8), 1);
  EXPECT_EQ(machine::packed_group(9, 8).ranks, 9);
}

// 55.4 GB/s of generation 5, half with each generation below.
TEST(links, have_no_more_than_the_port) {
  EXPECT_DOUBLE_EQ(machine::pcie_rate(5).base(), 55.4e9);
  EXPECT_DOUBLE_EQ(machine::pcie_rate(4).base(), 27.7e9);
  EXPECT_DOUBLE_EQ(machine::pcie_rate(6).base(), 110.8e9);
}

// Inside a node and between nodes the measured rows scatter differently.
TEST(links, have_the_interval_of_the_rows_that_they_are_like) {
  design::Design d = pod();
  d.fabric.compute.sharp = false;
  const machine::Machine m = build_machine(d, machine::known());
  const machine::Links links(machine::wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks()),
                             machine::known().collectives);
  for (const int ranks : {8, 64}) {
    const machine::CollectivePrediction p =
        links.predict({workload::Collective::all_reduce, gib(1), links.group_of(ranks)});
    const auto rows = machine::known().collectives.interval(ranks > 8, gib(1));
    EXPECT_NEAR(std::log(p.seconds.high / p.seconds.value), rows.high, 1e-9) << ranks;
    EXPECT_NEAR(std::log(p.seconds.value / p.seconds.low), rows.low, 1e-9) << ranks;
  }
  const auto inside = machine::known().collectives.interval(false, gib(1));
  const auto between = machine::known().collectives.interval(true, gib(1));
  EXPECT_TRUE(inside.low != between.low || inside.high != between.high);
}

// A call that PyTorch makes is later by what PyTorch takes to make it.
TEST(links, are_timed_with_what_calls_them) {
  const machine::Machine m = build_machine(pod(), machine::known());
  machine::Wiring w = machine::wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  const auto small = [&] {
    const machine::Links links(w, machine::known().collectives);
    return links.predict({workload::Collective::all_gather, Bytes(8), links.group_of(8)})
        .seconds.value;
  };
  const double bare = small();
  w.torch_timed = true;
  EXPECT_NEAR(small() - bare, machine::known().collectives.torch_launch.base(), 1e-8);
}

TEST(networks, have_the_modules_that_are_asked_for_at_either_end) {
  design::Design d = pod();
  d.fabric.compute.link = "800g-2xdr4";
  d.fabric.compute.node_link = "400g-sr4";
  const machine::Machine m = build_machine(d, machine::known());
  const auto part = [&](std::string_view item) {
    for (const catalog::BillLine& l : m.main_networks().compute.bill.lines) {
      if (l.item == item) return l.part_id;
    }
    return std::string();
  };
  EXPECT_EQ(part("switch optics (twin-port)"), "800g-2xdr4");
  EXPECT_EQ(part("node optics"), "400g-sr4");
}

// 1,000 ports whose links fail once in 100 years each and storm once in 500.
TEST(failures, of_ports_are_links_and_storms) {
  machine::FailureSource s;
  s.rate = PerSecond(1);
  add_shared_faults(s, {.link_mtbf = years(100), .storm_mtbf = years(500)}, {.ports = 1000});
  EXPECT_NEAR(s.links * years(1), 10, 1e-9);
  EXPECT_NEAR(s.storms * years(1), 2, 1e-9);
  EXPECT_NEAR((s.rate - PerSecond(1)) * years(1), 12, 1e-6);
}

TEST(links, of_an_oversubscribed_or_a_rented_fleet) {
  design::Design d = pod();
  d.fabric.compute.oversubscription = 2;
  d.fabric.compute.sharp = false;
  const machine::Machine m = build_machine(d, machine::known());
  const machine::Wiring w = machine::wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  EXPECT_EQ(w.oversubscription, 2);
  EXPECT_FALSE(w.sharp);
  d.fabric.compute.ports_per_node = 4;
  const machine::Machine half = build_machine(d, machine::known());
  EXPECT_EQ(
      machine::wiring_of(half.fleets[design::FleetIndex(0)], half.main_networks()).nics_per_host,
      4);
  d.fleet[0].rent = design::Rent{.provider = "aws"};
  const machine::Machine rented = build_machine(d, machine::known());
  EXPECT_EQ(machine::wiring_of(rented.fleets[design::FleetIndex(0)], rented.main_networks())
                .nics_per_host,
            8);
}

design::Design joined_by(std::vector<design::WanLink> lines) {
  design::Design d;
  d.fabric.wan = std::move(lines);
  return d;
}

TEST(wan, adds_latencies_and_takes_the_narrowest_rate) {
  const design::Design d =
      joined_by({{.between = {"a", "b"}, .rate = gbits_per_s(100), .latency = milliseconds(5)},
                 {.between = {"c", "b"}, .rate = gbits_per_s(40), .latency = milliseconds(7)},
                 {.between = {"c", "d"}, .rate = gbits_per_s(400), .latency = milliseconds(1)}});
  const auto way = machine::wan_between(d, "a", "d");
  ASSERT_TRUE(way);
  EXPECT_DOUBLE_EQ(way->latency.base(), 13e-3);
  EXPECT_DOUBLE_EQ(way->rate.base(), 5e9);
  const auto back = machine::wan_between(d, "d", "a");
  ASSERT_TRUE(back);
  EXPECT_DOUBLE_EQ(back->latency.base(), 13e-3);
  EXPECT_DOUBLE_EQ(back->rate.base(), 5e9);
  EXPECT_DOUBLE_EQ(machine::wan_between(d, "a", "b")->rate.base(), 12.5e9);
  EXPECT_FALSE(machine::wan_between(d, "a", "e"));
}

// Eight drives of 3.84 TB in 30.7 TB; a host of a rack that lists the drives of eighteen has its
// eighteenth.
TEST(tiers, of_the_nodes_drives_are_of_one_host) {
  const auto local = [](std::string_view name) {
    const machine::Machine m = build_machine(
        design_text::read_design(design_text::find_template(name)->text, machine::known().catalog())
            .value(),
        machine::known());
    return *find_tier(m.tiers, "node-nvme");
  };
  const catalog::StorageDevice& drive = *machine::known().catalog().storage_device("tlc-gen4");
  const machine::Tier h100 = local("superpod-h100");
  EXPECT_NEAR(h100.read.base(), 30.7 / 3.84 * drive.read.base(), 1);
  EXPECT_NEAR(h100.write.base(), 30.7 / 3.84 * drive.write.base(), 1);
  const machine::Tier rack = local("superpod-gb200");
  const double of_host = machine::known().catalog().node("gb200-nvl72")->local_nvme->base() / 18;
  EXPECT_NEAR(rack.capacity.base(), of_host, 1);
  EXPECT_NEAR(rack.read.base(), of_host / 3.84e12 * drive.read.base(), 1);
}

// Twenty drives give what the network of their servers carries, and what is bought is counted.
TEST(tiers, are_bought_for_what_is_asked_or_as_counted) {
  design::Design d = pod();
  design::StorageTier& hot = d.storage[0];
  const catalog::StorageDevice& drive = *machine::known().catalog().storage_device(hot.device);
  hot.servers = 4;
  hot.devices_per_server = 5;
  hot.server_network = gbits_per_s(400);
  hot.read = gbytes_per_s(100);
  hot.write = gbytes_per_s(40);
  const auto bought = [&] {
    const machine::Machine m = build_machine(d, machine::known());
    return std::pair{
        machine::purchase_of(m.tiers[design::TierIndex(0)], machine::known().catalog()).value(),
        machine::servers_of(m.tiers[design::TierIndex(0)], machine::known().catalog())};
  };
  EXPECT_EQ(bought().first.devices, 20);
  EXPECT_TRUE(bought().first.as_counted);
  EXPECT_EQ(bought().first.servers, 4);
  EXPECT_EQ(bought().second.data, 4);
  EXPECT_DOUBLE_EQ(bought().second.each.base(), 50e9);
  EXPECT_EQ(bought().second.metadata, hot.metadata.servers.value_or(0));
  // 30 drives' worth of writes, at 8/10 of 80 % of a drive's rate.
  hot.write = drive.write * (0.8 * 0.8 * 30);
  hot.server_network = gbits_per_s(3200);
  EXPECT_EQ(bought().first.devices, 30);
  EXPECT_FALSE(bought().first.as_counted);
  EXPECT_EQ(bought().first.limit, storage::TierLimit::write);
}

// What was measured stands in the stead of what was computed, and a tier whose rates were, in one
// direction or both, is known by their error.
TEST(tiers, are_laid_over_with_what_was_measured) {
  const machine::Machine m = build_machine(pod(), machine::known());
  machine::Tiers tiers = m.tiers;
  const machine::Tier before = tiers.front();
  const auto laid = [&](machine::TierMeasurement measured) {
    measured.tier = before.label;
    measured.error = 0.07;
    measured.source = "a probe";
    tiers = m.tiers;
    machine::lay_over(tiers, {measured});
    return tiers.front();
  };
  const machine::Tier written = laid({.write = gbytes_per_s(3)});
  EXPECT_EQ(written.write, gbytes_per_s(3));
  EXPECT_EQ(written.read, before.read);
  EXPECT_TRUE(written.measured);
  EXPECT_EQ(written.rate_error, 0.07);
  EXPECT_EQ(written.rate_basis, "a probe");
  const machine::Tier read = laid({.read = gbytes_per_s(5)});
  EXPECT_EQ(read.read, gbytes_per_s(5));
  EXPECT_TRUE(read.measured);
  const machine::Tier answers = laid({.creates = PerSecond(77),
                                      .first_byte = milliseconds(3),
                                      .stream_rate = megabytes(9) / seconds(1)});
  EXPECT_FALSE(answers.measured) << "no rate of the tier";
  EXPECT_EQ(answers.rate_error, before.rate_error);
  EXPECT_EQ(answers.creates, PerSecond(77));
  EXPECT_EQ(answers.first_byte, milliseconds(3));
  EXPECT_EQ(answers.stream_rate, megabytes(9) / seconds(1));
  EXPECT_GE(answers.latency.total, milliseconds(3));
  EXPECT_LT(answers.latency.total, milliseconds(4));
  machine::lay_over(tiers, {{.tier = "nobody", .read = gbytes_per_s(1)}});
  EXPECT_NE(tiers.front().read, gbytes_per_s(1));
}

TEST(tiers, of_media_that_must_be_fetched_wait_for_them) {
  catalog::StorageDevice device;
  machine::Tier tier;
  EXPECT_EQ(machine::mount_time(tier), Seconds(0));
  tier.device = &device;
  EXPECT_EQ(machine::mount_time(tier), Seconds(0));
  device.read_latency = milliseconds(12);
  EXPECT_EQ(machine::mount_time(tier), Seconds(0)) << "in a drive";
  device.read_latency = seconds(1);
  EXPECT_EQ(machine::mount_time(tier), seconds(1));
  device.read_latency = seconds(90);
  EXPECT_EQ(machine::mount_time(tier), seconds(90));
}

// A port is split into whole ones; a server has 24 drives where nobody counts them.
TEST(networks, ports_are_split_into_whole_ones) {
  const catalog::Switch& part = *machine::known().catalog().switch_part("sn5600");  // 64 x 800G
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(400)), 128);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(300)), 128);
  EXPECT_EQ(machine::radix_at(part, gbits_per_s(800)), 64);
  EXPECT_EQ(machine::radix_at(part, BytesPerSecond(0)), 64);
}

TEST(tiers, of_drives_have_as_many_in_a_server_as_is_usual) {
  const machine::Machine m = build_machine(pod(), machine::known());
  machine::Tier tier = m.tiers[design::TierIndex(0)];
  design::StorageTier asked = *tier.tier;
  asked.devices_per_server.reset();
  tier.tier = &asked;
  tier.device = machine::known().catalog().storage_device("tlc-gen4");
  EXPECT_EQ(options_of(tier).server.devices, 24);
  asked.devices_per_server = 7;
  EXPECT_EQ(options_of(tier).server.devices, 7);
}

TEST(features, are_kept_as_long_as_they_are_asked_for_or_until_the_next_run) {
  design::Train train;
  EXPECT_EQ(features_kept(train), Bytes(0));
  train.features.emplace();
  train.features->rate = PerSecond(100);
  train.features->size = bytes(50);
  EXPECT_EQ(features_kept(train), Bytes(0)) << "nothing says for how long";
  train.repeat = design::Recurrence{.every = hours(1)};
  EXPECT_DOUBLE_EQ(features_kept(train).base(), 5000.0 * 3600);
  train.features->retention = hours(2);
  EXPECT_DOUBLE_EQ(features_kept(train).base(), 5000.0 * 7200);
}

TEST(tiers, are_to_answer_as_their_names_say) {
  EXPECT_EQ(machine::latency_target(design::Tier::gpu_direct), microseconds(50));
  EXPECT_EQ(machine::latency_target(design::Tier::node_nvme), microseconds(200));
  EXPECT_EQ(machine::latency_target(design::Tier::hot), milliseconds(1));
  EXPECT_EQ(machine::latency_target(design::Tier::warm), milliseconds(200));
  EXPECT_EQ(machine::latency_target(design::Tier::cold), hours(12));
}

// 12 % of dense models and 24 % of experts where rows were fitted, 20 % of narrow weights beside
// it, and the device's own: in quadrature.
TEST(serving, errors_add_up_in_quadrature) {
  ServingQuery q{.model = *machine::known().catalog().model("llama-3-70b"),
                 .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                 .engine = "vllm"};
  const auto error = [&](const ServingQuery& of) {
    compute::DeviceModel device;
    device.borrowed_error = 0.3;
    return serving_error(device, of);
  };
  q.own_kernels = true;
  const double plain = error(q);
  const double model = std::sqrt(plain * plain - 0.09);
  EXPECT_TRUE(std::abs(model - 0.12) < 1e-9 || std::abs(model - 0.17) < 1e-9) << model;
  q.precision.weights_only = true;
  EXPECT_NEAR(error(q), std::sqrt(plain * plain + 0.04), 1e-9);
  q.precision.weights_only = false;
  q.model = *machine::known().catalog().model("mixtral-8x7b");
  EXPECT_GT(error(q), 1.2 * plain);
}

// What a cache does not have is read from the tier behind it, and written to the cache.
TEST(tiers, behind_a_cache_are_asked_for_what_it_misses) {
  design::Design d = pod();
  d.workloads.resize(1);
  auto& train = std::get<design::Train>(d.workloads[0].task);
  BytesPerSecond read, cached, filled;
  double hit = -1;
  const machine::Machine m = build_machine(d, machine::known());
  TrainJob job{.train = &train, .label = "run"};
  job.feed.known = true;
  job.feed.tier = &m.tiers[design::TierIndex(0)];
  job.feed.cache = &m.tiers[design::TierIndex(1)];
  job.feed.sample = job.feed.object = megabytes(1);
  job.feed.wanted = gbytes_per_s(10);
  job.workload = &d.workloads[0];
  for (const double rate : {0.0, 0.25, 1.0}) {
    job.feed.hit_rate = hit = rate;
    read = cached = filled = BytesPerSecond(0);
    for (const machine::TierAsk& a : asks_of(job, m)) {
      if (a.tier == m.tiers[design::TierIndex(0)].label) read += a.demand.read;
      if (a.tier == m.tiers[design::TierIndex(1)].label)
        cached += a.demand.read, filled += a.demand.write;
    }
    EXPECT_NEAR(read.base(), 10e9 * (1 - hit), 1) << hit;
    EXPECT_NEAR(cached.base(), 10e9 * hit, 1) << hit;
    EXPECT_NEAR(filled.base(), 10e9 * (1 - hit), 1) << hit;
  }
}

}  // namespace
}  // namespace orrery::jobs
