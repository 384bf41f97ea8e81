#include "machine/serve_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "machine/known_fixture.h"

namespace orrery::machine {
namespace {

design::Design read(const std::string& workloads) {
  const auto d = design::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\n"
      "fleet: [{ name: f, node: dgx-h100, count: 4 }]\n"
      "storage:\n"
      "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
      "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
      "workloads:\n" +
          workloads,
      known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return d.value();
}

const design::Serve& serve_of(const design::Design& d, std::size_t i) {
  return std::get<design::Serve>(d.workloads[i].task);
}

// Half of 10 a second reaches the first; a fifth of that goes on, and half of what the second has.
TEST(ServeJob, StreamsFollowTheChain) {
  const design::Design d = read(
      "  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 10 /s, peak: 3, cache_hits: "
      "0.5 }, escalate: { service: m, share: 0.2 } }\n"
      "  - serve: { name: m, model: llama-3-8b, arrivals: { rate: 2 /s, peak: 1.5 }, "
      "escalate: { service: l, share: 0.5 } }\n"
      "  - serve: { name: l, model: llama-3-8b, arrivals: { rate: 0 /s } }\n");
  const auto first = streams_into(d, d.workloads[0]);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_DOUBLE_EQ(first[0].rate.base(), 5);
  const auto last = streams_into(d, d.workloads[2]);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_DOUBLE_EQ(last[0].rate.base(), 1);
  EXPECT_DOUBLE_EQ(last[0].peak, 1.5);
  EXPECT_DOUBLE_EQ(last[1].rate.base(), 5 * 0.2 * 0.5);
  EXPECT_DOUBLE_EQ(last[1].peak, 3);
  const auto day = day_of_streams(last, 0.5);
  EXPECT_NEAR(day[15], 0.5 * (1 * 1.5 + 0.5 * 3), 1e-9);
}

TEST(ServeJob, ATaskLeavesItsTokensWhatToolsLeave) {
  const design::Design d = read(
      "  - serve: { name: s, model: llama-3-8b, objective: { task_p99: 20 s }, arrivals: { "
      "rate: 1 /s, input_tokens: 1000, output_tokens: 100, agent: { calls: 5, tool_time: 2 s, "
      "tool_tokens: 200 } } }\n");
  // (20 s - 4 x 2 s) / (5 x 100)
  EXPECT_NEAR(target_of(serve_of(d, 0), 100).tpot_p99.base(), 0.024, 1e-12);
  const Machine m = build_machine(d, known());
  const serving::RequestShape r = request_of(m, serve_of(d, 0));
  // New: (1,000 + 4 x 200) / 5; before: (1,100 + 1,400 + 1,700 + 2,000) / 5.
  EXPECT_NEAR(r.input, 360 + 1240, 1e-9);
  EXPECT_NEAR(r.cached_share, 1240.0 / 1600, 1e-9);
}

TEST(ServeJob, AReplicaRunsNoMoreThanItsBatch) {
  const design::Design d =
      read("  - serve: { name: s, model: llama-3-8b, max_batch: 12, arrivals: { rate: 1 /s } }\n");
  const Machine m = build_machine(d, known());
  const serving::RequestShape r = request_of(m, serve_of(d, 0));
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  const ServingQuery q = serving_query(m.models(), serve_of(d, 0), *model, m.fleets[0], r);
  ASSERT_TRUE(q.limits);
  EXPECT_EQ(q.limits->max_sequences, 12);
  EXPECT_TRUE(q.limits->chunked_prefill);
  const auto replica = replica_of(m.models(), q);
  ASSERT_TRUE(replica);
  EXPECT_EQ(most_running(*replica, r), 12);
}

// Requests over what a replica answers; a tenth of a loss expected in a piece: (e^0.1 - 1) / 0.1.
TEST(ServeJob, RequestsOfABatchAreAcceleratorHours) {
  const design::Design d = read(
      "  - batch: { name: b, tasks: 3, inference: { model: llama-3-8b, tp: 2, requests: 720000, "
      "input_tokens: 800, output_tokens: 100 } }\n");
  const Machine m = build_machine(d, known());
  const BatchWork w =
      accelerator_work(m, std::get<design::Batch>(d.workloads[0].task), m.fleets[0]);
  ASSERT_EQ(w.infeasible, "");
  EXPECT_EQ(w.devices, 2);
  EXPECT_EQ(w.tasks, 6);
  EXPECT_NEAR(w.accelerator_hours, 720000 / w.rate.base() * 2 / 3600, 1e-9);
  EXPECT_NEAR(work_again(hours(1), 0.1 / hours(1)), 1.0517, 1e-4);
  EXPECT_EQ(work_again(hours(1), PerSecond(0)), 1);
}

// 32 drives; a read takes longer the less of the tier is free.
TEST(ServeJob, AnIndexIsReadAsFastAsItsTierAllows) {
  const auto text = [](double rate) {
    return "  - serve: { name: s, model: llama-3-8b, arrivals: { rate: " + std::to_string(rate) +
           " /s, peak: 2, input_tokens: 500, output_tokens: 100 }, retrieval: { tier: fast, index: "
           "2 TB, reads: 40, hops: 4, read_size: 4 KiB, tokens: 1500 } }\n";
  };
  const design::Design calm = read(text(1));
  const Machine m = build_machine(calm, known());
  const auto ask = retrieval_of(m, serve_of(calm, 0), m.fleets[0]);
  ASSERT_TRUE(ask);
  EXPECT_DOUBLE_EQ(ask->asked.base(), 80);
  EXPECT_DOUBLE_EQ(ask->law.reads, 10);
  EXPECT_EQ(ask->law.hops, 4);
  const Tier& tier = m.tiers.front();
  EXPECT_NEAR(ask->law.median / (tier.latency.total / (1 - ask->load())), 1, 1e-9);
  EXPECT_NEAR(ask->law.p99 / ask->law.median, 4, 1e-9);
  const double drives =
      *m.catalog().storage_device("tlc-gen4")->random_read_iops * 32 * options_of(tier).delivered;
  EXPECT_NEAR(ask->gives.base(), std::min(drives, 40e9 / 4096), 1);

  const double half = ask->gives.base() / 80 / 2;  // requests a second that take half of it
  const design::Design busy = read(text(half));
  const Machine b = build_machine(busy, known());
  const auto slow = retrieval_of(b, serve_of(busy, 0), b.fleets[0]);
  EXPECT_NEAR(slow->law.median / tier.latency.total, 2, 1e-3);

  serving::RequestShape r = request_of(m, serve_of(calm, 0));
  EXPECT_DOUBLE_EQ(r.input, 2000);
  add_retrieval(r, m, serve_of(calm, 0), m.fleets[0]);
  EXPECT_EQ(r.before.base(), serving::retrieval_mean(ask->law).base());
  EXPECT_GT(r.before_p99, r.before);
}

}  // namespace
}  // namespace orrery::machine
