#include <gtest/gtest.h>

#include <algorithm>

#include "model/design_text/read_design.h"
#include "model/jobs/arrivals.h"
#include "model/jobs/autoscale.h"
#include "model/jobs/batch_work.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/failover_ways.h"
#include "model/jobs/kv_room.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/retrieval.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

design::Design read(const std::string& workloads) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\n"
      "fleet: [{ name: f, node: dgx-h100, count: 4 }]\n"
      "storage:\n"
      "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
      "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
      "workloads:\n" +
          workloads,
      machine::known().catalog());
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
  const machine::Machine m = build_machine(d, machine::known());
  const serving::RequestShape r = request_of(m, serve_of(d, 0));
  // New: (1,000 + 4 x 200) / 5; before: (1,100 + 1,400 + 1,700 + 2,000) / 5.
  EXPECT_NEAR(r.input, 360 + 1240, 1e-9);
  EXPECT_NEAR(r.cached_share, 1240.0 / 1600, 1e-9);
}

TEST(ServeJob, AReplicaRunsNoMoreThanItsBatch) {
  const design::Design d =
      read("  - serve: { name: s, model: llama-3-8b, max_batch: 12, arrivals: { rate: 1 /s } }\n");
  const machine::Machine m = build_machine(d, machine::known());
  const serving::RequestShape r = request_of(m, serve_of(d, 0));
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  const ServingQuery q =
      serving_query(m.models(), serve_of(d, 0), *model, m.fleets[design::FleetIndex(0)], r);
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
  const machine::Machine m = build_machine(d, machine::known());
  const jobs::BatchWork w = accelerator_work(m, std::get<design::Batch>(d.workloads[0].task),
                                             m.fleets[design::FleetIndex(0)]);
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
  const machine::Machine m = build_machine(calm, machine::known());
  const auto ask = retrieval_of(m, serve_of(calm, 0), m.fleets[design::FleetIndex(0)]);
  ASSERT_TRUE(ask);
  EXPECT_DOUBLE_EQ(ask->asked.base(), 80);
  EXPECT_DOUBLE_EQ(ask->law.reads, 10);
  EXPECT_EQ(ask->law.hops, 4);
  const machine::Tier& tier = m.tiers.front();
  EXPECT_NEAR(ask->law.median / (tier.latency.total / (1 - ask->load())), 1, 1e-9);
  EXPECT_NEAR(ask->law.p99 / ask->law.median, 4, 1e-9);
  const double drives =
      *m.catalog().storage_device("tlc-gen4")->random_read_iops * 32 * options_of(tier).delivered;
  EXPECT_NEAR(ask->gives.base(), std::min(drives, 40e9 / 4096), 1);

  const double half = ask->gives.base() / 80 / 2;  // requests a second that take half of it
  const design::Design busy = read(text(half));
  const machine::Machine b = build_machine(busy, machine::known());
  const auto slow = retrieval_of(b, serve_of(busy, 0), b.fleets[design::FleetIndex(0)]);
  EXPECT_NEAR(slow->law.median / tier.latency.total, 2, 1e-3);

  serving::RequestShape r = request_of(m, serve_of(calm, 0));
  EXPECT_DOUBLE_EQ(r.input, 2000);
  add_retrieval(r, m, serve_of(calm, 0), m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(r.before.base(), traffic::retrieval_mean(ask->law).base());
  EXPECT_GT(r.before_p99, r.before);
}

// Ten a second in the mean, thirty in the fifteenth hour, the same an hour before and after it.
TEST(ServeJob, ADayHasItsMeanItsPeakAndItsHour) {
  const auto day = day_of_requests(10, 3);
  double sum = 0;
  for (const double hour : day) sum += hour;
  EXPECT_NEAR(sum / 24, 10, 1e-9);
  EXPECT_NEAR(day[15], 30, 1e-6);
  EXPECT_EQ(std::ranges::max_element(day) - day.begin(), 15);
  EXPECT_EQ(std::ranges::min_element(day) - day.begin(), 3);
  EXPECT_NEAR(day[14], day[16], 1e-9);
  EXPECT_NEAR(day[9], day[21], 1e-9);
  for (const double hour : day_of_requests(10, 1)) EXPECT_DOUBLE_EQ(hour, 10);
}

TEST(ServeJob, AnAutoscalerCallsWholeReplicasWithinItsBounds) {
  const design::Autoscale scale{.min = 2, .max = 6};
  EXPECT_EQ(replicas_called(scale, 25, 10), 3);
  EXPECT_EQ(replicas_called(scale, 30, 10), 3);
  EXPECT_EQ(replicas_called(scale, 30.1, 10), 4);
  EXPECT_EQ(replicas_called(scale, 0, 10), 2);
  EXPECT_EQ(replicas_called(scale, 1000, 10), 6);
}

// 0.1 x 3 a second is three replicas of 0.1, whatever doubles make of it.
TEST(ServeJob, ARateThatIsJustCarriedCallsNoReplicaMore) {
  EXPECT_EQ(replicas_called({.min = 1, .max = 9}, 0.1 + 0.2, 0.1), 3);
}

// In flight are those that decode and those that wait for their first token; what is looked up
// before is at no replica.
TEST(ServeJob, TheRateAtATargetHasTheTargetInFlight) {
  const design::Design d = read(
      "  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 1 /s, input_tokens: 2000, "
      "output_tokens: 200 } }\n");
  const machine::Machine m = build_machine(d, machine::known());
  serving::RequestShape r = request_of(m, serve_of(d, 0));
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  const ServingQuery q =
      serving_query(m.models(), serve_of(d, 0), *model, m.fleets[design::FleetIndex(0)], r);
  const auto replica = replica_of(m.models(), q);
  ASSERT_TRUE(replica);
  const machine::Costs costs = serving_costs(m.models(), q);
  const auto source = serving_source(costs);
  const PerSecond rate = rate_in_flight(*replica, r, 16, source);
  double least = 16, most = 0;
  for (const double decoding : {4.0, 8.0, 12.0, 15.9}) {
    const auto p = steady_arrivals(*replica, r, decoding, source);
    if (p.requests <= rate) most = std::max(most, decoding + p.requests * p.ttft);
    if (p.requests > rate) least = std::min(least, decoding + p.requests * p.ttft);
  }
  EXPECT_LE(most, 16);
  EXPECT_GE(least, 16);
  r.before = seconds(30);
  EXPECT_NEAR(rate_in_flight(*replica, r, 16, source) / rate, 1, 1e-6);
}

// A mix has its medians and its tails; what a design gives is given, and has none.
TEST(ServeJob, LengthsAreOfTheMixOrAsGiven) {
  const design::Design d = read(
      "  - serve: { name: a, model: llama-3-8b, arrivals: { rate: 1 /s, trace: code } }\n"
      "  - serve: { name: b, model: llama-3-8b, arrivals: { rate: 1 /s, trace: code, "
      "output_tokens: 50 } }\n"
      "  - serve: { name: c, model: llama-3-8b, prefix_cache: false, arrivals: { rate: 1 /s, "
      "input_tokens: 600, output_tokens: 50, shared_prefix: 0.5 } }\n"
      "  - serve: { name: e, model: llama-3-8b, arrivals: { rate: 1 /s, input_tokens: 600, "
      "output_tokens: 50, shared_prefix: 0.5 }, retrieval: { tier: fast, index: 1 TB, reads: 4, "
      "tokens: 400 } }\n");
  EXPECT_EQ(lengths_of(serve_of(d, 0)).prompt.length, 1469);
  EXPECT_EQ(lengths_of(serve_of(d, 0)).prompt.p99, 7436);
  EXPECT_EQ(lengths_of(serve_of(d, 0)).output.p99, 251);
  EXPECT_EQ(lengths_of(serve_of(d, 1)).prompt.p99, 7436);
  EXPECT_EQ(lengths_of(serve_of(d, 1)).output.length, 50);
  EXPECT_EQ(lengths_of(serve_of(d, 1)).output.p99, 0);
  const machine::Machine m = build_machine(d, machine::known());
  const serving::RequestShape mixed = request_of(m, serve_of(d, 0));
  EXPECT_EQ(mixed.input_p99, 7436);
  EXPECT_GT(mixed.input, 1469) << "the mean of a log-normal is above its median";
  EXPECT_EQ(request_of(m, serve_of(d, 2)).cached_share, 0) << "nothing is kept";
  const serving::RequestShape looked = request_of(m, serve_of(d, 3));
  EXPECT_EQ(looked.input, 1000);
  EXPECT_DOUBLE_EQ(looked.cached_share, 0.5 * 0.6) << "of its own part";
}

TEST(ServeJob, BoundsOnWholesBoundTheirTokens) {
  design::Serve s;
  s.objective.tpot_p99 = milliseconds(50);
  EXPECT_EQ(target_of(s, 100).tpot_p99, milliseconds(50));
  s.objective.latency_p99 = seconds(10);
  EXPECT_EQ(target_of(s, 100).tpot_p99, milliseconds(50));
  EXPECT_EQ(target_of(s, 400).tpot_p99, milliseconds(25));
  s.objective.tpot_p99.reset();
  EXPECT_EQ(target_of(s, 100).tpot_p99, milliseconds(100));
  EXPECT_EQ(target_of(s, 0).tpot_p99, seconds(10));
  EXPECT_EQ(target_of(s, 100).ttft_p99, Seconds(0));
  EXPECT_EQ(farthest_failover(s), seconds(10));
  s.objective.ttft_p99 = seconds(2);
  EXPECT_EQ(farthest_failover(s), seconds(2));
  s.objective.latency_p99 = seconds(1);
  EXPECT_EQ(farthest_failover(s), seconds(1));
  EXPECT_EQ(request_bytes(s, {.input = 500}), Bytes(2000));
  s.request_size = Bytes(7);
  EXPECT_EQ(request_bytes(s, {.input = 500}), Bytes(7));
}

// 5.9 GB/s a device's process, up to what the tier reads; a start is the weights' time and the
// rest; a time that the design gives is taken as it is.
TEST(ServeJob, AReplicaStartsWhenItsWeightsAreThere) {
  const std::string text =
      "  - serve: { name: s, model: llama-3-8b, tp: 2, arrivals: { rate: 1 /s }, kv_tier: { tier: "
      "fast, capacity: 1 TB }, autoscale: { min: 1, max: 4, target: 8, image: 40 s } }\n"
      "  - serve: { name: t, model: llama-3-8b, tp: 2, arrivals: { rate: 1 /s } }\n";
  const design::Design d = read(text);
  const machine::Machine m = build_machine(d, machine::known());
  const machine::Fleet& fleet = m.fleets[design::FleetIndex(0)];
  const machine::Tier* tier = weights_tier(m, serve_of(d, 1), fleet);
  ASSERT_NE(tier, nullptr);
  EXPECT_EQ(tier->label, "fast");
  EXPECT_NEAR(weights_rate(m, *tier, fleet, 2).base(), 2 * 5.9e9, 1);
  EXPECT_LE(weights_rate(m, *tier, fleet, 8).base(), 40e9);
  machine::Tier direct = *tier;
  direct.gpu_path = storage::GpuPath::direct;
  EXPECT_GT(weights_rate(m, direct, fleet, 1).base(), 5.9e9) << "past the host's memory";
  const Seconds one = replica_start(m, serve_of(d, 1), fleet, 1);
  const Seconds two = replica_start(m, serve_of(d, 1), fleet, 2);
  // 8.03e9 parameters of two bytes: 2.72 s by one process, half of it by two.
  EXPECT_NEAR((one - two).base(), 8.03e9 * 2 / 5.9e9 / 2, 0.01);
  EXPECT_NEAR((replica_start(m, serve_of(d, 0), fleet, 2) - two).base(), 40, 1e-9);
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  ServingQuery q =
      serving_query(m.models(), serve_of(d, 0), *model, fleet, request_of(m, serve_of(d, 0)));
  q.split.tp = 2;
  EXPECT_NEAR(jobs::kv_room(m, serve_of(d, 0), fleet, q, 8).rate.base(), 40e9 / 8, 1)
      << "shared by all";
  EXPECT_LE(jobs::kv_room(m, serve_of(d, 0), fleet, q, 0).rate.base(), 40e9);
  EXPECT_EQ(jobs::kv_room(m, serve_of(d, 0), fleet, q, 8).room, terabytes(1));
  EXPECT_EQ(jobs::kv_room(m, serve_of(d, 1), fleet, q, 8).room, Bytes(0));
  design::Design given = d;
  given.scheduler.recovery.restart = seconds(77);
  const machine::Machine g = build_machine(given, machine::known());
  EXPECT_EQ(replica_start(g, serve_of(given, 0), g.fleets[design::FleetIndex(0)], 2), seconds(77));
}

}  // namespace
}  // namespace orrery::jobs
