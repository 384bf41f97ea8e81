// Figures of whole designs, by hand: networks, lines, plants, stages, retrieval, cascades, tiers.
#include "plan/verdict/sections.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/probability.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "model/machine/tier_purchase.h"
#include "plan/verdict/verdict.h"

namespace orrery::verdict::section_tests {
namespace {

using figures::Layer;

struct Told {
  review::Review review;
  Verdict verdict;

  Estimate of(Layer layer, std::string_view id, std::string_view section = {}) const {
    const figures::Figure* f = verdict.figure(layer, id, section);
    EXPECT_NE(f, nullptr) << id << " of " << section;
    return f ? f->estimate : Estimate{};
  }
  double at(Layer layer, std::string_view id, std::string_view section = {}) const {
    return of(layer, id, section).value;
  }
  bool has(Layer layer, std::string_view id) const { return verdict.figure(layer, id) != nullptr; }
};

Told got(const std::string& design) {
  const auto d =
      design_text::read_design("orrery: 1\nname: a\n" + design, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  review::Review review = review::run_stages(d.value(), machine::known());
  Verdict verdict = verdict_of(review, {.spends = false});
  return {std::move(review), std::move(verdict)};
}

const std::string kSite = "site: { region: usa }\n";
const std::string kPod = "fleet: [{ name: f, node: dgx-h100, count: 8 }]\n";
const std::string kNet = "fabric: { compute: { topology: fat-tree, switch: qm9700 } }\n";
const std::string kTier =
    "storage: [{ name: hot, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
    "devices_per_server: 8, read: 40 GB/s, write: 20 GB/s, capacity: 200 TB }]\n";

void expect_spread(const Estimate& e, double below, double above) {
  EXPECT_NEAR(e.low / e.value, 1 - below, 1e-9);
  EXPECT_NEAR(e.high / e.value, 1 + above, 1e-9);
}

TEST(Sections, hashed_permutation_overloads_a_link) {
  const auto net = [](const std::string& rest) {
    return got(kSite + "fleet: [{ name: f, node: dgx-h100, count: 64 }]\n" +
               "fabric: { compute: { topology: fat-tree, switch: qm9700, " + rest + " } }\n");
  };
  // 512 ports on 16 leaves, half of whose 64 ports go up.
  const double links = 16 * 32;
  const Told hashed = net("routing: ecmp, queue_pairs: 4");
  EXPECT_NEAR(hashed.at(Layer::fabric, "worst_link"), 1 + std::sqrt(2 * std::log(links) / 4), 1e-9);
  expect_spread(hashed.of(Layer::fabric, "worst_link"), 0.05, 0.25);
  EXPECT_NEAR(net("routing: static").at(Layer::fabric, "worst_link"),
              1 + std::sqrt(2 * std::log(links)), 1e-9);
  EXPECT_EQ(net("routing: adaptive").at(Layer::fabric, "worst_link"), 1);
}

// Seven of eight senders' 50 GB/s are too much for a port; each of the eight has 900 kB before
// Xoff.
TEST(Sections, pauses_begin_when_buffers_reach_xoff) {
  const auto with = [](const std::string& roce) {
    return got(kSite + kPod +
               "fabric: { compute: { topology: fat-tree, switch: sn5600, protocol: roce, "
               "port_rate: 400 Gb/s, roce: { pfc: true, ecn: true, " +
               roce + " } } }\n");
  };
  const Told got = with("xoff: 900 kB, ecn_kmin: 200 kB, ecn_kmax: 2 MB, ecn_pmax: 0.2");
  EXPECT_NEAR(got.at(Layer::fabric, "pause_after"), 8 * 900e3 / (7 * 50e9), 1e-12);
  expect_spread(got.of(Layer::fabric, "pause_after"), 0.3, 0.5);
  EXPECT_GT(got.at(Layer::fabric, "marked_queue"), 200e3);
  EXPECT_LT(got.at(Layer::fabric, "marked_queue"), 2e6);
  EXPECT_EQ(got.at(Layer::fabric, "storm_time"), 600) << "until a collective gives up";
  EXPECT_EQ(with("xoff: 900 kB, pfc_watchdog: true, watchdog_time: 150 ms")
                .at(Layer::fabric, "storm_time"),
            0.15);
  EXPECT_FALSE(with("dedicated_queue: true").has(Layer::fabric, "pause_after"));
}

TEST(Sections, three_tiers_have_core_switches) {
  const Told t = got(kSite + "fleet: [{ name: f, node: dgx-h100, count: 512 }]\n" + kNet);
  const fabric::Topology& n = *t.review.networks().compute.topology;
  EXPECT_EQ(t.at(Layer::fabric, "core_switches", "compute network"), n.cores);
  EXPECT_EQ(n.cores, 64) << "4,096 links of 64 ports";
  EXPECT_EQ(t.at(Layer::fabric, "cables", "compute network"), 3 * 4096);
}

// 64 accelerators of 8 hosts: each of eight NICs carries an eighth of twice the bytes, less a
// rank's.
TEST(Sections, all_reduce_is_no_faster_than_its_nics) {
  const double t = got(kSite + kPod + kNet).at(Layer::fabric, "all_reduce_1gib");
  const double by_nic = 2 * 7.0 / 8 / 8 * 1073741824 / 50e9;
  EXPECT_GT(t, by_nic);
  EXPECT_LT(t, 2 * by_nic);
}

TEST(Sections, line_between_sites) {
  const Told t = got(
      "sites: [{ name: here, region: usa }, { name: there, region: usa }]\n"
      "fleet:\n  - { name: f, node: dgx-h100, count: 2, site: here }\n"
      "  - { name: g, node: dgx-h100, count: 2, site: there }\n"
      "fabric: { compute: { topology: fat-tree, switch: qm9700 }, wan: [{ between: [here, there], "
      "rate: 10 Gb/s, latency: 40 ms, price: 5 USD/h }] }\n"
      "workloads: [{ serve: { name: s, model: llama-3-8b, tp: 1, replicas: 4, arrivals: { rate: 4 "
      "/s, input_tokens: 800, output_tokens: 100 }, zones: [{ site: here, share: 0.5 }, { site: "
      "there, share: 0.5 }] } }]\n");
  EXPECT_EQ(t.at(Layer::fabric, "wan_rate"), 1.25e9);
  EXPECT_EQ(t.at(Layer::fabric, "wan_latency"), 0.04);
  EXPECT_NEAR(t.at(Layer::fabric, "wan_price"), 5 * 8766, 5 * 8) << "a year of hours";
  // 8.03 billion parameters of two bytes.
  EXPECT_NEAR(t.at(Layer::fabric, "weights_across"), 8.03e9 * 2 / 1.25e9 + 0.04, 0.05);
  expect_spread(t.of(Layer::fabric, "weights_across"), 0, 0.5);
}

TEST(Sections, plant_has_units_for_its_heat) {
  const Told t =
      got("site: { region: usa, cooling: direct-to-chip-1p, rack: 60 kW, cooling_unit: 30 kW, "
          "cooling_spares: 2, cooling_unit_mtbf: 1 y }\n" +
          kPod + kNet);
  const double heat = t.at(Layer::facility, "it_nameplate");
  const double needed = std::ceil(heat / 30e3);
  EXPECT_EQ(t.at(Layer::facility, "cooling_units"), needed + 2);
  // Three units are out of `needed` plus two: one unit's share is not removed; 0.7 L per kW, 3.947
  // kJ per L and K.
  const double per_kelvin = heat / 1e3 * 0.7 * 3947;
  EXPECT_NEAR(t.at(Layer::facility, "throttle_after"), per_kelvin * 10 / (heat / needed),
              per_kelvin * 10 / (heat / needed) * 0.002);
  const double out = (needed + 2) * 8 / 8766;
  EXPECT_NEAR(t.at(Layer::facility, "cooling_short") / poisson_above(2, out), 1, 0.01);
}

TEST(Sections, power_unit_carries_its_racks) {
  const Told t =
      got("site: { region: usa, rack: 44 kW }\n"
          "fleet: [{ name: f, node: dgx-h100, count: 8, nodes_per_rack: 2, pdu_rating: "
          "100 kW, failures: { racks_per_pdu: 3 } }]\n" +
          kNet);
  const double rack = t.at(Layer::facility, "rack_power_f");
  EXPECT_NEAR(rack, 2 * 10.2e3, 300);
  EXPECT_NEAR(t.at(Layer::facility, "pdu_load_f"), 3 * rack / 100e3, 1e-12);
}

std::string told_service(const std::string& name, const std::string& rest) {
  return "  - serve: { name: " + name + ", model: llama-3-8b, tp: 1, " + rest + " }\n";
}
const std::string kLengths = "input_tokens: 800, output_tokens: 100";

// A terabyte at 1 GB/s, then ten gigabytes at the tier's own rate, a cycle each day.
TEST(Sections, stages_follow_one_another) {
  const Told t = got(kSite + kPod + kNet +
                     "storage:\n"
                     "  - { name: hot, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
                     "devices_per_server: 8, read: 40 GB/s, write: 20 GB/s, capacity: 200 TB }\n"
                     "  - { name: slow, tier: cold, kind: object, device: obj-hdd-node, servers: "
                     "4, read: 1 GB/s, write: 500 MB/s, capacity: 900 TB }\n"
                     "pipeline:\n  every: 1 d\n  stages:\n"
                     "    - { stage: ingest, name: in, to: hot, size: 1 TB, rate: 8 Gb/s }\n"
                     "    - { stage: archive, name: out, from: hot, to: slow, size: 100 GB }\n"
                     "    - { stage: serve, name: up, workload: s }\n"
                     "workloads:\n" +
                     told_service("s", "replicas: 4, arrivals: { rate: 1 /s, " + kLengths + " }"));
  const std::string in = "pipeline: in", out = "pipeline: out";
  EXPECT_EQ(t.at(Layer::cluster, "stage_start", in), 0);
  EXPECT_NEAR(t.at(Layer::cluster, "stage_time", in), 1000, 0.1);
  EXPECT_NEAR(t.at(Layer::cluster, "stage_end", in), 1000, 0.1);
  EXPECT_NEAR(t.at(Layer::cluster, "stage_start", out), 1000, 0.1);
  EXPECT_NEAR(t.at(Layer::cluster, "stage_time", out), 200, 0.1);
  EXPECT_NEAR(t.at(Layer::cluster, "stage_end", out), 1200, 0.1);
  expect_spread(t.of(Layer::cluster, "stage_time", out), 0.2, 0.4);
  EXPECT_NEAR(t.at(Layer::cluster, "bytes_out", in), 1e12, 1);
  EXPECT_NEAR(t.at(Layer::cluster, "bytes_in", out), 1e11, 1);
  // New weights serve once the replicas have loaded them.
  const double lead = t.at(Layer::cluster, "stage_end", "pipeline: up");
  EXPECT_GT(lead, 1200);
  EXPECT_EQ(t.at(Layer::cluster, "lead"), lead);
  const Estimate fresh = t.of(Layer::cluster, "freshness");
  EXPECT_NEAR(fresh.value, 86400 + lead, 1e-6);
  EXPECT_NEAR(fresh.low, 86400 + 0.8 * lead, 1e-6) << "the day is exact";
  EXPECT_NEAR(fresh.high, 86400 + 1.4 * lead, 1e-6);
}

TEST(Sections, index_is_read_before_the_prompt) {
  const Told t = got(kSite + kPod + kNet + kTier + "workloads:\n" +
                     told_service("s",
                                  "replicas: 4, retrieval: { tier: hot, index: 2 TB, reads: 40, "
                                  "hops: 4 }, arrivals: { rate: 8 /s, peak: 3, " +
                                      kLengths + " }"));
  const review::ServeView& v = t.review.serves.front();
  EXPECT_EQ(t.at(Layer::serving, "retrieval"), v.request.before.base());
  expect_spread(t.of(Layer::serving, "retrieval"), 0.4, 0.6);
  EXPECT_EQ(t.at(Layer::serving, "retrieval_p99"), v.request.before_p99.base());
  EXPECT_GT(v.request.before_p99, v.request.before);
  EXPECT_NEAR(t.at(Layer::serving, "retrieval_reads"), 8 * 3 * 40, 1e-6)
      << "a request reads 40 in all its hops";
}

TEST(Sections, cascade_costs_what_each_answer_takes) {
  const Told t = got(
      kSite + kPod + kNet + "workloads:\n" +
      told_service("small", "replicas: 4, quality: 0.7, arrivals: { rate: 20 /s, " + kLengths +
                                " }, escalate: { service: large, share: 0.25 }") +
      "  - serve: { name: large, model: llama-3-70b, tp: 4, replicas: 2, quality: 0.9, arrivals: { "
      "rate: 0 /s, " +
      kLengths + " } }\n");
  const double hour = t.review.cost.annual.base() / t.review.cost.accelerators / 8760;
  const double small = 4 * hour / (20 * 3600);
  const double large = 8 * hour / (5 * 3600);
  EXPECT_NEAR(t.at(Layer::serving, "usd_per_kanswer", "small"), (small + 0.25 * large) * 1e3, 1e-6);
  // Alone, the larger one has whole replicas for all twenty, at four fifths of what each carries.
  const double each = t.review.serves[1].capacity_per_replica.base();
  const double alone = 4 * std::ceil(20 / (0.8 * each)) * hour / (20 * 3600);
  EXPECT_NEAR(t.at(Layer::serving, "usd_per_kanswer_alone", "small"), alone * 1e3, 1e-6);
  expect_spread(t.of(Layer::serving, "usd_per_kanswer", "small"), 0.35, 0.45);
}

TEST(Sections, tier_per_terabyte) {
  const Told t = got(kSite + kPod + kNet + kTier);
  const machine::Tier& tier = t.review.tiers().front();
  EXPECT_EQ(t.at(Layer::storage, "read"), 40e9);
  EXPECT_EQ(t.at(Layer::storage, "write"), 20e9);
  // 32 drives, and what they hold and draw, over 200 TB.
  const auto bought = purchase_of(tier, machine::known().catalog());
  ASSERT_TRUE(bought);
  EXPECT_EQ(bought->devices, 32);
  EXPECT_EQ(bought->servers, 4);
  EXPECT_NEAR(t.at(Layer::storage, "usd_per_tb"), bought->price.middle().base() * 32 / 200, 1e-6);
  EXPECT_NEAR(t.of(Layer::storage, "usd_per_tb").low, bought->price.low.base() * 32 / 200, 1e-6);
  EXPECT_NEAR(t.of(Layer::storage, "usd_per_tb").high, bought->price.high.base() * 32 / 200, 1e-6);
  EXPECT_NEAR(t.at(Layer::storage, "watts_per_tb"), bought->power.base() * 32 / 200, 1e-9);
  const storage::AccessLatency& l = tier.latency;
  const double sum = (l.media + l.network + l.service + l.transfer + l.host_copy).base();
  EXPECT_NEAR(t.at(Layer::storage, "latency"), sum, 1e-12);
  expect_spread(t.of(Layer::storage, "latency"), 0.3, 1);
}

// Ten nodes are wanted and eight exist: two are missing, and none is idle.
TEST(Sections, missing_nodes_are_counted) {
  const auto fleet = [](int nodes) {
    return got(kSite + kPod + kNet +
               "workloads: [{ train: { model: llama-3-8b, tokens: 1B, batch: " +
               std::to_string(nodes * 8) + ", nodes: " + std::to_string(nodes) + " } }]\n");
  };
  const Told over = fleet(10);
  EXPECT_EQ(over.at(Layer::cluster, "over_booked"), 2);
  EXPECT_FALSE(over.has(Layer::cluster, "idle"));
  const Told under = fleet(6);
  EXPECT_EQ(under.at(Layer::cluster, "idle"), 2);
  EXPECT_FALSE(under.has(Layer::cluster, "over_booked"));
}

// An H100 has seven compute slices; two of three leave one that no profile uses.
TEST(Sections, stranded_slices) {
  const Told t =
      got(kSite + "fleet: [{ name: f, node: dgx-h100, count: 1, mig: { 3g.40gb: 2 } }]\n" + kNet +
          "workloads:\n" +
          told_service("s", "replicas: 4, arrivals: { rate: 1 /s, " + kLengths + " }"));
  EXPECT_NEAR(t.at(Layer::cluster, "stranded"), 1.0 / 7, 1e-9);
}

}  // namespace
}  // namespace orrery::verdict::section_tests
