#include "model/machine/links.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/design_text/value_reader.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

// Ranks fill whole scale-up domains evenly, unless that leaves half of a domain idle.
TEST(Links, ranks_are_packed_into_domains) {
  const auto per_domain = [](int ranks, int domain) {
    return packed_group(ranks, domain).per_domain;
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
  EXPECT_EQ(packed_group(9, 8).ranks, 9);
}

// 55.4 GB/s for PCIe generation 5, half with each generation below.
TEST(Links, pcie_rate_by_generation) {
  EXPECT_DOUBLE_EQ(pcie_rate(5).base(), 55.4e9);
  EXPECT_DOUBLE_EQ(pcie_rate(4).base(), 27.7e9);
  EXPECT_DOUBLE_EQ(pcie_rate(6).base(), 110.8e9);
}

TEST(Links, built_links_follow_the_wiring) {
  const catalog::Accelerator* h100 = known().catalog().accelerator("h100-sxm");
  const Links l({.accelerator = h100,
                 .domain = 4,
                 .accelerators_per_host = 8,
                 .nics_per_host = 4,
                 .nic_rate = gbits_per_s(400),
                 .oversubscription = 3,
                 .sharp = true,
                 .in_graph = true},
                known().collectives);
  EXPECT_EQ(l.built().domain, 4);
  EXPECT_EQ(l.built().scaleup_rate, gbytes_per_s(450));
  EXPECT_EQ(l.built().nics_per_rank, 0.5);
  EXPECT_EQ(l.built().nic_rate, gbytes_per_s(50));
  EXPECT_EQ(l.built().oversubscription, 3);
  EXPECT_TRUE(l.built().sharp);
  EXPECT_TRUE(l.built().in_graph);
  EXPECT_EQ(l.built().host_launch, Seconds(0));
  EXPECT_EQ(l.built().network_free, 1);
  EXPECT_EQ(l.left(0.4).built().network_free, 0.4);
  // Two NICs of 400 Gb/s per accelerator share the 55.4 GB/s of its PCIe port.
  const Links wide({.accelerator = h100, .nics_per_host = 16, .nic_rate = gbits_per_s(400)},
                   known().collectives);
  EXPECT_NEAR(wide.built().nic_rate.base(), 27.7e9, 1);
  EXPECT_EQ(wide.built().domain, 8);
  const Links none({.accelerator = h100, .nics_per_host = 0}, known().collectives);
  EXPECT_EQ(none.built().nic_rate, BytesPerSecond(0));
}

TEST(Links, wiring_follows_the_fabric_unless_rented) {
  design::Design d = template_design("superpod-h100");
  d.fabric.compute.oversubscription = 2;
  d.fabric.compute.sharp = false;
  const Machine m = lay_out(d, known());
  const Wiring w = wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  EXPECT_EQ(w.oversubscription, 2);
  EXPECT_FALSE(w.sharp);
  d.fabric.compute.ports_per_node = 4;
  const Machine half = lay_out(d, known());
  EXPECT_EQ(wiring_of(half.fleets[design::FleetIndex(0)], half.main_networks()).nics_per_host, 4);
  d.fleet[0].rent = design::Rent{.provider = "aws"};
  const Machine rented = lay_out(d, known());
  EXPECT_EQ(wiring_of(rented.fleets[design::FleetIndex(0)], rented.main_networks()).nics_per_host, 8);
}

TEST(Links, links_are_fitted_if_both_levels_are) {
  const fabric::CollectiveParameters& p = known().collectives;
  int fitted = 0, others = 0;
  for (const char* id : {"h100-sxm", "b200-sxm", "mi300x", "tpu-v5e", "gaudi3"}) {
    const catalog::Accelerator* a = known().catalog().accelerator(id);
    if (a == nullptr) continue;
    using enum catalog::NetworkKind;
    for (const catalog::NetworkKind n : {none, infiniband, roce}) {
      Wiring w{.accelerator = a, .nics_per_host = 8, .nic_rate = gbits_per_s(400), .network = n};
      const bool both = p.scaleup(a->scaleup_link).fitted && (n == none || p.network(n).fitted);
      EXPECT_EQ(Links(w, p).fitted(), both) << id;
      ++(both ? fitted : others);
      w.unmeasured = true;
      EXPECT_FALSE(Links(w, p).fitted());
      const Links links(w, p);
      EXPECT_EQ(links.built().nic_rate, n == none
                                            ? BytesPerSecond(0)
                                            : min(gbytes_per_s(50), pcie_rate(a->pcie_generation)));
    }
  }
  EXPECT_GT(fitted, 0);
  fabric::CollectiveParameters unknown = p;
  for (auto& s : unknown.scaleups) s.fitted = false;
  const Wiring w{.accelerator = known().catalog().accelerator("h100-sxm"),
                 .network = catalog::NetworkKind::none};
  EXPECT_TRUE(Links(w, p).fitted());
  EXPECT_FALSE(Links(w, unknown).fitted());
  unknown = p;
  for (auto& n : unknown.networks) n.fitted = false;
  EXPECT_TRUE(Links(w, unknown).fitted()) << "it uses no network";
  EXPECT_FALSE(Links({.accelerator = w.accelerator}, unknown).fitted());
}

// Measured rows scatter differently inside a node and between nodes.
TEST(Links, interval_is_that_of_similar_rows) {
  design::Design d = template_design("superpod-h100");
  d.fabric.compute.sharp = false;
  const Machine m = lay_out(d, known());
  const Links links(wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks()), known().collectives);
  for (const int ranks : {8, 64}) {
    const CollectivePrediction p =
        links.predict({workload::Collective::all_reduce, gib(1), links.group_of(ranks)});
    const auto rows = known().collectives.interval(ranks > 8, gib(1));
    EXPECT_NEAR(std::log(p.seconds.high / p.seconds.value), rows.high, 1e-9) << ranks;
    EXPECT_NEAR(std::log(p.seconds.value / p.seconds.low), rows.low, 1e-9) << ranks;
  }
  const auto inside = known().collectives.interval(false, gib(1));
  const auto between = known().collectives.interval(true, gib(1));
  EXPECT_TRUE(inside.low != between.low || inside.high != between.high);
}

// The interval is 4.5 times as wide for links without measured rows, and twice for SHARP.
TEST(Links, interval_is_wider_without_measurements) {
  Wiring w{.accelerator = known().catalog().accelerator("h100-sxm"),
           .nics_per_host = 8,
           .nic_rate = gbits_per_s(400),
           .sharp = true};
  const auto predicted = [&](fabric::CollectiveAlgorithm a) {
    const Links links(w, known().collectives);
    return links.predict({workload::Collective::all_reduce, gib(1), links.group_of(64)}, a).seconds;
  };
  const auto rows = known().collectives.interval(true, gib(1));
  const auto expect_wider = [&](const Estimate& e, double wider, Basis basis) {
    EXPECT_NEAR(std::log(e.high / e.value), rows.high * wider, 1e-9);
    EXPECT_NEAR(std::log(e.value / e.low), rows.low * wider, 1e-9);
    EXPECT_EQ(e.basis, basis);
    EXPECT_EQ(e.reference, "docs/models/collectives.md");
  };
  expect_wider(predicted(fabric::CollectiveAlgorithm::ring), 1, Basis::fitted);
  expect_wider(predicted(fabric::CollectiveAlgorithm::sharp), 2, Basis::assumed);
  w.unmeasured = true;
  expect_wider(predicted(fabric::CollectiveAlgorithm::ring), 4.5, Basis::assumed);
}

// A call from PyTorch takes PyTorch's launch time longer.
TEST(Links, torch_launch_time_is_added) {
  const Machine m = lay_out(template_design("superpod-h100"), known());
  Wiring w = wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  const auto small = [&] {
    const Links links(w, known().collectives);
    return links.predict({workload::Collective::all_gather, Bytes(8), links.group_of(8)})
        .seconds.value;
  };
  const double bare = small();
  w.torch_timed = true;
  EXPECT_NEAR(small() - bare, known().collectives.torch_launch.base(), 1e-8);
}

}  // namespace
}  // namespace orrery::machine
