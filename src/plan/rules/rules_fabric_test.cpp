// What the rules of networks, retrieval and cascades compare and say.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/jobs/retrieval.h"
#include "plan/review/cascade_view.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

TEST(NetRules, ANetworkThatCannotBeBuilt) {
  const review::Review r = review::edited_review(
      "superpod-h100",
      {{"fabric.compute.topology", "torus"}, {"fabric.compute.dimensions", "[3, 3]"}});
  const Diagnostic& d = r.networks().compute.faults.at(0);
  expect_said(
      r, only_finding(r, "fabric.buildable"),
      {.path = "fabric.compute.topology",
       .what = "The compute network cannot be built: " + d.what,
       .why = d.why.empty() ? "Without it there is no bill, no power and no rate to plan with."
                            : d.why,
       .fix = d.fix,
       .edit = "fabric.compute.topology = rail-fat-tree"});
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.buildable").empty());
}

TEST(NetRules, NicsWithoutPorts) {
  const review::Review by_ports =
      review::edited_review("superpod-h100", {{"fabric.compute.ports_per_node", "4"}});
  expect_said(
      by_ports, only_finding(by_ports, "fabric.endpoints"),
      {.path = "fabric.compute.ports_per_node",
       .what = "The compute network has 508 endpoints for 1,016 NICs.",
       .why = "NICs without a port are bought and never used; switches, cables and rates are "
              "counted for the ports alone. Rails are of a host: an NVL72 rack has 18 hosts "
              "of 4.",
       .fix = "Leave `ports_per_node` out: every NIC of a host then has its rail.",
       .edit = "fabric.compute.ports_per_node = "});
  const review::Review by_rails =
      review::edited_review("superpod-gb200", {{"fabric.compute.rails", "2"}});
  const Finding f = only_finding(by_rails, "fabric.endpoints");
  EXPECT_EQ(f.fix, "Leave `rails` out: every NIC of a host then has its rail.");
  EXPECT_EQ(edit_of(f), "fabric.compute.rails = ");
  for (const char* name : {"superpod-h100", "superpod-b300", "superpod-gb200", "av-vision"}) {
    EXPECT_TRUE(findings_by(review::lab_review(name), "fabric.endpoints").empty()) << name;
  }
}

TEST(NetRules, ATierBehindNoLine) {
  const review::Review r = review::edited_review(
      "medical-imaging", {{"fabric.wan", ""}, {"storage[0].site", "hospital-a"}});
  const auto all = findings_by(r, "fabric.sites-joined");
  ASSERT_GE(all.size(), 1U);
  expect_said(r, all[0],
              {.path = "workloads[0].train",
               .what = "'segmentation' runs in site 'central' and uses tier 'hot' in site "
                       "'hospital-a': no line joins them.",
               .why = "Every site has networks of its own; what crosses to another needs a line.",
               .fix = "Use a tier of site 'central', or give the line: wan: [{ between: [central, "
                      "hospital-a], rate: ..., latency: ... }]."});
  EXPECT_TRUE(findings_by(review::lab_review("medical-imaging"), "fabric.sites-joined").empty());
}

TEST(NetRules, StorageOnTheComputeNetwork) {
  review::Review r = review::edited_review("superpod-h100", {{"fabric.storage.converged", "true"}});
  r.trains[0].contention = 0.034;
  expect_said(
      r, only_finding(r, "fabric.separate-storage"),
      {.path = "fabric.storage.converged",
       .what = "Storage traffic shares the compute network; training loses 3.4 % of its time "
               "to it.",
       .why = "A checkpoint drain and the collectives of the next step want the same wires at "
              "the same time.",
       .fix = "Give storage a network of its own, or accept the loss.",
       .edit = "fabric.storage.converged = false"});
  const review::Review bare =
      review::edited_review("superpod-h100", {{"fabric.storage", "{ converged: true }"}});
  const std::string edit = edit_of(only_finding(bare, "fabric.separate-storage"));
  EXPECT_EQ(edit.find("fabric.storage = { topology: fat-tree, switch: qm9700"), 0U) << edit;
  EXPECT_NE(edit.find("routing: adaptive"), std::string::npos) << edit;
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.separate-storage").empty());
}

TEST(NetRules, TheRoceChecklist) {
  const review::Review r = review::edited_review(
      "av-vision", {{"fabric.compute.roce.pfc", ""}, {"fabric.compute.roce.ecn", "false"}});
  const auto all = findings_by(r, "fabric.roce-checklist");
  ASSERT_EQ(all.size(), 2U);
  expect_said(
      r, all[0],
      {.path = "fabric.compute.roce.pfc",
       .what = "The compute network runs RoCE and does not declare priority flow control for "
               "the RDMA class on every hop.",
       .why = "one hop without it drops packets, and RDMA falls back to retransmission",
       .fix = "Check it on the switches, then write roce: { pfc: true }.",
       .edit = "fabric.compute.roce.pfc = true"});
  EXPECT_EQ(all[1].what,
            "The compute network runs RoCE and does without ECN marking below the PFC threshold.");
  const review::Review none = review::edited_review("av-vision", {{"fabric.compute.roce", ""}});
  EXPECT_EQ(findings_by(none, "fabric.roce-checklist").size(), 6U);
  EXPECT_TRUE(findings_by(review::lab_review("av-vision"), "fabric.roce-checklist").empty());
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.roce-checklist").empty());
}

// Two senders hold twice Xoff when the first is paused: marking must begin below that.
TEST(NetRules, MarksBeforePauses) {
  const auto with = [](const char* kmin) {
    return review::edited_review("av-vision", {{"fabric.compute.roce.ecn_kmin", kmin},
                                               {"fabric.compute.roce.xoff", "400 kB"}});
  };
  const review::Review r = with("800 kB");
  expect_said(
      r, only_finding(r, "fabric.marks-first"),
      {.path = "fabric.compute.roce.ecn_kmin",
       .what = "On the compute network marking begins at 800 kB, and a port is paused at "
               "400 kB.",
       .why = "Two senders to one port are paused before either is marked: pauses become the "
              "congestion control, and stop whoever shares their way.",
       .fix = "Mark from a fifth of xoff on.",
       .edit = "fabric.compute.roce.ecn_kmin = 80 kB"});
  EXPECT_TRUE(findings_by(with("799 kB"), "fabric.marks-first").empty());
}

TEST(NetRules, TwoPlanesFor800GEthernet) {
  const std::vector<design_text::Change> ethernet = {{"fabric.compute.switch", "sn5600"},
                                                     {"fabric.compute.protocol", "roce"}};
  const review::Review r = review::edited_review("superpod-b300", ethernet);
  expect_said(
      r, only_finding(r, "fabric.ethernet-800g"),
      {.path = "fabric.compute.topology",
       .what = "800 Gb/s a port on Ethernet, in one plane.",
       .why = "ConnectX-8 reaches 800 Gb/s only on InfiniBand; on Ethernet it is 2 x 400, so "
              "each port needs a plane.",
       .fix = "Use topology: twin-plane.",
       .edit = "fabric.compute.topology = twin-plane"});
  EXPECT_TRUE(findings_by(review::lab_review("superpod-b300"), "fabric.ethernet-800g").empty());
  EXPECT_TRUE(findings_by(review::lab_review("inference-pod"), "fabric.ethernet-800g").empty())
      << "400";
}

TEST(NetRules, LinksThatAreNew) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"fleet[0].custom", "{ scale_up: ualink-200 }"}});
  const Finding f = only_finding(r, "fabric.emerging");
  EXPECT_EQ(f.what, "The accelerators of 'train' are joined by a link that is new: " +
                        r.fleets()[design::FleetIndex(0)].accelerator()->scaleup_link + ".");
  EXPECT_EQ(f.why.find("Catalog emerging/ualink-200: "), 0U) << f.why;
  EXPECT_EQ(f.why.find("no row"), std::string::npos);
  EXPECT_NE(f.why.find(" (confidence "), std::string::npos);
  EXPECT_EQ(f.fix, "Ask the maker for measured figures, and for the price of its switches.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0].custom.scale_up").line);
  const review::Review cpo =
      review::edited_review("superpod-b200", {{"fabric.compute.switch", "q3450-cpo"}});
  const Finding parts = only_finding(cpo, "fabric.emerging");
  EXPECT_EQ(parts.what, "The compute network is built of parts that are new: " +
                            cpo.networks().compute.switch_part->name + ".");
  EXPECT_EQ(parts.fix, "Ask the maker for measured figures and dates before ordering.");
  EXPECT_EQ(parts.place.line, place_of(cpo.design(), "fabric.compute.switch").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.emerging").empty());
}

review::Review retrieving(const std::string& retrieval,
                          std::vector<design_text::Change> more = {}) {
  more.push_back({"workloads[0].serve.retrieval", retrieval});
  return review::edited_review("inference-pod", more);
}

// 75 requests a second, twice that at peak, 200 reads each: 30,000 of 32 kB are 0.96 GB/s.
TEST(LoadRules, ReadsThatATierDoesNotGive) {
  const std::string reads =
      "{ tier: hot, index: 2 TB, reads: 200, read_size: 32 kB, read_p99: 1 ms }";
  const review::Review r = retrieving(reads, {{"storage[0].read", "1 GB/s"}});
  const Finding f = only_finding(r, "serving.retrieval-reads");
  EXPECT_EQ(f.what,
            "Services read indexes on tier 'hot' 30000 times a second at peak, 'chat' among them; "
            "it gives 31200.");
  EXPECT_EQ(f.why, "Above 80 % of it reads queue, and every first token waits for the slowest.");
  EXPECT_EQ(f.fix, "A faster tier, smaller reads, or fewer of them.");
  // 0.96 / 0.8 * 1.01.
  EXPECT_EQ(edit_of(f), "storage[0].read = " + at_least(gbytes_per_s(1.212)));
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.retrieval.reads").line);
  EXPECT_TRUE(
      findings_by(retrieving(reads, {{"storage[0].read", "1.21 GB/s"}}), "serving.retrieval-reads")
          .empty());
}

// 48 drives give so many reads; where they bind, servers are what is bought.
TEST(LoadRules, DrivesThatAreReadTooOften) {
  const review::Review probe = retrieving("{ tier: hot, index: 2 TB, reads: 1, read_size: 512 B }");
  const auto ask = jobs::retrieval_of(*probe.machine, *probe.serves[0].serve,
                                      probe.fleets()[design::FleetIndex(0)]);
  ASSERT_TRUE(ask && !ask->by_rate);
  const double reads = std::floor(ask->gives / ask->asked * 0.9);
  const review::Review r = retrieving("{ tier: hot, index: 2 TB, reads: " + significant(reads, 9) +
                                      ", read_size: 512 B }");
  const Finding f = only_finding(r, "serving.retrieval-reads");
  EXPECT_EQ(f.fix, "More drives or servers, or fewer reads a request.");
  // Nine tenths of what four servers give, of which eight are allowed: 4 * 0.9 / 0.8 * 1.01 = 4.5.
  EXPECT_EQ(edit_of(f), "storage[0].servers = 5");
}

TEST(LoadRules, AnIndexThatTakesHalfOfThePromise) {
  review::Review r = retrieving("{ tier: hot, index: 2 TB, reads: 8, hops: 4, read_p99: 1 ms }");
  r.serves[0].request.before_p99 = milliseconds(500);
  EXPECT_TRUE(findings_by(r, "serving.retrieval-tail").empty()) << "of one second";
  r.serves[0].request.before_p99 = milliseconds(510);
  expect_said(r, only_finding(r, "serving.retrieval-tail"),
              {.path = "workloads[0].serve.retrieval",
               .what = "Of the 1 s that 'chat' promises to a first token, one request in a hundred "
                       "waits 510 ms for its index.",
               .why = "4 hops wait for one another, each for the slowest of 2 reads.",
               .fix = "A tier of lower latency, fewer reads or hops, or a longer promise."});
  r.serves[0].fleet = nullptr;
  EXPECT_TRUE(findings_by(r, "serving.retrieval-tail").empty());
}

TEST(LoadRules, AQualityWithoutASource) {
  const review::Review r =
      review::edited_review("inference-pod", {{"workloads[0].serve.quality", "0.8"}});
  expect_said(r, only_finding(r, "serving.quality-source"),
              {.path = "workloads[0].serve.quality",
               .what = "The quality of 'chat' has no source.",
               .why = "A share of right answers is of one test; another test has another one.",
               .fix = "Say which test and whose figure: quality_source."});
  const review::Review said = review::edited_review(
      "inference-pod",
      {{"workloads[0].serve.quality", "0.8"}, {"workloads[0].serve.quality_source", "MT"}});
  EXPECT_TRUE(findings_by(said, "serving.quality-source").empty());
}

TEST(LoadRules, ABatchWhoseModelDoesNotFit) {
  review::Review r = review::lab_review("fraud-cpu");
  EXPECT_TRUE(findings_by(r, "workload.inference").empty());
  r.batches[0].infeasible = "too large";
  expect_said(r, only_finding(r, "workload.inference"),
              {.path = "workloads[0].batch.inference",
               .what = "'retrain' cannot run: too large.",
               .why = "Weights and one request must fit the accelerators of a replica.",
               .fix = "More accelerators a replica, a smaller number format, or another fleet."});
}

// A small model that hands 0.55 of its answers on to one as large.
TEST(LoadRules, ACascadeThatCostsMoreThanItsLargerModel) {
  const auto cascade = [](const char* share) {
    const std::string rest =
        "model: llama-3-70b, precision: fp8, kv_precision: fp8, tp: 4, objective: { ttft_p99: 1 s, "
        "tpot_p99: 60 ms }, arrivals: { rate: ";
    return review::edited_review(
        "inference-pod",
        {{"workloads", "[{ serve: { name: small, " + rest +
                           "48 /s, trace: chat }, escalate: { service: large, share: " + share +
                           " } } }, { serve: { name: large, " + rest +
                           "0 /s, trace: chat } } }]"}});
  };
  const review::Review r = cascade("0.55");
  const auto c = review::view_cascade(r, r.serves[0]);
  ASSERT_TRUE(c);
  const Finding f = only_finding(r, "serving.cascade");
  EXPECT_EQ(f.what, "A thousand answers of 'small' cost " + significant(c->usd * 1e3, 3) +
                        " USD with what goes on to 'large'; that one alone would take " +
                        significant(c->usd_alone * 1e3, 3) + " USD.");
  EXPECT_EQ(f.why, "Every answer is made by the small model first, and a part of them twice.");
  EXPECT_EQ(f.fix, "Escalate less, let fewer replicas stand, or let the larger model answer all.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.escalate").line);
  EXPECT_NEAR(c->usd, c->usd_here + 0.55 * c->usd_large, 1e-9 * c->usd);
}

}  // namespace
}  // namespace orrery::rules
