// Agents, retrieval and cascades in a review; services on slices and on cores.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/traffic/talks.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/cascade_view.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

Review review_of(const std::string& workloads,
                         const std::string& node = "dgx-h100, count: 8") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\n"
      "fleet: [{ name: f, node: " +
          node +
          " }]\n"
          "fabric: { compute: { topology: fat-tree, switch: qm9700 } }\n"
          "storage:\n"
          "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
          "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
          "workloads:\n" +
          workloads,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d.value(), machine::known());
}

std::string service(const std::string& name, const std::string& rest) {
  return "  - serve: { name: " + name + ", model: llama-3-8b, tp: 1, replicas: 4, " + rest + " }\n";
}

const std::string kLengths = "input_tokens: 800, output_tokens: 100";

TEST(Loads, ATaskIsItsCallsAndItsTools) {
  const std::string agent = "agent: { calls: 4, tool_time: 5 s }";
  const Review r =
      review_of(service("a", "arrivals: { rate: 8 /s, " + kLengths + ", " + agent + " }"));
  const ServeView& v = r.serves.front();
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  EXPECT_NEAR(v.task.base(), 4 * v.answer.base() + 15, 1e-9);
  // One in a hundred threes of exponential tools takes 8.406 of them.
  EXPECT_GT(v.task_p99.base(), 4 * v.answer.base() + 5 * 8.406);
  EXPECT_LT(v.task_p99.base(), 4 * v.answer.base() + 5 * 8.406 + 1);

  // A promise that tools alone break cannot be kept; a tight one costs load.
  const auto with = [&](const char* bound) {
    return review_of(service("a", "arrivals: { rate: 8 /s, " + kLengths + ", " + agent +
                                      " }, objective: { task_p99: " + bound + " }"))
        .serves.front();
  };
  EXPECT_FALSE(with("14 s").feasible());
  const ServeView loose = with("60 s");
  const ServeView tight = with("47 s");
  ASSERT_TRUE(tight.feasible()) << tight.infeasible;
  EXPECT_LT(tight.capacity_per_replica, loose.capacity_per_replica);
}

TEST(Loads, RetrievalStandsBeforeTheFirstToken) {
  const std::string arrivals = "arrivals: { rate: 8 /s, " + kLengths + " }";
  const Review bare = review_of(service("a", arrivals));
  const Review looks = review_of(
      service("a", arrivals + ", retrieval: { tier: fast, index: 2 TB, reads: 40, hops: 4 }"));
  const ServeView& a = bare.serves.front();
  const ServeView& b = looks.serves.front();
  ASSERT_TRUE(b.feasible()) << b.infeasible;
  EXPECT_GT(b.request.before, Seconds(0));
  EXPECT_NEAR((b.ttft - a.ttft).base(), b.request.before.base(), 1e-9);
  EXPECT_GT(b.ttft_p99, a.ttft_p99 + b.request.before);
  EXPECT_LT(b.ttft_p99, a.ttft_p99 + b.request.before_p99);
  EXPECT_EQ(b.tpot, a.tpot);
  EXPECT_NEAR((looks.used.front() - bare.used.front()).base(), 2e12, 1);
}

TEST(Loads, ACascadeLoadsTheLargerServiceAndMixesTheQuality) {
  const Review r = review_of(
      service("small", "quality: 0.7, quality_source: t, arrivals: { rate: 20 /s, peak: 2, " +
                           kLengths + " }, escalate: { service: large, share: 0.2 }") +
      "  - serve: { name: large, model: llama-3-70b, tp: 8, quality: 0.9, quality_source: t, "
      "arrivals: { rate: 1 /s, peak: 1, " +
      kLengths + " } }\n");
  const ServeView& small = r.serves[0];
  const ServeView& large = r.serves[1];
  EXPECT_DOUBLE_EQ(large.rate.base(), 1 + 0.2 * 20);
  EXPECT_DOUBLE_EQ(large.peak.base(), 1 + 0.2 * 40);
  EXPECT_NEAR(large.day[15], large.peak.base(), 1e-9);
  const auto c = view_cascade(r, small);
  ASSERT_TRUE(c);
  EXPECT_FALSE(view_cascade(r, large));
  EXPECT_NEAR(*c->quality, 0.8 * 0.7 + 0.2 * 0.9, 1e-12);
  EXPECT_NEAR(*c->quality_best, 0.7 + 0.2 * 0.9, 1e-12);
  EXPECT_NEAR(c->answer.base(), small.answer.base() + 0.2 * large.answer.base(), 1e-12);
  EXPECT_NEAR(c->usd, c->usd_here + 0.2 * c->usd_large, 1e-15);
  EXPECT_NEAR(c->usd_here / c->usd_large, (small.devices / 20) / (large.devices / 5), 1e-9);
  EXPECT_EQ(c->replicas_alone, std::ceil(40 / (large.capacity_per_replica.base() * 0.8)));
}

// At best those who go on are those who were wrong; more than those cannot be right for it.
TEST(Loads, AJudgeFindsNoMoreMistakesThanThereAre) {
  const Review r =
      review_of(service("small", "quality: 0.7, arrivals: { rate: 20 /s, " + kLengths +
                                     " }, escalate: { service: large, share: 0.5 }") +
                service("large", "quality: 0.9, arrivals: { rate: 0 /s, " + kLengths + " }"));
  EXPECT_NEAR(*view_cascade(r, r.serves[0])->quality_best, 0.5 + 0.45, 1e-12);
  EXPECT_DOUBLE_EQ(r.serves[1].rate.base(), 10);
}

const std::string kPlain = "arrivals: { rate: 8 /s, " + kLengths + " }";

// Seven replicas of two an accelerator take four of them, and are paid for as four.
TEST(Loads, ReplicasOnSlicesTakeAcceleratorsWhole) {
  const std::string seven =
      "  - serve: { name: a, model: llama-3-8b, replicas: 7, " + kPlain + " }\n";
  const Review r = review_of(seven, "dgx-h100, count: 1, mig: { 3g.40gb: 2 }");
  const ServeView& v = r.serves.front();
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  ASSERT_TRUE(v.slice);
  EXPECT_EQ(v.devices, 4);
  EXPECT_EQ(v.devices_there, 8);
  EXPECT_EQ(v.accelerators_for(8), 4);
  EXPECT_EQ(v.accelerators_for(9), 5);
  EXPECT_EQ(v.replicas_on(3), 6);
  // Whole, a replica has all of one, and each carries more.
  const Review whole = review_of(seven, "dgx-h100, count: 1");
  EXPECT_EQ(whole.serves.front().devices, 7);
  EXPECT_EQ(whole.serves.front().replicas_on(3), 3);
  EXPECT_GT(whole.serves.front().capacity_per_replica, v.capacity_per_replica * 1.5);
}

TEST(Loads, APlainNetworkOnASliceHasItsUnits) {
  const std::string plain =
      "  - serve: { name: a, network: { forward: 50 GFLOP, params: 25M }, replicas: 2, "
      "arrivals: { rate: 5 /s } }\n";
  const ServeView whole = review_of(plain, "dgx-h200, count: 1").serves.front();
  const ServeView cut =
      review_of(plain, "dgx-h200, count: 1, mig: { 1g.18gb: 7 }").serves.front();
  ASSERT_TRUE(cut.feasible()) << cut.infeasible;
  EXPECT_NEAR(whole.capacity_per_replica / cut.capacity_per_replica, 132.0 / 16, 1e-6);
  EXPECT_EQ(cut.devices, 1);
}

TEST(Loads, CoresServeByTheHost) {
  const Review r = review_of(service("a", kPlain), "cpu-2s-server, count: 6");
  const ServeView& v = r.serves.front();
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  EXPECT_EQ(v.devices, 4);
  EXPECT_EQ(v.devices_there, 6);
  EXPECT_EQ(v.basis, Basis::assumed);
  const ServeView gpus = review_of(service("a", kPlain)).serves.front();
  EXPECT_GT(gpus.capacity_per_replica, v.capacity_per_replica * 5);
}

TEST(Loads, ASlicedFleetRefusesWhatSlicesCannot) {
  const auto code = [](const std::string& rest, const std::string& mig) {
    const auto d = design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 1, "
        "mig: " +
            mig + " }]\nworkloads:\n  - serve: { name: a, model: llama-3-8b, " + rest + kPlain +
            " }\n",
        machine::known().catalog());
    return d ? std::string() : d.error().front().code;
  };
  EXPECT_EQ(code("", "{ 3g.40gb: 2 }"), "");
  EXPECT_EQ(code("tp: 1, ", "{ 3g.40gb: 2 }"), "");
  EXPECT_EQ(code("tp: 2, ", "{ 3g.40gb: 2 }"), "design.mig");
  EXPECT_EQ(code("pp: 2, ", "{ 3g.40gb: 2 }"), "design.mig");
  EXPECT_EQ(code("disaggregated: true, ", "{ 3g.40gb: 2 }"), "design.mig");
  EXPECT_EQ(code("", "{ 3g.40gb: 1, 2g.20gb: 1 }"), "design.mig");
}

TEST(Loads, ARunTakesAcceleratorsThatAreNotCut) {
  const std::string run = "  - train: { model: llama-3-8b, tokens: 1B, batch: 64 }\n";
  const Review cut = review_of(run, "dgx-h100, count: 2, mig: { 3g.40gb: 2 }");
  EXPECT_NE(cut.trains.front().infeasible.find("cut into slices"), std::string::npos);
  EXPECT_TRUE(review_of(run, "dgx-h100, count: 2").trains.front().feasible());
}

// Without a name a zone's fleet is the first of its site, and a fleet without a site is at the
// first.
TEST(Loads, AZoneAtTheFirstSiteIsOnTheFleetThatNamesNone) {
  const auto code = [](const std::string& site) {
    const auto d = design_text::read_design(
        "orrery: 1\nname: a\nsites: [{ name: here, region: usa }, { name: there, region: usa }]\n"
        "fleet:\n  - { name: f, node: dgx-h100, count: 1, mig: { 3g.40gb: 2 } }\n"
        "  - { name: g, node: dgx-h100, count: 1, site: there }\n"
        "workloads:\n  - serve: { name: a, model: llama-3-8b, tp: 2, zones: [{ site: " +
            site + ", share: 1 }], " + kPlain + " }\n",
        machine::known().catalog());
    return d ? std::string() : to_text(d.error());
  };
  EXPECT_NE(code("here").find("design.mig"), std::string::npos) << code("here");
  EXPECT_EQ(code("there"), "");
}

}  // namespace
}  // namespace orrery::review
