// The section of a service at its edges: agents, talks, indexes, KV tiers, cascades, hosts; every
// digit of its formulas and both ends of its intervals.
#include <gtest/gtest.h>

#include <memory>

#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

review::Review spoken_service(const std::string& rest, const std::string& node = "dgx-h100",
                              const std::string& more = "") {
  return review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: " + node +
      ", count: 8 }]\nstorage: [{ name: fast, tier: hot, kind: parallel-fs, servers: 4, device: "
      "tlc-gen4, devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }]\nworkloads:\n  - serve: "
      "{ name: s, model: llama-3-8b, " +
      rest + " }\n" + more);
}

const std::string kSpoken = "rate: 8 /s, input_tokens: 800, output_tokens: 100";

TEST(ServingSectionEdges, OfAgents) {
  review::Review r = spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken +
                                    ", agent: { calls: 4, tool_time: 5 s } }");
  review::ServeView& v = r.serves.at(0);
  v.error = 0.2;
  v.task = seconds(30);
  v.task_p99 = seconds(60);
  v.request.input = 1234.56;
  v.request.cached_share = 0.5;
  const auto sections = verdict::serving_sections(r);
  expect_ends(hand_figure(sections, "task_time"), 0.24, 0.24);
  expect_ends(hand_figure(sections, "task_p99"), 0.3, 0.3);
  EXPECT_EQ(hand_figure(sections, "task_p99").estimate.value, 60);
  expect_ends(hand_figure(sections, "cache_found"), 0.25, 0.1);
  EXPECT_EQ(hand_figure(sections, "cache_found").formula,
            "4 calls, 1235 tokens in a mean one with all before it; tools of 5 s while blocks give "
            "way to others, router least-requests");
  const auto alone = verdict::serving_sections(
      spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken + " }"));
  for (const char* id : {"task_time", "task_p99", "cache_found", "retrieval", "kv_tier_rate",
                         "inbound", "answer_time", "quality", "failover_served", "replicas_mean"}) {
    EXPECT_EQ(hand_figure(alone, id).id, "") << id;
  }
}

TEST(ServingSectionEdges, OfAnIndex) {
  review::Review r =
      spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken +
                     " }, retrieval: { tier: fast, index: 2 TB, reads: 37.125, hops: 3 }");
  review::ServeView& v = r.serves.at(0);
  v.request.before = milliseconds(12);
  v.request.before_p99 = milliseconds(34);
  const auto sections = verdict::serving_sections(r);
  expect_ends(hand_figure(sections, "retrieval"), 0.4, 0.6);
  expect_ends(hand_figure(sections, "retrieval_p99"), 0.4, 0.6);
  EXPECT_EQ(hand_figure(sections, "retrieval").estimate.value, 0.012);
  EXPECT_EQ(hand_figure(sections, "retrieval_p99").estimate.value, 0.034);
  // 37.125 reads in three hops are 12.375 each, to three digits.
  EXPECT_EQ(hand_figure(sections, "retrieval").formula.find("3 hops, the slowest of 12.4 reads"),
            0U);
  const figures::Number reads = hand_figure(sections, "retrieval_reads");
  EXPECT_NEAR(reads.estimate.value, v.peak.base() * 37.125, 1e-6);
  EXPECT_EQ(reads.estimate.low, reads.estimate.high);
}

// A replica on half of a node reads its share of a tier that four replicas read: 10 GB/s.
TEST(ServingSectionEdges, OfAKvTier) {
  const auto rate = [](const std::string& split, int replicas) {
    const review::Review r =
        spoken_service(split + ", replicas: " + std::to_string(replicas) + ", arrivals: { " +
                       kSpoken + " }, kv_tier: { tier: fast, capacity: 1 TB }");
    EXPECT_TRUE(r.serves.at(0).feasible()) << r.serves[0].infeasible;
    return hand_figure(verdict::serving_sections(r), "kv_tier_rate");
  };
  const figures::Number f = rate("tp: 4", 8);
  EXPECT_EQ(f.label, "what a replica reads of its KV tier, fast");
  EXPECT_NEAR(f.estimate.value, 40e9 / 8, 1);
  expect_ends(f, 0.3, 0.3);
  EXPECT_EQ(f.formula, "all replicas at once; what it brings back, only a run sees");
  const review::Review plain = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 }]\nworkloads: [{ serve: "
      "{ name: s, network: { forward: 50 GFLOP, params: 25M }, replicas: 2, request_size: 1 MB, "
      "arrivals: { rate: 5 /s, peak: 2 } } }]\n");
  const auto sections = verdict::serving_sections(plain);
  EXPECT_EQ(hand_figure(sections, "kv_tier_rate").id, "");
  EXPECT_EQ(hand_figure(sections, "ttft").id, "") << "no tokens";
  EXPECT_EQ(hand_figure(sections, "load_time").id, "") << "nor weights to load";
  EXPECT_EQ(hand_figure(sections, "replica_capacity").formula, "");
  EXPECT_EQ(sections.at(0).limit, "matrix work");
  EXPECT_EQ(sections[0].summary.find("plain network on "), 0U);
  EXPECT_NEAR(hand_figure(sections, "inbound").estimate.value, 10e6, 1e-3);
  EXPECT_EQ(hand_figure(sections, "inbound").formula, "1 MB x 10 /s");
}

// Host memory is read by as many links as the replica has, in stages and splits alike.
TEST(ServingSectionEdges, OfHostMemoryAsAKvTier) {
  const auto rate = [](const std::string& split) {
    const review::Review r = spoken_service(split + ", replicas: 2, arrivals: { " + kSpoken +
                                            " }, kv_tier: { tier: host, capacity: 100 GB }");
    EXPECT_TRUE(r.serves.at(0).feasible()) << r.serves[0].infeasible;
    return hand_figure(verdict::serving_sections(r), "kv_tier_rate").estimate.value;
  };
  const double one = rate("tp: 1");
  EXPECT_GT(one, 0);
  EXPECT_NEAR(rate("tp: 2") / one, 2, 1e-9);
  EXPECT_NEAR(rate("tp: 2, pp: 2") / one, 4, 1e-9) << "four accelerators in two stages";
}

TEST(ServingSectionEdges, OnHostsAndSlices) {
  const review::Review cores =
      spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken + " }", "cpu-2s-server");
  ASSERT_TRUE(cores.serves.at(0).feasible()) << cores.serves[0].infeasible;
  const auto sections = verdict::serving_sections(cores);
  EXPECT_EQ(hand_figure(sections, "accelerators").label, "accelerators used, hosts");
  EXPECT_NE(sections.at(0).summary.find(", 1 host a replica, "), std::string::npos)
      << sections[0].summary;
  const review::Review sliced =
      spoken_service("replicas: 4, arrivals: { " + kSpoken + " }", "dgx-h100, mig: { 3g.40gb: 2 }");
  ASSERT_TRUE(sliced.serves.at(0).feasible()) << sliced.serves[0].infeasible;
  const auto slices = verdict::serving_sections(sliced);
  EXPECT_NE(slices.at(0).summary.find(", a slice of 3g.40gb a replica, "), std::string::npos)
      << slices[0].summary;
  EXPECT_EQ(hand_figure(slices, "accelerators").label, "accelerators used");
  EXPECT_EQ(hand_figure(slices, "accelerators").formula, "4 replicas, 2 on each, of 64 there");
}

TEST(ServingSectionEdges, WhatBindsAReplica) {
  review::Review r = spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken + " }");
  using enum serving::ServingBound;
  r.serves.at(0).bound = none;
  EXPECT_EQ(verdict::serving_sections(r).at(0).limit, "the latency objective");
  for (const auto bound : {sequences, kv_cache}) {
    r.serves[0].bound = bound;
    EXPECT_EQ(verdict::serving_sections(r).at(0).limit, to_text(bound));
  }
}

// 0.12345 of the answers go on: all numbers to three digits, replicas to four.
TEST(ServingSectionEdges, OfACascadeToTheDigit) {
  review::Review r = spoken_service(
      "tp: 1, replicas: 4, quality: 0.71234, quality_source: ours, arrivals: { " + kSpoken +
          " }, escalate: { service: big, share: 0.12345 }",
      "dgx-h100",
      "  - serve: { name: big, model: llama-3-8b, tp: 1, replicas: 4, quality: 0.91234, arrivals: "
      "{ rate: 0 /s, input_tokens: 800, output_tokens: 100 } }\n");
  review::ServeView& v = r.serves.at(0);
  review::ServeView& large = r.serves.at(1);
  v.answer = seconds(1.5);
  large.answer = seconds(4);
  v.error = 0.2;
  // A cent a second for each accelerator: 1.2345 and 12.345 cents an answer here and there.
  r.cost.annual = usd(0.01 * 31536000);
  r.cost.accelerators = 1;
  v.devices = 1.2345;
  v.rate = PerSecond(1);
  large.devices = 12.345;
  large.rate = PerSecond(1);
  v.peak = PerSecond(9876.5 * 0.8);
  large.capacity_per_replica = PerSecond(0.5);
  large.devices_per_replica = 1;
  const auto sections = verdict::serving_sections(r);
  EXPECT_EQ(hand_figure(sections, "quality").formula,
            "0.877 x 0.712 + 0.123 x 0.912 of 'big', were those that go on like the others; at "
            "best they are those that were wrong. 'big' alone: 0.912");
  const Estimate quality = hand_figure(sections, "quality").estimate;
  EXPECT_NEAR(quality.value, 0.87655 * 0.71234 + 0.12345 * 0.91234, 1e-12);
  EXPECT_NEAR(quality.high, 0.71234 + 0.12345 * 0.91234, 1e-12);
  EXPECT_EQ(quality.low, quality.value);
  EXPECT_EQ(quality.reference, "ours");
  EXPECT_EQ(quality.basis, Basis::given);
  EXPECT_EQ(hand_figure(sections, "answer_time").formula, "1.5 s + 0.123 x 4 s of 'big'");
  expect_ends(hand_figure(sections, "answer_time"), 0.24, 0.24);
  EXPECT_NEAR(hand_figure(sections, "answer_time").estimate.value, 1.5 + 0.12345 * 4, 1e-12);
  EXPECT_EQ(hand_figure(sections, "usd_per_kanswer").formula,
            "12.3 USD here and 0.123 of 123 USD of 'big'");
  EXPECT_NEAR(hand_figure(sections, "usd_per_kanswer").estimate.value, 12.345 + 0.12345 * 123.45,
              1e-9);
  expect_ends(hand_figure(sections, "usd_per_kanswer"), 0.35, 0.45);
  const figures::Number alone = hand_figure(sections, "usd_per_kanswer_alone");
  // 7,901.2 a second of which a replica carries 0.4: 19,753.
  EXPECT_EQ(alone.formula, "19750 replicas for this service's peak");
  EXPECT_NEAR(alone.estimate.value, 19753 * 10.0, 1e-6);
  expect_ends(alone, 0.35, 0.45);
  EXPECT_EQ(alone.label, "cost of a thousand answers of the larger model alone, big");
}

TEST(ServingSectionEdges, AQualityOfItsOwn) {
  const auto quality = [](const std::string& said) {
    const review::Review r =
        spoken_service("tp: 1, replicas: 4, " + said + "arrivals: { " + kSpoken + " }");
    return hand_figure(verdict::serving_sections(r), "quality");
  };
  const figures::Number told = quality("quality: 0.7, quality_source: a test, ");
  EXPECT_EQ(told.estimate.value, 0.7);
  EXPECT_EQ(told.estimate.low, 0.7);
  EXPECT_EQ(told.estimate.high, 0.7);
  EXPECT_EQ(told.formula, "a test");
  EXPECT_EQ(told.estimate.reference, "a test");
  EXPECT_EQ(told.estimate.basis, Basis::given);
  const figures::Number bare = quality("quality: 0.7, ");
  EXPECT_EQ(bare.estimate.reference, "the design, without a source");
  EXPECT_EQ(bare.estimate.basis, Basis::assumed);
}

// Two zones take the users; each is named, to three and four digits, and their bytes add up.
TEST(ServingSectionEdges, UsersThatGoToTwoZones) {
  review::Review r = review::lab_review("chatbot-zones");
  review::ServeView& v = r.serves[0];
  v.error = 0.2;
  review::FailoverTo to = v.failover->to.at(0);
  to.zone = 1;
  to.rate = PerSecond(12.3456);
  to.replicas_needed = 9.87654;
  to.replicas = 11.23456;
  to.line = gbytes_per_s(1);
  to.load = 0.5;
  to.ttft_p99 = milliseconds(300);
  to.latency_p99 = seconds(3);
  review::FailoverTo other = to;
  other.zone = 2;
  other.rate = PerSecond(7);
  other.line = gbytes_per_s(2);
  other.load = 0.75;
  other.ttft_p99 = milliseconds(400);
  v.failover->to = {to, other};
  const auto sections = verdict::serving_sections(r);
  EXPECT_EQ(hand_figure(sections, "failover_served").formula,
            "us-west: 12.3 a second, 9.877 replicas needed of 11.23; europe: 7 a second, 9.877 "
            "replicas needed of 11.23");
  EXPECT_NEAR(hand_figure(sections, "failover_bytes").estimate.value, 3e9, 1);
  expect_ends(hand_figure(sections, "failover_bytes"), 0.3, 0.3);
  EXPECT_EQ(hand_figure(sections, "failover_load").estimate.value, 0.75);
  expect_ends(hand_figure(sections, "failover_load"), 0.2, 0.2);
  EXPECT_EQ(hand_figure(sections, "failover_ttft_p99").estimate.value, 0.4);
}

// Weights that come slowly: 16 GB at 1 GB/s, a fifth less or twice as long.
TEST(ServingSectionEdges, WeightsOfAReplica) {
  const review::Review kept =
      spoken_service("tp: 1, replicas: 4, weights_tier: fast, arrivals: { " + kSpoken + " }");
  const figures::Number f = hand_figure(verdict::serving_sections(kept), "load_time");
  EXPECT_EQ(f.label, "time to load a replica's weights, from fast");
  expect_ends(f, 0.2, 1);
  review::Review r = kept;
  auto m = std::make_shared<machine::Machine>(*r.machine);
  m->tiers[design::TierIndex(0)].read = BytesPerSecond();
  r.machine = m;
  EXPECT_EQ(hand_figure(verdict::serving_sections(r), "load_time").id, "") << "nothing is read";
}

TEST(ServingSectionEdges, WithoutMoneyNoPriceOfATokenIsSaid) {
  review::Review r = spoken_service("tp: 1, replicas: 4, arrivals: { " + kSpoken + " }");
  r.cost.accelerators = 0;
  EXPECT_EQ(hand_figure(verdict::serving_sections(r), "usd_per_mtoken").id, "");
  r.cost.accelerators = 1;
  EXPECT_EQ(hand_figure(verdict::serving_sections(r), "usd_per_mtoken").id, "usd_per_mtoken");
}

}  // namespace
}  // namespace orrery::verdict
