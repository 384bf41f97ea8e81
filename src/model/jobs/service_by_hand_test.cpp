// Services worked out by hand: what a request is, what is asked of a replica, of an index and of a
// batch, and small parts beside them: partitions, goals, work that waits for clean hours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/jobs/arrivals.h"
#include "model/jobs/batch_work.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/retrieval.h"
#include "model/jobs/serve_adapters.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/partitions.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {
namespace {

// A fleet of accelerators, one of hosts, a shared tier and the drives of the nodes.
machine::Machine asked_machine(const std::string& workloads, const std::string& first = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: f, node: dgx-h100, count: 4" +
          first +
          " }\n  - { name: c, node: cpu-2s-server, count: 2 }\nstorage:\n"
          "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
          "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
          "  - { name: own, tier: node-nvme, kind: local-nvme }\nworkloads:\n" +
          workloads,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return build_machine(d.value(), machine::known());
}

const design::Serve& asked_serve(const machine::Machine& m, std::size_t i = 0) {
  return std::get<design::Serve>(m.design().workloads[i].task);
}

machine::Machine plain_service(const std::string& more) {
  return asked_machine("  - serve: { name: s, model: llama-3-8b, " + more + " }\n");
}

// Three turns of 100 and 20 tokens: a turn brings on average one turn's 120 of before.
TEST(ServiceByHand, a_turn_of_a_talk_brings_what_was_said) {
  const std::string talk = "arrivals: { rate: 1 /s, turns: 3, shared_prefix: 0.3, ";
  const machine::Machine given = plain_service(talk + "input_tokens: 100, output_tokens: 20 }");
  const serving::RequestShape r = request_of(given, asked_serve(given));
  EXPECT_NEAR(r.input, 220, 1e-9);
  EXPECT_NEAR(r.output, 20, 1e-9);
  EXPECT_NEAR(r.cached_share, (0.3 * 100 / 3 + 120) / 220, 1e-12) << "the system's once a talk";
  EXPECT_EQ(r.input_p99, 0);
  const machine::Machine whole =
      plain_service("prefix_cache: false, " + talk + "input_tokens: 100, output_tokens: 20 }");
  const serving::RequestShape anew = request_of(whole, asked_serve(whole));
  EXPECT_EQ(anew.cached_share, 0);
  EXPECT_NEAR(anew.input_p99, 100 + 2 * 120, 1e-9) << "the last turn";
  const machine::Machine chat = plain_service(talk + "trace: chat, output_tokens: 20 }");
  const serving::RequestShape mixed = request_of(chat, asked_serve(chat));
  const double fresh = traffic::mean_length(lengths_of(asked_serve(chat)).prompt);
  EXPECT_NEAR(mixed.input, fresh + fresh + 20, 1e-9);
  EXPECT_NEAR(mixed.input_p99, 4142 * (2 * fresh + 20) / fresh, 1e-6);
  const machine::Machine long_chat =
      plain_service("prefix_cache: false, " + talk + "trace: chat, output_tokens: 20 }");
  EXPECT_NEAR(request_of(long_chat, asked_serve(long_chat)).input_p99, 4142 + 2 * (fresh + 20),
              1e-6);
  const machine::Machine once = plain_service("arrivals: { rate: 1 /s, input_tokens: 100 }");
  EXPECT_EQ(request_of(once, asked_serve(once)).input, 100);
}

TEST(ServiceByHand, a_task_is_its_calls_and_their_tools) {
  design::Serve serve;
  serve.arrivals.agent = design::AgentLoop{.calls = 4, .tool_time = seconds(3)};
  serving::ServingPoint p;
  p.ttft = seconds(1);
  p.tpot = milliseconds(100);
  p.whole_p99 = seconds(9);
  const traffic::TaskCase task = task_of(serve, {.input = 5, .output = 11}, p);
  EXPECT_EQ(task.calls, 4);
  EXPECT_DOUBLE_EQ(task.call.base(), 1 + 10 * 0.1);
  EXPECT_EQ(task.call_p99, seconds(9));
  EXPECT_EQ(task.tool, seconds(3));
  serve.arrivals.agent.reset();
  EXPECT_EQ(task_of(serve, {}, p).calls, 1);
}

// Tools that take longer than the task may leave a microsecond to its tokens.
TEST(ServiceByHand, targets_are_the_tightest_of_those_given) {
  design::Serve s;
  s.objective.ttft_p99 = seconds(2);
  EXPECT_EQ(target_of(s, 100).ttft_p99, seconds(2));
  EXPECT_EQ(target_of(s, 100).tpot_p99, Seconds(0)) << "no bound";
  EXPECT_EQ(target_of(s, 100).ttft_mean, Seconds(0));
  s.arrivals.agent = design::AgentLoop{.calls = 3, .tool_time = seconds(2)};
  s.objective.task_p99 = seconds(3);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 1e-6 / 300);
  s.objective.task_p99 = seconds(34);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 30.0 / 300);
  s.objective.latency_p99 = seconds(5);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 5.0 / 100) << "of a call";
  s.objective.latency_p99 = seconds(50);
  EXPECT_DOUBLE_EQ(target_of(s, 100).tpot_p99.base(), 30.0 / 300) << "of the task";
}

TEST(ServiceByHand, a_replica_is_asked_as_the_service_says) {
  const auto query = [](const std::string& more, serving::RequestShape r = {.input = 9}) {
    const machine::Machine m = plain_service("arrivals: { rate: 1 /s, trace: chat }" + more);
    return serving_query(m.models(), asked_serve(m), *m.catalog().model("llama-3-8b"),
                         m.fleets[design::FleetIndex(0)], r);
  };
  const ServingQuery plain = query("");
  EXPECT_EQ(plain.accelerator->id, "h100-sxm");
  EXPECT_EQ(plain.engine, "vllm");
  EXPECT_FALSE(plain.slice);
  EXPECT_FALSE(plain.limits);
  EXPECT_FALSE(plain.precision.weights_only);
  EXPECT_EQ(plain.precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(plain.request.input, 9);
  EXPECT_EQ(plain.split.pp, 1);
  EXPECT_EQ(plain.adapters.has_value(), false);
  const ServingQuery four = query(", precision: int4, kv_precision: fp8, pp: 2");
  EXPECT_TRUE(four.precision.weights_only);
  EXPECT_EQ(four.precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(four.precision.experts, catalog::Dtype::bf16);
  EXPECT_EQ(four.precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(four.split.pp, 2);
  const ServingQuery eight = query(", precision: fp8");
  EXPECT_FALSE(eight.precision.weights_only);
  EXPECT_EQ(eight.precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(eight.precision.experts, catalog::Dtype::fp8);
  const ServingQuery few = query(", max_batch: 5");
  ASSERT_TRUE(few.limits);
  EXPECT_EQ(few.limits->max_sequences, 5);
  EXPECT_TRUE(few.limits->chunked_prefill);
  const double budget = few.limits->token_budget;
  const ServingQuery whole = query(", chunked_prefill: false");
  ASSERT_TRUE(whole.limits);
  EXPECT_FALSE(whole.limits->chunked_prefill);
  EXPECT_EQ(whole.limits->token_budget, budget);
  EXPECT_GT(whole.limits->max_sequences, 5);
  EXPECT_EQ(query(", chunked_prefill: false", {.input = 1e6}).limits->token_budget, 1e6);
  EXPECT_EQ(query(", chunked_prefill: false", {.input = 9, .input_p99 = 2e6}).limits->token_budget,
            2e6);
  const ServingQuery adapted =
      query(", adapters: { count: 30, rank: 32, slots: 6, targets: [qkv], skew: 0.5 }");
  EXPECT_EQ(adapted.adapters->count, 30);
  EXPECT_EQ(adapted.adapters->slots, 6);
  EXPECT_EQ(adapted.adapters->rank, 32);
  EXPECT_EQ(adapted.adapters->skew, 0.5);
  EXPECT_TRUE(adapted.adapters->targets.qkv);
  EXPECT_FALSE(adapted.adapters->targets.o || adapted.adapters->targets.mlp);
}

// Reads of two services at their peaks: 3 x 2 x 10 + 5 x 1 x 4 a second.
TEST(ServiceByHand, an_index_is_read_by_all_services_of_its_tier) {
  const auto service = [](const std::string& name, const std::string& load,
                          const std::string& index) {
    return "  - serve: { name: " + name + ", model: llama-3-8b, arrivals: { " + load +
           ", trace: chat }, retrieval: { index: 1 TB, " + index + " } }\n";
  };
  const machine::Machine m = asked_machine(
      service("s", "rate: 3 /s, peak: 2", "tier: fast, reads: 10, hops: 2") +
      service("t", "rate: 5 /s", "tier: fast, reads: 4, read_size: 1 MB, read_p99: 200 ms") +
      service("u", "rate: 900 /s", "tier: own, reads: 8") +
      "  - batch: { name: b, core_hours: 3 }\n"
      "  - serve: { name: v, model: llama-3-8b, arrivals: { rate: 7 /s } }\n");
  const machine::Fleet& fleet = m.fleets[design::FleetIndex(0)];
  const auto small = retrieval_of(m, asked_serve(m, 0), fleet);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->tier->label, "fast");
  EXPECT_DOUBLE_EQ(small->asked.base(), 80);
  EXPECT_EQ(small->law.hops, 2);
  EXPECT_EQ(small->law.reads, 5);
  const BytesPerSecond rate = weights_rate(m, *small->tier, fleet, 1000);
  EXPECT_DOUBLE_EQ(small->law.sending.base(), 4096 * 5 / rate.base());
  // A megabyte is 40,000 of it a second by the tier's rate, less than 32 drives seek.
  const auto large = retrieval_of(m, asked_serve(m, 1), fleet);
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->by_rate);
  EXPECT_NEAR(large->gives.base(), 40e3, 1e-6);
  EXPECT_DOUBLE_EQ(large->load(), 80.0 / 40e3);
  const machine::Tier& tier = *large->tier;
  const double idle = tier.latency.total.base() + (1e6 - 4096) / tier.stream_rate.base();
  EXPECT_NEAR(large->law.median.base(), idle / (1 - 80.0 / 40e3), 1e-12);
  EXPECT_NEAR(large->law.p99.base(), 0.2 / (1 - 80.0 / 40e3), 1e-9) << "as the design says";
  EXPECT_NEAR(large->law.sending.base(), 1e6 * 4 / rate.base(), 1e-12);
  // Of drives in the nodes every host has its own; 7,200 reads a second of four hosts.
  const auto own = retrieval_of(m, asked_serve(m, 2), fleet);
  ASSERT_TRUE(own);
  EXPECT_DOUBLE_EQ(own->asked.base(), 7200);
  const catalog::StorageDevice* drive = device_or_usual(*own->tier, m.catalog());
  ASSERT_NE(drive, nullptr);
  const double by_rate = own->tier->read.base() / 4096 * 4;
  const double seeks = drive->random_read_iops.value_or(1e18) * own->tier->devices * 4;
  EXPECT_NEAR(own->gives.base() / std::min(by_rate, own->tier->devices > 0 ? seeks : by_rate), 1,
              1e-9);
  EXPECT_EQ(jobs::RetrievalAsk{}.load(), 1) << "of what gives nothing";
  serving::RequestShape none{.input = 1};
  const machine::Machine plain = plain_service("arrivals: { rate: 1 /s }");
  add_retrieval(none, plain, asked_serve(plain), plain.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(none.before, Seconds(0));
  EXPECT_FALSE(retrieval_of(plain, asked_serve(plain), plain.fleets[design::FleetIndex(0)]));
}

// More than it gives: as slow as at a load of 99 %. A 99th percentile below the usual is the usual.
TEST(ServiceByHand, a_tier_that_is_asked_for_too_much_is_slow) {
  const machine::Machine m = plain_service(
      "arrivals: { rate: 1e6 /s, trace: chat }, retrieval: { tier: fast, index: 1 TB, reads: 100, "
      "read_p99: 1 us }");
  const auto ask = retrieval_of(m, asked_serve(m), m.fleets[design::FleetIndex(0)]);
  ASSERT_TRUE(ask);
  EXPECT_GT(ask->load(), 1);
  EXPECT_NEAR(ask->law.median / ask->tier->latency.total, 100, 1e-6);
  EXPECT_EQ(ask->law.p99, ask->law.median);
}

TEST(ServiceByHand, work_of_a_batch_that_cannot_be_counted) {
  const machine::Machine m = plain_service("arrivals: { rate: 1 /s }");
  design::Batch batch{.accelerator_hours = 12, .tasks = 5};
  const jobs::BatchWork given = accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(given.accelerator_hours, 12);
  EXPECT_EQ(given.tasks, 5);
  EXPECT_EQ(given.devices, 1);
  EXPECT_EQ(given.rate, PerSecond(0));
  EXPECT_EQ(given.infeasible, "");
  batch.inference = design::Inference{
      .model = "llama-3-8b", .requests = 100, .input_tokens = 100, .output_tokens = 10};
  EXPECT_EQ(accelerator_work(m, batch, m.fleets[design::FleetIndex(1)]).infeasible,
            "no accelerators to run a model on");
  const jobs::BatchWork one = accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(one.infeasible, "");
  EXPECT_EQ(one.devices, 1) << "the least that fits";
  EXPECT_EQ(one.tasks, 5);
  EXPECT_DOUBLE_EQ(one.accelerator_hours, 100 / one.rate.base() / 3600);
  batch.inference->model = "nothing";
  EXPECT_EQ(accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]).infeasible,
            "no accelerators to run a model on");
  batch.inference->model = "llama-3-8b";
  const machine::Machine cut =
      asked_machine("  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 1 /s } }\n");
  machine::Fleet sliced = cut.fleets[design::FleetIndex(0)];
  sliced.slices.resize(2);
  EXPECT_EQ(accelerator_work(cut, batch, sliced).infeasible,
            "its accelerators are cut into slices of several sizes");
  const machine::Machine halves =
      asked_machine("  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 1 /s } }\n",
                    ", mig: { 3g.40gb: 2 }");
  EXPECT_EQ(accelerator_work(halves, batch, halves.fleets[design::FleetIndex(0)]).infeasible, "")
      << "of one size";
  batch.inference->model = "llama-3-405b";
  batch.inference->tp = 1;
  EXPECT_NE(accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]).infeasible, "");
  EXPECT_EQ(accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]).accelerator_hours, 12)
      << "as given";
}

// All rates are those of hour h of a day: exp(k (cos(2 pi (h - 15) / 24) - 1)), whatever k is. Six
// hours from the peak the cosine is 0 and twelve hours -1: equal ratios.
TEST(ServiceByHand, a_day_has_one_shape) {
  const auto day = day_of_requests(10, 3);
  EXPECT_NEAR(day[15] / day[9], day[9] / day[3], 1e-9);
  EXPECT_NEAR(day[15] / day[11], std::sqrt(day[15] / day[9]), 1e-9) << "cos 60 degrees is a half";
  EXPECT_NEAR(day[15], 30, 1e-9);
  EXPECT_NEAR(day_of_requests(1, 20)[15], 20, 1e-6);
  for (const double hour : day_of_requests(4, 0.5)) EXPECT_DOUBLE_EQ(hour, 4);
  const auto two = day_of_streams({{PerSecond(10), 3}, {PerSecond(5), 1}}, 0.5);
  EXPECT_NEAR(two[15], 15 + 2.5, 1e-9);
  EXPECT_NEAR(two[3], day[3] / 2 + 2.5, 1e-9);
}

TEST(SmallWays, of_partitions) {
  const design::SchedulerPartition one{.name = "same", .nodes = 1}, two{.name = "same"};
  design::Workload work;
  work.terms.partition = "same";
  EXPECT_EQ(machine::partition_of({{.partition = &one}, {.partition = &two}}, work), 0U)
      << "the first";
  design::Design d;
  d.fleet.push_back({.name = "none", .node = "dgx-h100", .count = 0});
  d.scheduler.kind = design::SchedulerKind::slurm;
  d.scheduler.partitions = {one, two};
  const auto fleets = machine::build_fleets(d, machine::known().catalog());
  const auto parts = partitions_of(d, fleets, fleets[design::FleetIndex(0)]);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].hosts, 0) << "a fleet of no nodes";
  EXPECT_EQ(parts[1].hosts, 0);
}

// Two hours of 10 and 30 g/J; work waits where it says so, and something is known of the hours.
TEST(SmallWays, of_work_that_waits_for_clean_hours) {
  machine::Machine m = plain_service("arrivals: { rate: 1 /s }");
  const catalog::SiteHours hours_known{
      .carbon = {GramsPerJoule(10), GramsPerJoule(30)}, .pue = {}, .dry_c = {}};
  const catalog::SiteHours nothing;
  const design::CleanHours rule{.below = GramsPerJoule(12), .wait = hours(5)};
  design::Workload batch;
  batch.task = design::Batch{.clean_hours = rule};
  EXPECT_FALSE(clean_work(m, batch)) << "nothing is known of the hours";
  m.sites[design::SiteIndex(0)].hours = &nothing;
  EXPECT_FALSE(clean_work(m, batch));
  m.sites[design::SiteIndex(0)].hours = &hours_known;
  const auto waits = clean_work(m, batch);
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->rule.below, GramsPerJoule(12));
  EXPECT_EQ(waits->rule.wait, hours(5));
  EXPECT_DOUBLE_EQ(waits->grid.mean().base(), 20);
  design::Workload jobs;
  jobs.task = design::Jobs{.clean_hours = rule};
  EXPECT_TRUE(clean_work(m, jobs));
  jobs.task = design::Jobs{};
  EXPECT_FALSE(clean_work(m, jobs));
  batch.task = design::Batch{};
  EXPECT_FALSE(clean_work(m, batch));
  EXPECT_FALSE(clean_work(m, m.design().workloads[0])) << "a service waits for nothing";
  batch.task = design::Batch{.clean_hours = rule};
  batch.terms.fleet = "nowhere";
  EXPECT_FALSE(clean_work(m, batch));
}

}  // namespace
}  // namespace orrery::jobs
