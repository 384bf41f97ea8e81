// NCCL's equations worked out by hand: 8 and more H100 per node, in microseconds.
#include "layers/fabric/nccl_tuner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/csv.h"
#include "layers/fabric/graph.h"
#include "layers/fabric/hazards.h"

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
TEST(NcclTuner, ring_on_one_node) {
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

// Two of two nodes' 30 steps cross the network, at 14 us each for Simple and 2.7 for LL; a post
// costs at least 1 (3) us per step; 200 GB/s of NICs are the limit. Deep pipelines add two fifths
// to Simple's latency.
TEST(NcclTuner, ring_over_the_network) {
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

// Twelve ranks on nodes of eight use two nodes: 22 steps, two of them across.
TEST(NcclTuner, ranks_that_do_not_fill_their_nodes_are_on_one_more) {
  NcclMachine machine;
  machine.nic_per_rank = gbytes_per_s(25);
  const NcclChoice c = nccl_choice(
      machine,
      {.kind = Collective::all_reduce, .bytes = Bytes(8), .group = {.ranks = 12, .per_domain = 8}},
      kRing);
  EXPECT_NEAR(c.time.base() * 1e6, 6.6 + 20 * 1 + 2 * 2.7 + 8 / (45e3 * 12 / 22), 1e-6);
}

TEST(NcclTuner, tree_halves_its_rate_and_doubles_its_depth) {
  EXPECT_NEAR(believed(8, 1, kTree).us, 6.8 + 2 * 7 * 0.6 + 8 / (331.2e3 / 3.8 / 2), 1e-6);
  EXPECT_NEAR(believed(1e9, 1, kTree).us, 8.4 + 2 * 7 * 4 + 1e9 / (331.2e3 / 2), 1e-6);
  EXPECT_NEAR(believed(1e9, 2, kTree).us, 8.4 + 2 * (28 + 14) + 1e9 / (331.2e3 / 2), 1e-6);
  EXPECT_NEAR(believed(1e9, 4, kTree).us, 8.4 + 2 * (28 + 2 * 14) + 1e9 / (0.92 * 200e3 / 2), 1e-6);
  EXPECT_NEAR(believed(8, 2, kTree).us, 6.8 + 2 * (7 * 0.6 + 5) + 8 / (45e3 / 2), 1e-6);
}

// 2 x 8 channels x 45 x 0.85 x 7/8 on a node; twice the NICs between two nodes, once between more.
TEST(NcclTuner, switches_that_add_have_a_latency_of_their_own) {
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

TEST(NcclTuner, chooses_what_it_believes_to_be_fastest) {
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

struct Tuned {
  GpuGeneration generation = GpuGeneration::hopper;
  double nic = 25;  // GB/s per rank

  NcclChoice choice(double bytes, int nodes, CollectiveAlgorithm a) const {
    NcclMachine m;
    m.generation = generation;
    m.nic_per_rank = gbytes_per_s(nic);
    return nccl_choice(m, {Collective::all_reduce, Bytes(bytes), {8 * nodes, 8}}, a);
  }
  // Returns the microseconds of a ring or tree with the named protocol.
  double ring(double bytes, int nodes, NcclProtocol p) const {
    const NcclChoice c = choice(bytes, nodes, CollectiveAlgorithm::ring);
    EXPECT_EQ(c.protocol, p) << bytes << " on " << nodes;
    return c.time.base() * 1e6;
  }
  double tree(double bytes, int nodes, NcclProtocol p) const {
    const NcclChoice c = choice(bytes, nodes, CollectiveAlgorithm::tree);
    EXPECT_EQ(c.protocol, p) << bytes << " on " << nodes;
    return c.time.base() * 1e6;
  }
};

constexpr auto kLL = NcclProtocol::ll;
constexpr auto kLL128 = NcclProtocol::ll128;
constexpr auto kSimple = NcclProtocol::simple;

// A ring's rate with LL: at most what the generation allows on 1, 2 and more nodes, GB/s.
TEST(NcclTuner, ll_ring_bandwidth_is_capped_by_node_count) {
  const struct {
    GpuGeneration generation;
    double most[3];
  } rows[] = {{GpuGeneration::ampere, {87.7, 22.5, 19}},
              {GpuGeneration::hopper, {141, 45, 35}},
              {GpuGeneration::blackwell, {282, 90, 70}}};
  for (const auto& r : rows) {
    const Tuned t{.generation = r.generation};
    EXPECT_NEAR(t.ring(1e6, 1, kLL), 6.6 + 14 * 0.6 + 1e6 * 14 / 8 / (1e3 * r.most[0]), 1e-6);
    EXPECT_NEAR(t.ring(3e5, 2, kLL), 6.6 + 28 + 2 * 2.7 + 3e5 * 30 / 16 / (1e3 * r.most[1]), 1e-6);
    EXPECT_NEAR(t.ring(2e5, 4, kLL), 6.6 + 56 + 6 * 2.7 + 2e5 * 62 / 32 / (1e3 * r.most[2]), 1e-6);
    EXPECT_NEAR(t.ring(2e5, 3, kLL), 6.6 + 42 + 4 * 2.7 + 2e5 * 46 / 24 / (1e3 * r.most[2]), 1e-6);
  }
  // Half the rate of slow NICs is less than that: 8 x 4 / 2.
  const Tuned slow{.generation = GpuGeneration::hopper, .nic = 4};
  EXPECT_NEAR(slow.ring(1e5, 2, kLL), 40 + 1e5 * 30 / 16 / 16e3, 1e-6);
}

TEST(NcclTuner, ring_times_of_ll128_and_simple) {
  const Tuned ampere{.generation = GpuGeneration::ampere};
  EXPECT_NEAR(ampere.ring(5e6, 1, kLL128), 14 + 14 * 1.9 + 5e6 * 14 / 8 / 220.8e3, 1e-6);
  EXPECT_NEAR(ampere.ring(1e9, 1, kSimple), 56 + 1e9 * 14 / 8 / 240e3, 1e-6);
  const Tuned blackwell{.generation = GpuGeneration::blackwell};
  EXPECT_NEAR(blackwell.ring(1e7, 1, kLL128), 40.6 + 1e7 * 14 / 8 / 662.4e3, 1e-6);
  EXPECT_NEAR(blackwell.ring(1e9, 1, kSimple), 56 + 1e9 * 14 / 8 / 720e3, 1e-6);
  const Tuned hopper;
  EXPECT_NEAR(hopper.ring(2e6, 2, kLL128), 14 + 28 * 1.9 + 2 * 4 + 2e6 * 30 / 16 / 184e3, 1e-6);
}

TEST(NcclTuner, tree_times_on_one_node) {
  const Tuned hopper;
  EXPECT_NEAR(hopper.tree(3e6, 1, kLL128), 14 + 14 * 1.25 + 3e6 * 2 / (331.2e3 * 7 / 9), 1e-6);
  EXPECT_NEAR(hopper.tree(2e5, 1, kLL), 6.8 + 14 * 0.6 + 2e5 * 2 / (331.2e3 / 3.8), 1e-6);
  const Tuned ampere{.generation = GpuGeneration::ampere};
  EXPECT_NEAR(ampere.tree(1e9, 1, kSimple), 8.4 + 56 + 1e9 * 2 / 220.8e3, 1e-6);
  const Tuned blackwell{.generation = GpuGeneration::blackwell};
  EXPECT_NEAR(blackwell.tree(1e9, 1, kSimple), 8.4 + 56 + 1e9 * 2 / 662.4e3, 1e-6);
  EXPECT_NEAR(blackwell.tree(3e6, 1, kLL128), 31.5 + 3e6 * 2 / (662.4e3 * 7 / 9), 1e-6);
}

// NICs of 100 GB/s per rank are not the limit; a channel's rate is.
TEST(NcclTuner, tree_times_between_nodes) {
  const Tuned blackwell{.generation = GpuGeneration::blackwell, .nic = 100};
  EXPECT_NEAR(blackwell.tree(1e9, 4, kSimple), 8.4 + 2 * (28 + 2 * 14) + 1e9 * 2 / (18 * 24e3),
              1e-6);
  EXPECT_NEAR(blackwell.tree(1e9, 3, kSimple),
              8.4 + 2 * (28 + std::log2(3) * 14) + 1e9 * 2 / (18 * 24e3), 1e-4);
  EXPECT_NEAR(blackwell.tree(5e6, 2, kLL128), 14 + 2 * (7 * 1.25 + 8.5) + 5e6 * 2 / (18 * 31.67e3),
              1e-6);
  EXPECT_NEAR(blackwell.tree(5e6, 4, kLL128), 14 + 2 * (7 * 1.25 + 17) + 5e6 * 2 / (18 * 20e3),
              1e-6);
  EXPECT_NEAR(blackwell.tree(2e5, 2, kLL), 6.8 + 2 * (4.2 + 5) + 2e5 * 2 / 90e3, 1e-6);
  EXPECT_NEAR(blackwell.tree(2e5, 4, kLL), 6.8 + 2 * (4.2 + 10) + 2e5 * 2 / 70e3, 1e-6);
  const Tuned ampere{.generation = GpuGeneration::ampere, .nic = 100};
  EXPECT_NEAR(ampere.tree(1e9, 4, kSimple), 8.4 + 2 * (28 + 28) + 1e9 * 2 / (12 * 17.8e3), 1e-6);
  EXPECT_NEAR(ampere.tree(2e5, 2, kLL), 6.8 + 2 * (4.2 + 5) + 2e5 * 2 / 22.5e3, 1e-6);
  EXPECT_NEAR(ampere.tree(5e6, 2, kLL128),
              14 + 2 * (7 * 1.25 + 8.5) + 5e6 * 2 / (220.8e3 * 120 / 128), 1e-6);
}

TEST(NcclTuner, nvls_times_on_three_nodes_and_on_blackwell) {
  const Tuned hopper;
  const auto nvls = [](const Tuned& t, double bytes, int nodes) {
    return t.choice(bytes, nodes, CollectiveAlgorithm::nvls).time.base() * 1e6;
  };
  EXPECT_NEAR(nvls(hopper, 1e9, 3), 25 + 2 * std::log2(3) * 20.9 + 1e9 * 46 / 24 / 200e3, 1e-4);
  const Tuned blackwell{.generation = GpuGeneration::blackwell};
  EXPECT_NEAR(nvls(blackwell, 1e9, 1), 25 + 1e9 * 14 / 8 / (2 * 8 * 90e3 * 0.74 * 7 / 8), 1e-6);
  // A NIC's own latency counts twice for Simple: once between two nodes, per level between four.
  NcclMachine late;
  late.nic_per_rank = gbytes_per_s(25);
  late.nic_latency = microseconds(3);
  const auto with = [&](int nodes) {
    const NcclChoice c = nccl_choice(late, {Collective::all_reduce, Bytes(1e9), {8 * nodes, 8}},
                                     CollectiveAlgorithm::nvls);
    return c.time.base() * 1e6 - nvls(hopper, 1e9, nodes);
  };
  EXPECT_NEAR(with(2), 2 * 3, 1e-6);
  EXPECT_NEAR(with(4), 2 * 2 * 2 * 3, 1e-6);
  EXPECT_STREQ(to_text(NcclProtocol::ll), "LL");
  EXPECT_STREQ(to_text(NcclProtocol::ll128), "LL128");
  EXPECT_STREQ(to_text(NcclProtocol::simple), "Simple");
}

// Ampere's switches do not sum: a caller that asks for it gets a ring.
TEST(NcclTuner, unavailable_algorithm_falls_back_to_a_ring) {
  const workload::CollectiveCall call{
      workload::Collective::all_reduce, Bytes(1e8), {.ranks = 8, .per_domain = 8}};
  const NcclMachine ampere{.generation = GpuGeneration::ampere};
  const NcclChoice asked = nccl_choice(ampere, call, CollectiveAlgorithm::nvls);
  EXPECT_EQ(asked.algorithm, CollectiveAlgorithm::ring);
  EXPECT_EQ(asked.time, nccl_choice(ampere, call, CollectiveAlgorithm::ring).time);
  const NcclMachine hopper{};
  EXPECT_EQ(nccl_choice(hopper, call, CollectiveAlgorithm::nvls).algorithm,
            CollectiveAlgorithm::nvls);
}

}  // namespace
}  // namespace orrery::fabric
