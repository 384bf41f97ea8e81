// NCCL's equations by hand: 8 and more H100 a node, in microseconds.
#include "layers/fabric/nccl_tuner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/fabric/collective_parameters.h"
#include "layers/fabric/ecmp.h"
#include "layers/fabric/graph.h"

namespace orrery::fabric {
namespace {

using workload::Collective;

struct Believed {
  double us = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
};

Believed believed(double bytes, int nodes, CollectiveAlgorithm algorithm,
                  Collective kind = Collective::all_reduce, NcclMachine machine = {}) {
  if (machine.nic_per_rank <= BytesPerSecond(0)) machine.nic_per_rank = gbytes_per_s(25);
  const NcclChoice c = nccl_choice(
      machine,
      {.kind = kind, .bytes = Bytes(bytes), .group = {.ranks = 8 * nodes, .per_domain = 8}},
      algorithm);
  return {c.time.base() * 1e6, c.algorithm, c.protocol};
}

constexpr auto kRing = CollectiveAlgorithm::ring;
constexpr auto kTree = CollectiveAlgorithm::tree;
constexpr auto kNvls = CollectiveAlgorithm::nvls;

// 14 steps: LL 6.6 + 14 x 0.6 and 141 GB/s, LL128 14 + 14 x 1.9 and 0.92 x 360, Simple 8.4 + 14 x
// 3.4 and 360; the bytes take S / (bus n / steps).
TEST(NcclTuner, ARingOnOneNode) {
  const Believed ll = believed(8, 1, kRing);
  EXPECT_EQ(ll.protocol, NcclProtocol::ll);
  EXPECT_NEAR(ll.us, 15.0 + 8 / (141e3 * 8 / 14), 1e-9);
  const Believed middle = believed(5e6, 1, kRing);
  EXPECT_EQ(middle.protocol, NcclProtocol::ll128);
  EXPECT_NEAR(middle.us, 40.6 + 5e6 / (331.2e3 * 8 / 14), 1e-6);
  const Believed simple = believed(1e9, 1, kRing);
  EXPECT_EQ(simple.protocol, NcclProtocol::simple);
  EXPECT_NEAR(simple.us, 56.0 + 1e9 / (360e3 * 8 / 14), 1e-6);
  EXPECT_NEAR(believed(1e9, 1, kRing, Collective::all_gather).us,
              8.4 + 7 * 3.4 + 1e9 / (360e3 * 8 / 7), 1e-6);
  EXPECT_NEAR(believed(1e9, 1, kRing, Collective::broadcast).us,
              8.4 + 8 * 3.4 + 1e9 / (360e3 * 8 / 8), 1e-6);
}

// Of two nodes' 30 steps two cross, at 14 us each for Simple and 2.7 for LL; a post costs at least
// 1 (3) us a step; 200 GB/s of NICs bind. Deep pipelines add two fifths to Simple's latency.
TEST(NcclTuner, ARingOverTheNetwork) {
  EXPECT_NEAR(believed(8, 2, kRing).us, 6.6 + 28 * 1 + 2 * 2.7 + 8 / (45e3 * 16 / 30), 1e-6);
  EXPECT_NEAR(believed(1e9, 2, kRing).us, 1.4 * (8.4 + 28 * 3.4 + 2 * 14) + 1e9 / (200e3 * 16 / 30),
              1e-6);
  NcclMachine slow;
  slow.nic_latency = microseconds(2);
  EXPECT_NEAR(believed(8, 2, kRing, Collective::all_reduce, slow).us - believed(8, 2, kRing).us,
              2 * 2, 1e-9);
  EXPECT_NEAR(believed(1e9, 2, kRing, Collective::all_reduce, slow).us - believed(1e9, 2, kRing).us,
              1.4 * 2 * 4, 1e-6);
  NcclMachine wide;
  wide.nic_per_rank = gbytes_per_s(100);
  EXPECT_NEAR(believed(1e9, 2, kRing, Collective::all_reduce, wide).us,
              1.4 * 131.6 + 1e9 / (360e3 * 16 / 30), 1e-6)
      << "the links bind";
}

// Twelve ranks of nodes of eight are on two nodes: 22 steps, two of them across.
TEST(NcclTuner, RanksThatDoNotFillTheirNodesAreOnOneMore) {
  NcclMachine machine;
  machine.nic_per_rank = gbytes_per_s(25);
  const NcclChoice c = nccl_choice(
      machine,
      {.kind = Collective::all_reduce, .bytes = Bytes(8), .group = {.ranks = 12, .per_domain = 8}},
      kRing);
  EXPECT_NEAR(c.time.base() * 1e6, 6.6 + 20 * 1 + 2 * 2.7 + 8 / (45e3 * 12 / 22), 1e-6);
}

TEST(NcclTuner, ATreeHalvesItsRateAndDoublesItsDepth) {
  EXPECT_NEAR(believed(8, 1, kTree).us, 6.8 + 2 * 7 * 0.6 + 8 / (331.2e3 / 3.8 / 2), 1e-6);
  EXPECT_NEAR(believed(1e9, 1, kTree).us, 8.4 + 2 * 7 * 4 + 1e9 / (331.2e3 / 2), 1e-6);
  EXPECT_NEAR(believed(1e9, 2, kTree).us, 8.4 + 2 * (28 + 14) + 1e9 / (331.2e3 / 2), 1e-6);
  EXPECT_NEAR(believed(1e9, 4, kTree).us, 8.4 + 2 * (28 + 2 * 14) + 1e9 / (0.92 * 200e3 / 2), 1e-6);
  EXPECT_NEAR(believed(8, 2, kTree).us, 6.8 + 2 * (7 * 0.6 + 5) + 8 / (45e3 / 2), 1e-6);
}

// 2 x 8 channels x 45 x 0.85 x 7/8 on a node; the NICs twice over between two, once between more.
TEST(NcclTuner, SwitchesThatAddHaveALatencyOfTheirOwn) {
  EXPECT_NEAR(believed(1e9, 1, kNvls).us, 25 + 1e9 / (535.5e3 * 8 / 14), 1e-6);
  EXPECT_NEAR(believed(1e9, 2, kNvls).us, 25 + 18 + 1e9 / (400e3 * 16 / 30), 1e-6);
  EXPECT_NEAR(believed(1e9, 4, kNvls).us, 25 + 2 * 2 * 20.9 + 1e9 / (200e3 * 32 / 62), 1e-6);
  EXPECT_EQ(believed(1e9, 1, kNvls, Collective::all_gather).algorithm, kRing) << "it only adds";
  NcclMachine without;
  without.nvls = false;
  EXPECT_EQ(believed(1e9, 1, kNvls, Collective::all_reduce, without).algorithm, kRing);
  NcclMachine ampere;
  ampere.generation = GpuGeneration::ampere;
  EXPECT_EQ(believed(1e9, 1, kNvls, Collective::all_reduce, ampere).algorithm, kRing);
  const auto four = nccl_choice(
      {},
      {.kind = Collective::all_reduce, .bytes = Bytes(1e9), .group = {.ranks = 4, .per_domain = 4}},
      kNvls);
  EXPECT_EQ(four.algorithm, kRing) << "five GPUs at the least";
}

TEST(NcclTuner, ChoosesWhatItBelievesToBeFastest) {
  const auto automatic = CollectiveAlgorithm::automatic;
  for (const int nodes : {1, 2, 4, 16}) {
    for (const double bytes : {8.0, 1e5, 1e7, 1e9}) {
      const Believed best = believed(bytes, nodes, automatic);
      for (const auto algorithm : {kRing, kTree, kNvls}) {
        EXPECT_LE(best.us, believed(bytes, nodes, algorithm).us) << nodes << " " << bytes;
      }
      EXPECT_EQ(best.us, believed(bytes, nodes, best.algorithm).us);
    }
  }
  EXPECT_EQ(believed(8, 1, automatic).algorithm, kRing);
  EXPECT_EQ(believed(8, 16, automatic).algorithm, kTree);
  EXPECT_EQ(believed(1e9, 1, automatic).algorithm, kNvls);
  EXPECT_EQ(believed(1e7, 4, automatic, Collective::reduce_scatter).algorithm, kRing);
}

TEST(NetworkNames, AreKnownByTheirWords) {
  using catalog::NetworkKind;
  const auto kind = [](const char* text) { return network_kind_from(text, "NVLink4 x18"); };
  EXPECT_EQ(kind("AWS EFAv2 3200G"), NetworkKind::efa);
  EXPECT_EQ(network_kind_from("EFA", "NVLink3 x12"), NetworkKind::efa_first);
  EXPECT_EQ(kind("GPUDirect-TCPXO"), NetworkKind::tcpxo);
  EXPECT_EQ(kind("FasTrak"), NetworkKind::tcpxo);
  EXPECT_EQ(kind("GPUDirect-TCPX"), NetworkKind::tcpx);
  EXPECT_EQ(kind("RoCEv2"), NetworkKind::roce);
  EXPECT_EQ(kind("Spectrum-X"), NetworkKind::roce);
  EXPECT_EQ(kind("Quantum-2 NDR"), NetworkKind::infiniband);
  EXPECT_EQ(kind("InfiniBand"), NetworkKind::infiniband);
  EXPECT_EQ(kind("TCP sockets"), NetworkKind::ethernet);
  EXPECT_EQ(kind("100G Ethernet"), NetworkKind::ethernet);
  EXPECT_EQ(kind(""), NetworkKind::none);
  EXPECT_EQ(collective_algorithm_from("nvls_tree"), CollectiveAlgorithm::nvls);
  EXPECT_EQ(collective_algorithm_from("ring"), CollectiveAlgorithm::ring);
  EXPECT_EQ(collective_algorithm_from("tree"), CollectiveAlgorithm::tree);
  EXPECT_EQ(collective_algorithm_from("rings"), std::nullopt);
}

// Of two trials the deviation is their difference over the square root of two; of one there is
// none.
TEST(Ecmp, ASpreadIsOfTrialsAndItsDeviationOfASample) {
  EcmpStudy study{
      .leaves = 4, .hosts_per_leaf = 8, .spines = 4, .queue_pairs = 1, .trials = 1, .seed = 5};
  const EcmpSpread first = ecmp_spread(study);
  study.seed = 6;
  const EcmpSpread second = ecmp_spread(study);
  EXPECT_EQ(first.mean_rate_deviation, 0);
  study.seed = 5;
  study.trials = 2;
  const EcmpSpread both = ecmp_spread(study);
  EXPECT_NEAR(both.mean_rate, (first.mean_rate + second.mean_rate) / 2, 1e-12);
  EXPECT_NEAR(both.least_rate, (first.least_rate + second.least_rate) / 2, 1e-12);
  EXPECT_NEAR(both.mean_rate_deviation,
              std::abs(first.mean_rate - second.mean_rate) / std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(both.worst_load_deviation,
              std::abs(first.worst_load - second.worst_load) / std::sqrt(2.0), 1e-9);
}

// A ring of two is one cable, of three three, of one none.
TEST(Graph, ATorusHasARingADimension) {
  const auto cables = [](std::vector<int> torus, int nodes) {
    return build_graph(*make_topology({.kind = catalog::TopologyKind::torus,
                                       .nodes = nodes,
                                       .rails = 1,
                                       .torus = std::move(torus)}))
               .links.size() /
           2;
  };
  EXPECT_EQ(cables({2, 2}, 4), 4U);
  EXPECT_EQ(cables({3, 2}, 6), 6U + 3U);
  EXPECT_EQ(cables({3, 3}, 9), 18U);
}

}  // namespace
}  // namespace orrery::fabric
