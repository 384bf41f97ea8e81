// Collectives at the edges of their cases, and the table of their parameters row by row.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "layers/fabric/collective_parameters.h"

namespace orrery::fabric::collective_edges {
namespace {

using workload::Collective;
using enum CollectiveAlgorithm;

// Links without friction, but for what a test gives them.
LinkHierarchy smooth(double scaleup, double nic) {
  LinkHierarchy l;
  l.scaleup_rate = BytesPerSecond(scaleup);
  l.nic_rate = BytesPerSecond(nic);
  l.scaleup = {.ring_share = 1,
               .nvls_share = 1,
               .pair_share = 1,
               .launch = Seconds(0),
               .ramp = 0,
               .fill = Seconds(0)};
  l.network = {.share = 1, .pair_share = 1, .latency = Seconds(0), .ramp = 0, .fill = Seconds(0)};
  l.protocol.extra = 0;
  return l;
}

CollectiveTime timed(const LinkHierarchy& l, Collective kind, int ranks, int per_domain,
                     CollectiveAlgorithm a = automatic, double bytes = 1e9) {
  return collective_time(l, {kind, Bytes(bytes), {ranks, per_domain}}, a);
}

TEST(CollectiveEdges, switches_of_sixteen_are_joined_and_of_seventeen_are_not) {
  LinkHierarchy l = smooth(1e9, 1e15);
  l.domain = 16;
  EXPECT_EQ(timed(l, Collective::all_reduce, 34, 17).algorithm, nvls);
  l.domain = 17;
  EXPECT_NE(timed(l, Collective::all_reduce, 34, 17).algorithm, nvls);
  EXPECT_EQ(timed(l, Collective::all_reduce, 17, 17).algorithm, nvls) << "in one domain";
  // Asked for where there are none, a tree runs between domains and a ring inside one.
  l.scaleup.nvls_share = 0;
  EXPECT_NEAR(timed(l, Collective::all_reduce, 17, 17, nvls).time.base(), 2 * 16.0 / 17, 1e-6);
}

// A tree asked for inside one rack chains nothing across.
TEST(CollectiveEdges, a_tree_in_one_rack_has_no_chain_between) {
  LinkHierarchy l = smooth(1e15, 1e15);
  l.domain = 72;
  EXPECT_NEAR(timed(l, Collective::all_reduce, 64, 64, tree, 8).time.base(), 0, 1e-9);
  EXPECT_NEAR(timed(l, Collective::all_reduce, 18, 9, tree, 8).time.base(), 2 * 1.4e-6, 1e-9);
  EXPECT_NEAR(timed(l, Collective::all_gather, 18, 9, ring, 8).time.base(), 2 * 1.4e-6, 1e-9);
}

TEST(CollectiveEdges, one_domain_needs_no_network_and_one_rank_a_domain_no_link) {
  const CollectiveTime inside = timed(smooth(1e9, 0), Collective::all_gather, 8, 8);
  EXPECT_NEAR(inside.time.base(), 7.0 / 8, 1e-9);
  EXPECT_EQ(inside.nic_rate.base(), 0);
  EXPECT_EQ(inside.limit, LimitingLink::scale_up);
  EXPECT_NEAR(timed(smooth(1e9, 0), Collective::all_to_all, 8, 8).time.base(), 7.0 / 8, 1e-9);
  const CollectiveTime apart = timed(smooth(0, 1e9), Collective::all_gather, 8, 1);
  EXPECT_NEAR(apart.time.base(), 7.0 / 8, 1e-9);
  EXPECT_EQ(apart.scaleup_rate.base(), 0);
  EXPECT_EQ(timed(smooth(1e9, 0), Collective::all_gather, 16, 8).time.base(),
            std::numeric_limits<double>::infinity())
      << "nothing joins the domains";
  EXPECT_EQ(timed(smooth(1e9, 1e9), Collective::all_gather, 1, 1).time, Seconds());
  EXPECT_EQ(timed(smooth(1e9, 1e9), Collective::all_gather, 0, 0).time, Seconds());
}

// Inside a domain the network's pipeline is neither slow nor to be filled.
TEST(CollectiveEdges, pipelines_fill_where_they_are) {
  LinkHierarchy l = smooth(1e9, 1e15);
  l.scaleup.ramp = 2;
  l.scaleup.fill = milliseconds(1);
  l.network.ramp = 5;
  l.network.fill = milliseconds(7);
  // 7/8 s of wire, twice that slow, half a millisecond of fill: r w F / (r w + F).
  const double slow = 2 * 7.0 / 8, fill = 0.5e-3;
  EXPECT_NEAR(timed(l, Collective::all_gather, 8, 8).time.base(),
              7.0 / 8 + slow * fill / (slow + fill), 1e-9);
  const double wide = 5 * 15.0 / 16, more = 0.5 * std::sqrt(2.0) * 8e-3;
  EXPECT_NEAR(timed(l, Collective::all_gather, 16, 8).time.base(),
              15.0 / 16 + wide * more / (wide + more), 1e-6);
  // Pairs fill half, racks' trees a root of their eights.
  EXPECT_NEAR(timed(l, Collective::all_to_all, 8, 8).time.base(),
              7.0 / 8 + slow * fill / (slow + fill), 1e-9);
  l.domain = 32;
  const double rack = 2 * 2 * 31.0 / 32;
  EXPECT_NEAR(timed(l, Collective::all_reduce, 32, 32, tree).time.base(),
              2 * 31.0 / 32 + rack * 2e-3 / (rack + 2e-3), 1e-9);
}

// Sixteen hosts, 12 us a crossing: a tree has 2 x 4, a ring 2 (1 + 14/3).
TEST(CollectiveEdges, a_library_without_trees_runs_rings) {
  LinkHierarchy l = smooth(1e15, 1e15);
  l.scaleup.nvls_share = 0;
  l.network.latency = microseconds(12);
  EXPECT_EQ(timed(l, Collective::all_reduce, 128, 8, automatic, 8).algorithm, tree);
  l.network.has_tree = false;
  const CollectiveTime t = timed(l, Collective::all_reduce, 128, 8, automatic, 8);
  EXPECT_EQ(t.algorithm, ring);
  EXPECT_NEAR(t.time.base() * 1e6, 12 * 2 * (1 + 14.0 / 3), 1e-3);
  // The network's switches add from two domains on, in two crossings.
  l.sharp = true;
  l.network.latency = microseconds(40);
  EXPECT_EQ(timed(l, Collective::all_reduce, 32, 8, automatic, 8).algorithm, sharp);
  l = smooth(1e15, 1e9);
  l.sharp = true;
  l.scaleup.nvls_share = 0;
  l.network.has_tree = false;
  EXPECT_EQ(timed(l, Collective::all_reduce, 16, 8).algorithm, sharp);
}

TEST(CollectiveEdges, what_binds_is_named) {
  LinkHierarchy l = smooth(1e15, 1e9);
  EXPECT_EQ(timed(l, Collective::all_gather, 16, 8).limit, LimitingLink::nic);
  l.oversubscription = 2;
  EXPECT_EQ(timed(l, Collective::all_gather, 16, 8).limit, LimitingLink::fabric);
  l.scaleup.launch = seconds(1000);
  EXPECT_EQ(timed(l, Collective::all_gather, 16, 8).limit, LimitingLink::launch);
  EXPECT_STREQ(to_text(LimitingLink::launch), "launch and hop latency");
  EXPECT_STREQ(to_text(LimitingLink::scale_up), "scale-up link");
  EXPECT_STREQ(to_text(LimitingLink::nic), "NIC");
  EXPECT_STREQ(to_text(LimitingLink::fabric), "oversubscribed fabric");
  EXPECT_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::reduce_scatter, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::all_to_all, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::broadcast, 4), 1);
  EXPECT_EQ(bus_factor(Collective::all_reduce, 2), 1);
  EXPECT_EQ(bus_factor(Collective::all_gather, 1), 1);
}

TEST(CollectiveEdges, shares_that_are_left) {
  const auto left = [](double storage, double contenders) {
    return free_share(
        {.capacity = gbytes_per_s(50), .storage = gbytes_per_s(storage), .contenders = contenders});
  };
  EXPECT_EQ(left(0, 1), 1);
  EXPECT_DOUBLE_EQ(left(10, 1), 0.8);
  EXPECT_DOUBLE_EQ(left(40, 1), 0.5) << "its fair share";
  EXPECT_DOUBLE_EQ(left(80, 3), 0.25);
  EXPECT_DOUBLE_EQ(left(10, -1), 1);
  EXPECT_EQ(share_after(Loss::nic, {.nics_per_node = 1, .adaptive = false}), 0);
  EXPECT_EQ(share_after(Loss::nic, {.nics_per_node = 2, .adaptive = false}), 0.5);
  EXPECT_EQ(share_after(Loss::spine, {.spines = 1, .adaptive = false}), 0);
  EXPECT_EQ(share_after(Loss::spine, {.spines = 2}), 0.5);
  EXPECT_EQ(share_after(Loss::leaf, {.planes = 1}), 0);
  EXPECT_EQ(share_after(Loss::plane, {.planes = 2}), 0.5);
  EXPECT_EQ(share_after(Loss::leaf, {.planes = 2}), 0.5);
  EXPECT_DOUBLE_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 4}), 0.75);
  EXPECT_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 2, .adaptive = false}), 0.5);
  EXPECT_EQ(share_after(Loss::leaf_uplink, {.leaf_uplinks = 0}), 0);
}

// What is assumed of links of which nothing else is told.
TEST(CollectiveEdges, curves_by_default) {
  const ScaleUpCurve s;
  EXPECT_EQ(s.ring_share, 0.812);
  EXPECT_EQ(s.nvls_share, 0.602);
  EXPECT_EQ(s.pair_share, 0.75);
  EXPECT_EQ(s.nvls_ranks, 5);
  EXPECT_EQ(s.launch, microseconds(15));
  EXPECT_EQ(s.ramp, 1.2);
  EXPECT_EQ(s.fill, microseconds(70));
  const NetworkCurve n;
  EXPECT_EQ(n.share, 0.95);
  EXPECT_EQ(n.pair_share, 0.75);
  EXPECT_EQ(n.latency, microseconds(12));
  EXPECT_EQ(n.ramp, 1.8);
  EXPECT_EQ(n.fill, microseconds(60));
  EXPECT_TRUE(n.has_tree);
  EXPECT_EQ(ProtocolStep{}.extra, 0.55);
  EXPECT_EQ(ProtocolStep{}.at, kib(64));
  const LinkHierarchy l;
  EXPECT_EQ(l.domain, 8);
  EXPECT_EQ(l.nics_per_rank * l.oversubscription * l.network_free, 1);
  EXPECT_FALSE(l.sharp || l.in_graph);
  EXPECT_EQ(l.graph_saving, microseconds(6));
  EXPECT_EQ(SharedWire{}.contenders, 1);
  const LossShape shape;
  EXPECT_EQ(shape.nics_per_node, 8);
  EXPECT_EQ(shape.leaf_uplinks, 32);
  EXPECT_EQ(shape.spines, 16);
  EXPECT_EQ(shape.planes, 1);
  EXPECT_TRUE(shape.adaptive);
}

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

TEST(CollectiveEdges, every_row_of_the_table_is_the_parameter_it_names) {
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
  EXPECT_FALSE(CollectiveParameters{}.rccl_tree);
}

TEST(CollectiveEdges, intervals_hold_below_their_size) {
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

TEST(CollectiveEdges, rows_that_are_no_parameter_are_refused) {
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

TEST(CollectiveEdges, a_table_without_others_has_its_last) {
  const auto p = read_rows("scaleup,A,ramp,1,\nscaleup,B,ramp,2,\nnetwork,roce,ramp,0,\n");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->scaleup("C").link, "B");
  EXPECT_EQ(p->scaleup("A9").link, "A");
}

TEST(CollectiveEdges, networks_by_each_of_their_words) {
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

}  // namespace
}  // namespace orrery::fabric::collective_edges
