#include "layers/fabric/collective_parameters.h"

#include <gtest/gtest.h>

#include <string>

#include "layers/fabric/flow_engine.h"
#include "layers/fabric/graph.h"
#include "layers/fabric/nccl_tuner.h"

namespace orrery::fabric::collective_edges {
namespace {

using enum CollectiveAlgorithm;

Result<CollectiveParameters> read_rows(const std::string& rows) {
  return read_collective_parameters(
      CsvTable::parse("group,name,parameter,value,basis\n" + rows, "c.csv").value());
}

constexpr const char* kRows =
    "scaleup,NVLink4,ring_share,0.11,fitted\nscaleup,NVLink4,nvls_share,0.12,\n"
    "scaleup,NVLink4,nvls_ranks,13,\nscaleup,NVLink4,pair_share,0.14,\n"
    "scaleup,NVLink4,launch,15,\nscaleup,NVLink4,ramp,0.16,\nscaleup,NVLink4,fill,17,\n"
    "scaleup,other,ramp,0.5,assumed\nscaleup,NVLink5,ramp,0.6,assumed\n"
    "network,infiniband,share,0.21,\nnetwork,infiniband,pair_share,0.22,\n"
    "network,infiniband,latency,23,fitted\nnetwork,infiniband,ramp,0.24,\n"
    "network,infiniband,fill,25,\nnetwork,roce,ramp,0.3,assumed\n"
    "protocol,,extra,0.4,\nprotocol,,at,41,\nharness,torch,launch,42,\nlibrary,rccl,tree,1,\n"
    "interval,multi below 256 KiB,low,0.5,\ninterval,multi below 256 KiB,high,0.51,\n"
    "interval,multi below 64 MiB,low,0.52,\ninterval,multi below 1 GiB,high,0.53,\n"
    "interval,multi above,high,0.54,\ninterval,one below 64 MiB,low,0.55,\n"
    "interval,one above,low,0.56,\n";

TEST(CollectiveParameters, every_row_sets_its_parameter) {
  const auto p = read_rows(kRows);
  ASSERT_TRUE(p) << to_text(p.error());
  const CollectiveParameters::ScaleUp& s = p->scaleup("NVLink4 x18");
  EXPECT_EQ(s.link, "NVLink4");
  EXPECT_TRUE(s.fitted);
  EXPECT_EQ(s.curve.ring_share, 0.11);
  EXPECT_EQ(s.curve.nvls_share, 0.12);
  EXPECT_EQ(s.curve.nvls_ranks, 13);
  EXPECT_EQ(s.curve.pair_share, 0.14);
  EXPECT_EQ(s.curve.launch, microseconds(15));
  EXPECT_EQ(s.curve.ramp, 0.16);
  EXPECT_EQ(s.curve.fill, microseconds(17));
  EXPECT_EQ(p->scaleup("NVLink5").curve.ramp, 0.6);
  EXPECT_FALSE(p->scaleup("NVLink5").fitted);
  EXPECT_EQ(p->scaleup("xGMI").link, "other");
  EXPECT_EQ(p->scaleup("").curve.ramp, 0.5);
  const CollectiveParameters::Network& n = p->network(catalog::NetworkKind::infiniband);
  EXPECT_TRUE(n.fitted);
  EXPECT_EQ(n.curve.share, 0.21);
  EXPECT_EQ(n.curve.pair_share, 0.22);
  EXPECT_EQ(n.curve.latency, microseconds(23));
  EXPECT_EQ(n.curve.ramp, 0.24);
  EXPECT_EQ(n.curve.fill, microseconds(25));
  EXPECT_EQ(p->network(catalog::NetworkKind::roce).curve.ramp, 0.3);
  EXPECT_FALSE(p->network(catalog::NetworkKind::roce).fitted);
  EXPECT_EQ(p->network(catalog::NetworkKind::tcpx).kind, "infiniband") << "the first";
  EXPECT_EQ(p->protocol.extra, 0.4);
  EXPECT_EQ(p->protocol.at, kib(41));
  EXPECT_EQ(p->torch_launch, microseconds(42));
  EXPECT_TRUE(p->rccl_tree);
}

TEST(CollectiveParameters, intervals_apply_below_their_size) {
  const auto p = read_rows(kRows);
  ASSERT_TRUE(p);
  const auto low = [&](bool network, Bytes size) { return p->interval(network, size).low; };
  const auto high = [&](bool network, Bytes size) { return p->interval(network, size).high; };
  EXPECT_EQ(low(true, Bytes(8)), 0.5);
  EXPECT_EQ(high(true, Bytes(8)), 0.51);
  EXPECT_EQ(low(true, kib(256)), 0.52) << "from there on the next";
  EXPECT_EQ(high(true, mib(64)), 0.53);
  EXPECT_EQ(high(true, gib(1)), 0.54);
  EXPECT_EQ(low(false, Bytes(8)), 0.55);
  EXPECT_EQ(low(false, mib(64)), 0.56);
  const CollectiveParameters none;
  EXPECT_EQ(none.interval(true, Bytes(8)).low, 0.3);
  EXPECT_EQ(none.interval(true, Bytes(8)).high, 0.3);
}

TEST(CollectiveParameters, unknown_parameters_are_refused) {
  const std::string good = "scaleup,other,ramp,1,\nnetwork,roce,ramp,0,\n";
  EXPECT_TRUE(read_rows(good));
  for (const char* bad :
       {"scaleup,other,none,1,\n", "network,roce,none,1,\n", "protocol,,none,1,\n", "none,,,1,\n",
        "scaleup,other,ramp,,\n", "scaleup,other,ramp,-1,\n"}) {
    const auto read = read_rows(good + bad);
    ASSERT_FALSE(read) << bad;
    ASSERT_EQ(read.error().size(), 1U) << bad;
    EXPECT_EQ(read.error()[0].code, "calibration.row");
    EXPECT_EQ(read.error()[0].place.line, 4);
  }
  EXPECT_FALSE(read_rows("scaleup,other,ramp,1,\n"));
  EXPECT_FALSE(read_rows("network,roce,ramp,1,\n"));
  EXPECT_EQ(read_rows("").error()[0].code, "calibration.empty");
  CollectiveParameters p = *read_rows(good + "library,rccl,tree,1,\n");
  EXPECT_TRUE(set_collective_parameter(p, {"library", "rccl", "tree"}, 0));
  EXPECT_FALSE(p.rccl_tree);
  EXPECT_TRUE(set_collective_parameter(p, {"library", "nccl", "tree"}, 1));
  EXPECT_FALSE(p.rccl_tree) << "another library's";
  EXPECT_TRUE(set_collective_parameter(p, {"scaleup", "other", "ramp"}, 7));
  EXPECT_EQ(p.scaleup("any").curve.ramp, 7);
  EXPECT_FALSE(p.scaleup("any").fitted);
  EXPECT_FALSE(set_collective_parameter(p, {"scaleup", "other", "none"}, 7));
}

TEST(CollectiveParameters, unknown_link_uses_the_last_row) {
  const auto p = read_rows("scaleup,A,ramp,1,\nscaleup,B,ramp,2,\nnetwork,roce,ramp,0,\n");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->scaleup("C").link, "B");
  EXPECT_EQ(p->scaleup("A9").link, "A");
}

TEST(CollectiveParameters, every_network_name_is_recognised) {
  using catalog::NetworkKind;
  const auto kind = [](const char* text) { return network_kind_from(text, "NVLink4"); };
  EXPECT_EQ(kind("SRD"), NetworkKind::efa);
  EXPECT_EQ(network_kind_from("srd", "NVLink2"), NetworkKind::efa_first);
  EXPECT_EQ(kind("Falcon"), NetworkKind::roce);
  EXPECT_EQ(kind("RDMA"), NetworkKind::roce);
  EXPECT_EQ(kind("XDR"), NetworkKind::infiniband);
  EXPECT_EQ(kind("HDR"), NetworkKind::infiniband);
  EXPECT_EQ(kind("NDR"), NetworkKind::infiniband);
  EXPECT_EQ(kind("IB"), NetworkKind::infiniband);
  EXPECT_EQ(kind("TCP"), NetworkKind::ethernet);
  EXPECT_EQ(kind("ethernet"), NetworkKind::ethernet);
  EXPECT_EQ(kind("sockets"), NetworkKind::ethernet);
  EXPECT_EQ(kind("tcpx"), NetworkKind::tcpx);
  EXPECT_EQ(kind("pigeons"), NetworkKind::none);
}

TEST(CollectiveParameters, network_kind_is_read_from_its_name) {
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

TEST(CollectiveParameters, calibration_sets_parameters_and_intervals) {
  CollectiveParameters p;
  p.intervals = {{.network = true, .below = mib(64), .low = 1, .high = 2}};
  const auto set = [&](const char* group, const char* name, const char* parameter, double value) {
    return set_collective_parameter(p, {group, name, parameter}, value);
  };
  EXPECT_TRUE(set("interval", "multi below 64 MiB", "low", 5));
  EXPECT_EQ(p.intervals[0].low, 5);
  EXPECT_EQ(p.intervals[0].high, 2);
  EXPECT_TRUE(set("interval", "multi below 64 MiB", "high", 6));
  EXPECT_EQ(p.intervals[0].low, 5);
  EXPECT_EQ(p.intervals[0].high, 6);
  EXPECT_TRUE(set("interval", "single below 64 MiB", "low", 7));
  EXPECT_TRUE(set("interval", "multi below 256 KiB", "high", 8));
  EXPECT_TRUE(set("interval", "multi", "high", 9));
  ASSERT_EQ(p.intervals.size(), 4U);
  EXPECT_FALSE(p.intervals[1].network);
  EXPECT_EQ(p.intervals[1].below, mib(64));
  EXPECT_EQ(p.intervals[1].low, 7);
  EXPECT_EQ(p.intervals[1].high, 0);
  EXPECT_EQ(p.intervals[2].below, kib(256));
  EXPECT_EQ(p.intervals[2].high, 8);
  EXPECT_EQ(p.intervals[2].low, 0);
  EXPECT_EQ(p.intervals[3].below.base(), kUncapped);
  EXPECT_TRUE(set("protocol", "", "extra", 0.25));
  EXPECT_EQ(p.protocol.extra, 0.25);
  EXPECT_TRUE(set("protocol", "", "at", 32));
  EXPECT_EQ(p.protocol.at, kib(32));
  EXPECT_FALSE(set("unknown", "", "extra", 3)) << "no such group";
  EXPECT_FALSE(set("unknown", "", "at", 3));
  EXPECT_FALSE(set("protocol", "", "unknown", 3));
  EXPECT_EQ(p.protocol.extra, 0.25);
  EXPECT_EQ(p.protocol.at, kib(32));
}

}  // namespace
}  // namespace orrery::fabric::collective_edges
