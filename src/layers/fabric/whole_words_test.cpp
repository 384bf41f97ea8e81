// What is told of networks, word for word: counters, RoCE's checklist, gaps of a run, losses and
// what is refused; and a storm among three nodes, by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "layers/fabric/counters.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/nccl_log.h"
#include "layers/fabric/nccl_tuner.h"
#include "layers/fabric/storm_study.h"
#include "layers/fabric/what_if.h"

namespace orrery::fabric {
namespace {

using Sentences = std::vector<std::string>;

Sentences told_of(const std::string& rows) {
  const std::string header =
      "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n";
  const auto table = CsvTable::parse(header + rows, "counters.csv");
  const Diagnostics found = judge_counters(*table);
  Sentences out;
  for (const Diagnostic& d : found) {
    out.push_back(fmt::format("{} {}:{}:{} {}: {} | {} | {}",
                              d.severity == Severity::error ? "error" : "warning", d.place.file,
                              d.place.line, d.place.column, d.code, d.what, d.why, d.fix));
  }
  return out;
}

TEST(WholeWords, of_counters) {
  EXPECT_EQ(told_of("leaf1,1,node3,10,450e9,0,400,0,0,0,0\n"),
            Sentences{"warning counters.csv:2:1 counters.no-marks: leaf1 port 1 is busy and marks "
                      "nothing | congestion is not signalled, so senders do not slow down | turn "
                      "on ECN and set Kmin below the queue that forms"});
  EXPECT_EQ(told_of("leaf1,2,node4,10,1e9,0,400,0,1,0,0\n"),
            Sentences{"warning counters.csv:2:1 counters.pause-before-mark: leaf1 port 2 pauses "
                      "before it marks | PFC then does the work of congestion control and hits "
                      "bystanders | lower Kmin and Kmax below Xoff"});
  EXPECT_EQ(told_of("leaf1,3,node5,10,1e9,0,400,0,0,9,1\n"),
            Sentences{"warning counters.csv:2:1 counters.drops: leaf1 port 3 dropped packets of "
                      "the lossless class | a lossless class drops only where headroom is short "
                      "or a hop lacks PFC | check PFC on both ends of the cable and the headroom "
                      "for its length"});
  EXPECT_EQ(told_of("leaf2,1,node9,10,1e6,0,400,500000,0,5,0\n"
                    "leaf2,33,spine1,10,1e6,0,400,0,400000,5,0\n"),
            (Sentences{"warning counters.csv:2:1 counters.pause-storm: leaf2 port 1 is paused "
                       "without end by node9 | what it feeds stands still | look at node9: a slow "
                       "receiver or a faulty NIC; turn on the PFC watchdog",
                       "warning counters.csv:3:1 counters.storm-spreads: leaf2 passes the pause on "
                       "to spine1 | the storm climbs from port to port and stops flows to other "
                       "places | cut it at its root with the watchdog"}));
  EXPECT_EQ(told_of("a,1,b,10,x,0,400,0,0,-1,0\n"),
            (Sentences{"error counters.csv:2:1 counters.field: no count in column tx_bytes |  | a "
                       "number, 0 or more",
                       "error counters.csv:2:1 counters.field: no count in column ecn_marked |  | "
                       "a number, 0 or more"}));
}

Sentences roce_words(const RoceSettings& s) {
  const std::vector<RoceFinding> found = check_roce(s);
  Sentences out;
  for (const RoceFinding& f : found) {
    out.push_back(
        fmt::format("{} {}: {} | {} | {}", f.declared ? "no" : "?", f.rule, f.what, f.why, f.fix));
  }
  return out;
}

TEST(WholeWords, of_the_checklist) {
  const Answer no = Answer::no;
  const Sentences said{
      "no roce.pfc-every-hop: PFC is not on for every hop | one hop without it drops RDMA packets, "
      "and go-back-N resends whole windows | turn on PFC for the RDMA class on NICs and all switch "
      "ports",
      "no roce.pfc-one-class: PFC is on for more than the RDMA class | pauses of other traffic "
      "then "
      "stop RDMA, and headroom is needed twice | turn on PFC for one priority only",
      "no roce.ecn: ECN does not mark below the PFC threshold | without marks senders never slow "
      "down, and PFC becomes the congestion control | set Kmin and Kmax below Xoff on every switch",
      "no roce.own-queue: RDMA has no queue of its own | TCP fills the shared queue and RDMA is "
      "paused for it | map the RDMA class to its own queue and CNPs to a strict one",
      "no roce.hash-spread: large flows are hashed onto single links | few large flows collide: a "
      "permutation gets about half the wire | use 4 or more queue pairs a connection, packet "
      "spraying or adaptive routing",
      "no roce.watchdog: no PFC watchdog | a NIC that pauses without end stops its whole tree | "
      "turn on the PFC watchdog on switch ports",
      "no roce.headroom: buffer headroom is not checked | headroom too small for rate and cable "
      "drops packets despite PFC | size it: 2 B (cable / v) + B response + 2 MTU a port and class"};
  EXPECT_EQ(roce_words({no, no, no, no, no, no, no}), said);
  const Answer yes = Answer::yes;
  EXPECT_EQ(roce_words({yes, yes, yes, yes, yes, Answer::unknown, yes}),
            Sentences{"? roce.watchdog: undeclared: perhaps no PFC watchdog | a NIC that pauses "
                      "without end stops its whole tree | turn on the PFC watchdog on switch "
                      "ports"});
  const FabricComparison c = compare_fabrics(4, 4, 4, 2, 3);
  EXPECT_EQ(c.infiniband_latency, nanoseconds(450));
  EXPECT_EQ(c.roce_latency, nanoseconds(1800));
}

// Eight senders at 50 GB/s into a port of 50: 350 GB/s too much. In 8 us 2.8 MB; Xoff of 1.4 MB is
// there after 4 us.
TEST(WholeWords, of_an_incast_by_hand) {
  IncastSpec s{.buffer = bytes(2.8e6), .pause_threshold = bytes(1.4e6)};
  const IncastBound b = incast_bound(s);
  EXPECT_NEAR(b.queued.base(), 2.8e6, 1e-6);
  EXPECT_DOUBLE_EQ(b.cuts, 3);
  EXPECT_NEAR(b.fill_time.base(), 4e-6, 1e-15);
  EXPECT_NEAR(b.drain_time.base(), 56e-6, 1e-15);
  EXPECT_TRUE(b.pauses);
  s.buffer = bytes(2.7e6);
  EXPECT_TRUE(incast_bound(s).overflows);
  s.buffer = bytes(2.9e6);
  EXPECT_FALSE(incast_bound(s).overflows);
  s.pause_threshold = bytes(2.9e6);
  EXPECT_FALSE(incast_bound(s).pauses) << "control acts first";
  s.senders = 1;
  const IncastBound one = incast_bound(s);
  EXPECT_EQ(one.queued.base() + one.cuts + one.drain_time.base(), 0);
  EXPECT_FALSE(one.pauses || one.overflows);
  EXPECT_TRUE(std::isinf(one.fill_time.base()));
}

// 30 m are 150 ns: 2 x 7,500 B in flight, 30,000 B while the peer answers, two packets of 4,200.
TEST(WholeWords, of_headroom_by_hand) {
  const HeadroomCheck c = check_headroom({});
  EXPECT_NEAR(c.per_port.base(), 53'400, 1e-6);
  EXPECT_NEAR(c.total.base(), 64 * 53'400, 1e-4);
  EXPECT_TRUE(c.fits);
  const double left = 160.0 * 1024 * 1024 / 64 - 38'400;
  EXPECT_NEAR(c.longest_cable_m, left / (2 * 50e9) * 2e8, 1e-6);
  const HeadroomCheck two = check_headroom({.ports = 8, .lossless_classes = 3});
  EXPECT_NEAR(two.total.base(), 24 * 53'400, 1e-4);
  EXPECT_NEAR(check_headroom({.ports = 0, .lossless_classes = 0}).total.base(), 53'400, 1e-6);
}

Sentences gap_words(const GapFacts& facts) {
  const std::vector<GapReason> reasons = likely_reasons(facts);
  Sentences out;
  for (const GapReason& r : reasons) out.push_back(r.reason + " | " + r.check);
  return out;
}

TEST(WholeWords, of_gaps) {
  const std::string nics =
      "the rate is that of 4 of 8 NICs | NCCL_IB_HCA, link state, and that every NIC has its GPU's "
      "PCIe switch";
  const std::string direct =
      "no GPUDirect RDMA: data goes through host memory | nvidia-peermem or dma-buf; "
      "NCCL_DEBUG=INFO should say GDRDMA";
  const std::string hashed =
      "hash collisions in the fabric: a permutation gets about half the wire with one queue pair | "
      "NCCL_IB_QPS_PER_CONNECTION, adaptive routing, switch counters";
  const std::string links =
      "NVLink SHARP is off or some NVLink is down | NCCL_NVLS_ENABLE, nvidia-smi nvlink -s, the "
      "fabric manager";
  const std::string launch =
      "launch overhead: the call is timed from a framework or the CPU is slow | CUDA graphs, CPU "
      "governor, NUMA binding";
  GapFacts f{.large_ratio = 0.5, .leaves_domain = true, .roce = true, .nics = 8};
  EXPECT_EQ(gap_words(f), (Sentences{nics, direct, hashed}));
  f.roce = false;
  f.large_ratio = 0.5149;
  EXPECT_EQ(gap_words(f), (Sentences{nics, direct}));
  f.large_ratio = 0.5151;
  EXPECT_EQ(gap_words(f), Sentences{direct}) << "4.12 NICs are not four";
  f.large_ratio = 0.4851;
  EXPECT_EQ(gap_words(f), (Sentences{nics, direct}));
  f.large_ratio = 0.4849;
  EXPECT_EQ(gap_words(f), Sentences{direct});
  f = {.large_ratio = 0.6, .leaves_domain = true, .nics = 3};
  EXPECT_EQ(gap_words(f), Sentences{});
  f = {.large_ratio = 0.5, .leaves_domain = true, .roce = true, .nics = 1};
  EXPECT_EQ(gap_words(f), Sentences{}) << "one NIC has no others";
  EXPECT_EQ(gap_words({.large_ratio = 0.85}), Sentences{});
  EXPECT_EQ(gap_words({.large_ratio = 0.849}), Sentences{links});
  EXPECT_EQ(gap_words({.small_ratio = 0.6}), Sentences{});
  EXPECT_EQ(gap_words({.large_ratio = 0.2, .small_ratio = 0.599}), (Sentences{links, launch}));
}

Topology eight_rails() { return *make_topology({.nodes = 64, .rails = 8, .radix = 64}); }

std::string refusal(const auto& result) {
  if (result || result.error().size() != 1) return "none";
  const Diagnostic& d = result.error().front();
  return fmt::format("{}: {} | {} | {}", d.code, d.what, d.why, d.fix);
}

TEST(WholeWords, of_losses_that_cannot_be_studied) {
  const std::string none =
      "fabric.no-such-part: the network has no such part to lose |  | count from 0";
  for (const auto& [loss, parts] :
       {std::pair(Loss::nic, 512), std::pair(Loss::leaf_uplink, 512), std::pair(Loss::leaf, 16),
        std::pair(Loss::spine, 8), std::pair(Loss::plane, 1)}) {
    EXPECT_EQ(refusal(study_loss(eight_rails(), {.loss = loss, .number = parts})), none) << parts;
    EXPECT_EQ(refusal(study_loss(eight_rails(), {.loss = loss, .number = parts - 1})), "none");
  }
  FabricSpec ring{.kind = catalog::TopologyKind::torus, .nodes = 64, .rails = 1};
  ring.torus = {4, 4, 4};
  EXPECT_EQ(refusal(study_loss(*make_topology(ring), {})),
            "fabric.kind: losses are studied on trees |  | use a fat tree or rails");
  EXPECT_EQ(refusal(study_storm(*make_topology(ring), {})),
            "fabric.kind: storms are studied on trees |  | use a fat tree or rails");
  EXPECT_EQ(refusal(study_loss(*make_topology({.nodes = 5001, .rails = 8, .radix = 64}), {})),
            "fabric.too-large: too many endpoints to run as flows |  | at most 40000");
  EXPECT_EQ(refusal(study_storm(*make_topology({.nodes = 2, .rails = 8, .radix = 64}), {})),
            "fabric.too-small: a storm needs others to stop |  | three nodes or more");
}

// 100 MB at 50 GB/s. Up and down, the message of the lost cable joins a neighbour's.
TEST(WholeWords, of_a_lost_cable) {
  const auto r = study_loss(eight_rails(), {.loss = Loss::leaf_uplink, .number = 5});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->lost, "leaf 0 - spine 5");
  EXPECT_NEAR(r->alone.base(), 2e-3, 1e-12);
  EXPECT_NEAR(r->before.base(), 2e-3, 2e-5);
  EXPECT_NEAR(r->after.base(), 4e-3, 2e-5);
  EXPECT_EQ(r->cut, 0);
  EXPECT_EQ(r->slowed, 4);
  EXPECT_EQ(r->nodes.size(), 4u);
  const auto leaf = study_loss(eight_rails(), {.loss = Loss::leaf, .number = 3});
  ASSERT_TRUE(leaf);
  EXPECT_EQ(leaf->lost, "leaf 3");
  EXPECT_EQ(leaf->share, 0);
  EXPECT_EQ(leaf->nodes.size(), 64u);
  const auto half =
      study_loss(eight_rails(), {.loss = Loss::spine, .number = 7, .message = bytes(5e7)});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->lost, "spine 7");
  EXPECT_NEAR(half->alone.base(), 1e-3, 1e-12);
  EXPECT_EQ(loss_from("nic"), Loss::nic);
  EXPECT_EQ(loss_from("link"), Loss::leaf_uplink);
  EXPECT_EQ(loss_from("plane"), Loss::plane);
  EXPECT_EQ(loss_from("leaf"), Loss::leaf);
  EXPECT_EQ(loss_from("spine"), Loss::spine);
  EXPECT_FALSE(loss_from("core"));
}

// Each sends to both others at half of its wire. The port to node 0 stands: 1 MB waits there for
// each sender after 40 us, whose NIC is then paused, so that in the second 100 us nothing moves.
TEST(WholeWords, of_a_storm_among_three) {
  const Topology three = *make_topology({.nodes = 3, .rails = 8, .radix = 64});
  using catalog::RoutingKind;
  for (const RoutingKind kind : {RoutingKind::fixed, RoutingKind::adaptive, RoutingKind::ecmp}) {
    StormSpec spec;
    spec.routing.kind = kind;
    spec.queue_pairs = 3;
    const auto r = study_storm(three, spec);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->nodes, 3);
    EXPECT_NEAR(r->before, 1, 1e-9);
    EXPECT_EQ(r->reach, 1);
    EXPECT_NEAR(r->left, 0, 1e-9);
    EXPECT_NEAR(r->held, 0, 1e-9);
    EXPECT_EQ(r->back, r->held) << "nobody breaks the pause";
    EXPECT_EQ(r->pauses, 2u);
    EXPECT_EQ(r->spread, microseconds(100));
    spec.options.watchdog = kWatchdogTime;
    const auto watched = study_storm(three, spec);
    ASSERT_TRUE(watched);
    EXPECT_NEAR(watched->held, 0, 1e-9);
    EXPECT_NEAR(watched->back, 1, 1e-6);
    spec.options.pauses = false;
    const auto dropped = study_storm(three, spec);
    ASSERT_TRUE(dropped);
    EXPECT_EQ(dropped->pauses, 0u);
    EXPECT_EQ(dropped->reach, 1) << "both send to it";
    EXPECT_NEAR(dropped->left, 0, 1e-9);
    EXPECT_NEAR(dropped->held, 1, 1e-9) << "and to one another as before";
  }
}

// Ampere's switches do not add: who asks for it gets a ring.
TEST(WholeWords, of_a_choice_that_is_not_there) {
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
