// Parts of serving by hand: how wide an interval is and why, what is refused, what slices, tiers
// and lines leave to a replica, what choices come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/jobs/apart_size.h"
#include "model/jobs/arrivals.h"
#include "model/jobs/autoscale.h"
#include "model/jobs/batch_work.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/conversations.h"
#include "model/jobs/failover_ways.h"
#include "model/jobs/kv_room.h"
#include "model/jobs/plain_network.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/predict_sessions.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_choices.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const catalog::ModelShape& model_named(const char* id) {
  return *machine::known().catalog().model(id);
}

ServingQuery query_on(const char* model, const char* accelerator = "h100-sxm") {
  return {.model = model_named(model),
          .accelerator = machine::known().catalog().accelerator(accelerator),
          .request = {.input = 1000, .output = 200}};
}

double error_of(const ServingQuery& q) {
  compute::DeviceModel device;
  device.borrowed_error = 0;
  return serving_error(device, q);
}

// Sizes whose rows the fit had: 32 x 4096 and 80 x 8192 dense; 94, 60 x 4096 and 61 x 7168 experts.
TEST(ServingErrors, are_narrow_where_rows_were_fitted) {
  const auto sized = [](int layers, double hidden, int experts) {
    ServingQuery q = query_on("llama-3-8b");
    q.model.layers = layers, q.model.hidden = hidden, q.model.experts = experts;
    return error_of(q);
  };
  EXPECT_NEAR(sized(32, 4096, 0), 0.12, 1e-12);
  EXPECT_NEAR(sized(80, 8192, 0), 0.12, 1e-12);
  EXPECT_NEAR(sized(94, 4096, 8), 0.24, 1e-12);
  EXPECT_NEAR(sized(60, 4096, 8), 0.24, 1e-12);
  EXPECT_NEAR(sized(61, 7168, 8), 0.24, 1e-12);
  EXPECT_NEAR(sized(32, 4096, 8), 0.31, 1e-12) << "experts of a dense model's size";
  EXPECT_NEAR(sized(94, 4096, 0), 0.17, 1e-12);
  EXPECT_NEAR(sized(33, 4096, 0), 0.17, 1e-12);
  EXPECT_NEAR(sized(32, 4097, 0), 0.17, 1e-12);
  EXPECT_NEAR(sized(61, 4096, 8), 0.31, 1e-12);
}

TEST(ServingErrors, add_up_in_quadrature) {
  ServingQuery q = query_on("llama-3-8b");
  q.left_out = true;
  EXPECT_NEAR(error_of(q), 0.17, 1e-12);
  q.left_out = false;
  q.engine = "tensorrt-llm-0";
  q.model.layers = 5;
  EXPECT_NEAR(error_of(q), 0.12, 1e-12) << "that fit had all models of its tables";
  q.precision.weights_only = true;
  EXPECT_NEAR(error_of(q), std::hypot(0.12, 0.20), 1e-12);
  q.adapters = serving::AdapterSet{};
  EXPECT_NEAR(error_of(q), std::hypot(0.12, 0.20, 0.08), 1e-12);
  q.slice =
      machine::FleetSlice{.profile = &machine::known().catalog().mig_profiles.front(), .each = 7};
  EXPECT_NEAR(error_of(q) * error_of(q), 0.0144 + 0.04 + 0.0064 + 0.0036, 1e-12);
  compute::DeviceModel device;
  device.borrowed_error = 0.3;
  EXPECT_NEAR(serving_error(device, q) * serving_error(device, q), 0.0644 + 0.09, 1e-12);
}

// Tokens within 12 %, first tokens from 1 / 1.62 to 2.02 of what is predicted, watts within 10 %.
TEST(ServingErrors, are_the_intervals_of_a_prediction) {
  const auto p = predict_serving(machine::known(), query_on("llama-3-8b"));
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->tpot_s.high / p->tpot_s.value, 1.12, 1e-9);
  EXPECT_NEAR(p->tpot_s.value / p->tpot_s.low, 1.12, 1e-9);
  EXPECT_NEAR(p->ttft_s.high / p->ttft_s.value, 1.9 + 0.12, 1e-9);
  EXPECT_NEAR(p->ttft_s.value / p->ttft_s.low, 1.5 + 0.12, 1e-9);
  EXPECT_NEAR(p->output_tokens_per_s.high / p->output_tokens_per_s.value, 1.12, 1e-9);
  EXPECT_NEAR(p->watts.high / p->watts.value, 1.10, 1e-9);
  EXPECT_EQ(p->tpot_s.value, p->point.tpot.base());
  EXPECT_EQ(p->ttft_s.value, p->point.ttft.base());
  EXPECT_EQ(p->watts.value, p->point.power.base());
  EXPECT_EQ(p->tpot_s.basis, Basis::fitted);
  EXPECT_EQ(p->tpot_s.reference, "docs/models/serving.md");
  const auto step =
      predict_step(machine::known(), query_on("llama-3-8b"), {.decoding = 8, .context = 999});
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->seconds.high / step->seconds.value, 1.062, 1e-9);
  EXPECT_NEAR(step->watts.high / step->watts.value, 1.05, 1e-9);
  const auto offline = predict_offline(machine::known(), query_on("llama-3-8b"), 20);
  ASSERT_TRUE(offline);
  EXPECT_NEAR(offline->high / offline->value, 1 + std::hypot(0.12, 0.07), 1e-9);
  const auto apart = predict_disaggregated(
      machine::known(), {.prefill = query_on("llama-3-8b"), .decode = query_on("llama-3-8b")});
  ASSERT_TRUE(apart);
  EXPECT_NEAR(apart->tpot_s.high / apart->tpot_s.value, 1.30, 1e-9);
  EXPECT_NEAR(apart->ttft_s.high / apart->ttft_s.value, 1.9 + 0.30, 1e-9);
}

std::string refused(const ServingQuery& q) {
  const auto r = replica_of(machine::known(), q);
  return r ? "" : r.error().front().code + " | " + r.error().front().what;
}

TEST(ServingRefusals, say_what_is_wrong) {
  EXPECT_EQ(refused(query_on("llama-3-8b")), "");
  ServingQuery q = query_on("llama-3-8b");
  q.engine = "none";
  EXPECT_EQ(refused(q), "serving.engine | no engine named none");
  q = query_on("llama-3-8b");
  q.split.tp = 3;
  EXPECT_EQ(refused(q), "serving.split | 32 heads do not split over tp 3");
  q.split = {.tp = 0};
  EXPECT_THAT(refused(q), HasSubstr("serving.split"));
  for (auto field : {&serving::ServingSplit::pp, &serving::ServingSplit::ep}) {
    q.split = {};
    q.split.*field = 0;
    EXPECT_THAT(refused(q), HasSubstr("serving.split"));
  }
  q = query_on("llama-3-8b");
  q.precision.products = catalog::Dtype::fp4;
  EXPECT_EQ(refused(q), "serving.format | h100-sxm has no fp4 products");
  q = query_on("llama-3-8b");
  q.precision.experts = catalog::Dtype::fp4;
  EXPECT_EQ(refused(q), "serving.format | h100-sxm has no fp4 products");
  EXPECT_EQ(refused(query_on("llama-3-70b")),
            "serving.memory | weights of 131 GiB leave no room for a request on h100-sxm");
  q = query_on("llama-3-8b");
  q.model.state_space_layers = 4;
  q.model.gated_mlp = false;
  EXPECT_THAT(refused(q), HasSubstr("serving.state-space"));
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-8b"), 8), 1);
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-70b"), 8), 4);
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-70b"), 3), std::nullopt);
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-70b"), 4), 4);
}

TEST(ServingRefusals, of_slices_cores_and_adapters) {
  ServingQuery q = query_on("llama-3-8b");
  const catalog::MigProfile* half = nullptr;
  for (const catalog::MigProfile& p : machine::known().catalog().mig_profiles) {
    if (p.id == "h100-sxm-3g.40gb") half = &p;
  }
  ASSERT_NE(half, nullptr);
  q.slice = machine::FleetSlice{.profile = half, .each = 2};
  EXPECT_EQ(refused(q), "");
  EXPECT_EQ(q.memory(), half->memory);
  EXPECT_EQ(q.accelerators(), 0.5);
  q.split.tp = 2;
  EXPECT_EQ(refused(q), "serving.split | a replica on a slice is on one: no link joins slices");
  EXPECT_EQ(q.accelerators(), 1);
  q = query_on("deepseek-v3");
  q.adapters = serving::AdapterSet{};
  EXPECT_EQ(adapter_fault(q), "adapters beside latent attention are not modelled");
  q = query_on("mixtral-8x7b");
  q.adapters = serving::AdapterSet{.targets = {.qkv = true, .o = true, .mlp = true}};
  EXPECT_EQ(adapter_fault(q), "adapters of experts are not modelled: write `targets: [qkv, o]`");
  q.adapters->targets.mlp = false;
  EXPECT_EQ(adapter_fault(q), "");
  q.model.state_space_layers = 1;
  EXPECT_EQ(adapter_fault(q), "adapters of layers with a state are not modelled");
  q.adapters.reset();
  EXPECT_EQ(adapter_fault(q), "");
}

// Of the port a slice has its part: what a load takes beyond its start is as many times as long.
TEST(ServingRefusals, a_slice_has_a_part_of_the_port) {
  ServingQuery q = query_on("llama-3-8b");
  q.adapters = serving::AdapterSet{.count = 50, .slots = 4, .rank = 16};
  const auto load = [&](int each) {
    for (const catalog::MigProfile& p : machine::known().catalog().mig_profiles) {
      if (p.id == "h100-sxm-3g.40gb") q.slice = machine::FleetSlice{.profile = &p, .each = each};
    }
    return replica_of(machine::known(), q).value().adapters.load.base();
  };
  EXPECT_GT(load(2), load(1));
  EXPECT_NEAR((load(7) - load(1)) / (load(2) - load(1)), 6, 1e-6);
}

// Pages of one token are looked for by sixteen: 3,205 of them are 200.
TEST(Sessions, blocks_and_rates_of_a_tier) {
  engines::EnginePolicy policy;
  policy.block_tokens = 1;
  policy.blocks = 3205;
  coarsen_blocks(policy);
  EXPECT_EQ(policy.block_tokens, 16);
  EXPECT_EQ(policy.blocks, 200);
  policy.block_tokens = 15;
  policy.blocks = 32;
  coarsen_blocks(policy);
  EXPECT_EQ(policy.block_tokens, 16);
  EXPECT_EQ(policy.blocks, 30);
  coarsen_blocks(policy);
  EXPECT_EQ(policy.blocks, 30);
  policy.block_tokens = 64;
  coarsen_blocks(policy);
  EXPECT_EQ(policy.block_tokens, 64);
  ServingQuery q = query_on("llama-3-8b");
  EXPECT_NEAR(host_memory_rate(q).base(), 51.2e9, 1);
  q.split.tp = 4;
  EXPECT_NEAR(host_memory_rate(q).base(), 4 * 51.2e9, 1);
}

// Keys and values of llama-3-8b: 2 x 32 layers x 8 heads x 128 x 2 bytes = 131,072 a token.
TEST(Sessions, a_tier_holds_blocks_of_tokens) {
  const ServingQuery q = query_on("llama-3-8b");
  const auto replica = replica_of(machine::known(), q);
  ASSERT_TRUE(replica);
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const engines::KvTierLaw law = kv_tier_law(
      q, {.room = Bytes(131072.0 * 16 * 1000), .rate = gbytes_per_s(10), .first_byte = seconds(3)},
      *replica, 16, costs);
  EXPECT_EQ(law.blocks, 1000);
  EXPECT_EQ(law.first_byte, 3);
  EXPECT_NEAR(law.fetch_per_token, 131072 / 10e9, 1e-15);
  const auto prompt = predict_step(machine::known(), q, {.prompts = 1, .prompt_tokens = 1024});
  ASSERT_TRUE(prompt);
  EXPECT_NEAR(law.compute_per_token, prompt->step.total.base() / 1024, 1e-15);
  EXPECT_EQ(kv_tier_law(q, {.room = gigabytes(1)}, *replica, 16, costs).blocks, 0);
  EXPECT_EQ(kv_tier_law(q, {.rate = gbytes_per_s(1)}, *replica, 16, costs).blocks, 0);
}

machine::Machine served(const std::string& serve, const std::string& fleet = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsites:\n  - { name: one, region: usa }\n  - { name: two, region: usa }\n"
      "  - { name: six, region: deu }\nfleet:\n  - { name: f, node: dgx-h100, count: 4, site: one" +
          fleet +
          " }\n  - { name: g, node: dgx-h100, count: 4, site: two }\n  - { name: h, node: "
          "dgx-h100, "
          "count: 4, site: six }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n"
          "  wan:\n    - { between: [one, two], rate: 8 Gb/s, latency: 20 ms }\n    - { between: "
          "[one, six], rate: 4 Gb/s, latency: 90 ms }\nstorage:\n  - { name: far, tier: hot, kind: "
          "parallel-fs, site: two, read: 40 GB/s, capacity: 1 PB, first_byte: 3 ms }\n  - { name: "
          "near, tier: hot, kind: parallel-fs, site: one, read: 30 GB/s, capacity: 1 PB, "
          "first_byte: 2 ms }\nworkloads:\n  - serve: { model: llama-3-8b, " +
          serve + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << to_text(d.error());
  return build_machine(d.value(), machine::known());
}

const design::Serve& only_serve(const machine::Machine& m) {
  return std::get<design::Serve>(m.design().workloads[0].task);
}

TEST(ServeParts, a_kv_tier_is_shared_by_whoever_reads_it) {
  const auto room = [](const std::string& tier, double replicas, int tp = 2) {
    const machine::Machine m = served(
        "arrivals: { rate: 1 /s, trace: chat }, kv_tier: { tier: " + tier + ", capacity: 500 GB }");
    ServingQuery q = query_on("llama-3-8b");
    q.split.tp = tp;
    return jobs::kv_room(m, only_serve(m), m.fleets[design::FleetIndex(0)], q, replicas);
  };
  const KvRoom host = room("host", 3);
  EXPECT_EQ(host.room, gigabytes(500));
  EXPECT_NEAR(host.rate.base(), 2 * 51.2e9, 1);
  EXPECT_EQ(host.first_byte, microseconds(50));
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  const KvRoom none =
      jobs::kv_room(m, only_serve(m), m.fleets[design::FleetIndex(0)], query_on("llama-3-8b"), 1);
  EXPECT_EQ(none.room, Bytes(0));
  const KvRoom near = room("near", 10);
  EXPECT_EQ(near.rate, gbytes_per_s(3)) << "a tenth of the tier";
  EXPECT_EQ(near.first_byte, milliseconds(2));
  const KvRoom far = room("far", 0.5);
  EXPECT_EQ(far.rate, gbytes_per_s(1)) << "the line between the sites";
  EXPECT_NEAR(far.first_byte.base(), 23e-3, 1e-12);
  const machine::Tier& drives = *find_tier(m.tiers, "node-nvme");
  EXPECT_NEAR(room("node-nvme", 99).rate.base(), drives.read.base() / 4, 1) << "of four replicas";
  EXPECT_NEAR(room("node-nvme", 99, 8).rate.base(), drives.read.base(), 1);
}

TEST(ServeParts, weights_come_from_the_nearest_hot_tier) {
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  const design::Serve& s = only_serve(m);
  EXPECT_EQ(weights_tier(m, s, m.fleets[design::FleetIndex(0)])->label, "near");
  EXPECT_EQ(weights_tier(m, s, m.fleets[design::FleetIndex(1)])->label, "far");
  EXPECT_EQ(weights_tier(m, s, m.fleets[design::FleetIndex(2)])->label, "far") << "any";
  design::Serve named = s;
  named.weights_tier = "node-nvme";
  EXPECT_EQ(weights_tier(m, named, m.fleets[design::FleetIndex(0)])->label, "node-nvme");
  const machine::Tier& near = *find_tier(m.tiers, "near");
  EXPECT_NEAR(weights_rate(m, near, m.fleets[design::FleetIndex(0)], 2).base(), 2 * 5.9e9, 1);
  const BytesPerSecond wires = m.storage_wires(m.fleets[design::FleetIndex(0)]).per_node();
  EXPECT_GT(wires, BytesPerSecond(0));
  EXPECT_EQ(weights_rate(m, near, m.fleets[design::FleetIndex(0)], 99),
            min(wires, gbytes_per_s(30)));
  EXPECT_EQ(weights_rate(m, *find_tier(m.tiers, "far"), m.fleets[design::FleetIndex(0)], 99),
            gbytes_per_s(1));
}

TEST(ServeParts, ways_lead_to_other_zones_within_their_residency) {
  const auto ways = [](const std::string& more) {
    const machine::Machine m = served(
        "arrivals: { rate: 1 /s, input_tokens: 1000, output_tokens: 100 }, zones: [{ site: one, "
        "share: 0.5, failover: [six, two]" +
        more + " }, { site: two, share: 0.25 }, { site: six, share: 0.25 }]");
    return failover_ways(m, m.design().workloads[0], 0);
  };
  const auto both = ways("");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].zone, 2U);
  EXPECT_EQ(both[1].zone, 1U);
  EXPECT_EQ(both[0].path.latency, milliseconds(90));
  EXPECT_NEAR(both[0].carry.base(), 4 * 1000 / 0.5e9, 1e-15) << "four bytes a token";
  EXPECT_NEAR(both[1].carry.base(), 4 * 1000 / 1e9, 1e-15);
  EXPECT_NEAR(both[0].away().base(), 0.09 + 8e-6, 1e-12);
  const auto home = ways(", residency: usa");
  ASSERT_EQ(home.size(), 1U);
  EXPECT_EQ(home[0].zone, 1U);
  design::Serve s;
  EXPECT_EQ(request_bytes(s, {.input = 7}), Bytes(28));
  s.request_size = kilobytes(9);
  EXPECT_EQ(request_bytes(s, {.input = 7}), kilobytes(9));
  EXPECT_EQ(farthest_failover(s), Seconds(traffic::kForever));
  s.objective.ttft_p99 = seconds(2);
  EXPECT_EQ(farthest_failover(s), seconds(2));
  s.objective.latency_p99 = seconds(1);
  EXPECT_EQ(farthest_failover(s), seconds(1));
  s.objective.latency_p99 = seconds(3);
  EXPECT_EQ(farthest_failover(s), seconds(2));
}

// Lengths are lognormal: their mean is the median times exp(s^2 / 2), s = ln(p99 / median) / 2.326.
TEST(ServeParts, lengths_are_those_of_the_trace_or_given) {
  struct Row {
    const char* trace;
    double input, output, input_p99, output_p99;
  };
  for (const Row& row : {Row{"chat", 1020, 129, 4142, 601}, Row{"code", 1469, 13, 7436, 251},
                         Row{"summary", 4096, 256, 16384, 1024}}) {
    const machine::Machine m =
        served("arrivals: { rate: 1 /s, trace: " + std::string(row.trace) + " }");
    const jobs::ServeLengths l = lengths_of(only_serve(m));
    EXPECT_EQ(l.prompt.length, row.input);
    EXPECT_EQ(l.output.length, row.output);
    EXPECT_EQ(l.prompt.p99, row.input_p99);
    EXPECT_EQ(l.output.p99, row.output_p99);
    const serving::RequestShape r = request_of(m, only_serve(m));
    const auto mean = [](double median, double p99) {
      const double s = std::log(p99 / median) / 2.326;
      return median * std::exp(s * s / 2);
    };
    EXPECT_NEAR(r.input / mean(row.input, row.input_p99), 1, 1e-3);
    EXPECT_NEAR(r.output / mean(row.output, row.output_p99), 1, 1e-3);
    EXPECT_EQ(r.input_p99, row.input_p99);
    EXPECT_EQ(r.output_p99, row.output_p99);
  }
  const machine::Machine m =
      served("arrivals: { rate: 1 /s, trace: chat, input_tokens: 77, shared_prefix: 0.5 }");
  const serving::RequestShape given = request_of(m, only_serve(m));
  EXPECT_DOUBLE_EQ(given.input, 77);
  EXPECT_DOUBLE_EQ(given.input_p99, 0);
  EXPECT_DOUBLE_EQ(given.cached_share, 0.5);
}

// e^1 - 1 of a piece as long as its host lives; never more than twenty losses are counted.
TEST(ServeParts, small_laws) {
  EXPECT_EQ(work_again(Seconds(0), PerSecond(1)), 1);
  EXPECT_NEAR(work_again(Seconds(2), PerSecond(0.5)), std::exp(1.0) - 1, 1e-12);
  EXPECT_NEAR(work_again(Seconds(99), PerSecond(1)), std::expm1(20.0) / 20, 1e-3);
  const design::Autoscale scale{.min = 2, .max = 5, .target = 1};
  EXPECT_EQ(replicas_called(scale, 0, 1), 2);
  EXPECT_EQ(replicas_called(scale, 3, 1), 3);
  EXPECT_EQ(replicas_called(scale, 3.0000000001, 1), 3);
  EXPECT_EQ(replicas_called(scale, 3.1, 1), 4);
  EXPECT_EQ(replicas_called(scale, 99, 1), 5);
  const auto flat = day_of_requests(6, 1);
  for (const double h : flat) EXPECT_NEAR(h, 6, 1e-9);
  const auto day = day_of_requests(6, 2.5);
  EXPECT_NEAR(day[15], 15, 1e-6);
  double sum = 0;
  for (const double h : day) sum += h;
  EXPECT_NEAR(sum, 144, 1e-9);
  EXPECT_NEAR(day[14], day[16], 1e-9);
  EXPECT_EQ(jobs::TalkAsk{}.load, 0.8);
  EXPECT_EQ(jobs::ApartAsk{}.load, 0.8);
  EXPECT_EQ(BenchmarkLoad{}.least_share, 0.8);
  EXPECT_EQ(BenchmarkLoad{}.waves_most, 10);
  EXPECT_EQ(BenchmarkLoad{}.receive_every, 1);
  const jobs::ApartSize size{
      .prefill = 2, .decode = 3, .prefill_rate = PerSecond(10), .decode_rate = PerSecond(4)};
  EXPECT_DOUBLE_EQ(size.per_replica().base(), 12.0 / 5);
}

// 989.4 TFLOP/s: 0.35 of a device, its share of it on a slice; 0.15 of a host's products.
TEST(ServeParts, a_plain_network_has_a_share_of_the_peak) {
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  EXPECT_NEAR(plain_rate(m, m.fleets[design::FleetIndex(0)])->base(), 0.35 * 989.4e12, 1);
  const machine::Machine cut =
      served("arrivals: { rate: 1 /s, trace: chat }", ", mig: { 3g.40gb: 2 }");
  const double units = cut.fleets[design::FleetIndex(0)].slice()->profile->multiprocessors;
  EXPECT_NEAR(plain_rate(cut, cut.fleets[design::FleetIndex(0)])->base(),
              0.35 * 989.4e12 * units / 132, 1e6);
  const machine::Machine cores = served("arrivals: { rate: 1 /s, trace: chat }",
                                        ", custom: { accelerators: 0, matrix_rate: 40 TFLOP/s }");
  EXPECT_NEAR(plain_rate(cores, cores.fleets[design::FleetIndex(0)])->base(), 0.15 * 40e12, 1);
  EXPECT_EQ(fleet_of_zone(m.fleets, {.site = "two"}), &m.fleets[design::FleetIndex(1)]);
  EXPECT_EQ(fleet_of_zone(m.fleets, {.site = "two", .fleet = "h"}),
            &m.fleets[design::FleetIndex(2)]);
  EXPECT_EQ(fleet_of_zone(m.fleets, {.site = "none"}), nullptr);
}

TEST(ServeParts, choices_count_replicas_and_their_accelerators) {
  ServingAsk ask{.model = model_named("llama-3-8b"),
                 .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                 .request = {.input = 1000, .output = 200},
                 .engines = {"vllm"},
                 .formats = {catalog::Dtype::bf16},
                 .tp = 2,
                 .apart = false};
  ask.target.tpot_p99 = milliseconds(40);
  const auto joined = serving_within(machine::known(), ask, 7);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].replicas, 3) << "seven accelerators by two";
  EXPECT_EQ(joined[0].gpus, 6);
  EXPECT_EQ(joined[0].tp, 2);
  EXPECT_FALSE(joined[0].apart);
  EXPECT_DOUBLE_EQ(joined[0].users, 3 * joined[0].batch);
  EXPECT_THAT(serving_within(machine::known(), ask, 1), IsEmpty());
  // Four fifths of what a replica carries.
  const PerSecond one = joined[0].requests / 3;
  const auto needed = serving_for(machine::known(), ask, one * (0.8 * 2.5));
  ASSERT_EQ(needed.size(), 1U);
  EXPECT_EQ(needed[0].replicas, 3);
  ask.joined = false;
  ask.apart = true;
  const auto apart = serving_within(machine::known(), ask, 8);
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_TRUE(apart[0].apart);
  EXPECT_EQ(apart[0].replicas, 4);
  EXPECT_GE(apart[0].prefill, 1);
  EXPECT_LE(apart[0].prefill, 3);
  EXPECT_NEAR(apart[0].users,
              apart[0].requests.base() * (apart[0].ttft + apart[0].tpot * 199).base(), 1e-9);
  // The step of the largest batch, with what its spread takes, is within the bound.
  const double b = apart[0].batch;
  EXPECT_LE(apart[0].tpot.base() * (1 + 2.326 / std::sqrt(b)), 0.04);
  const auto next = predict_step(machine::known(),
                                 {.model = ask.model,
                                  .accelerator = ask.accelerator,
                                  .split = {.tp = 2},
                                  .precision = {.products = catalog::Dtype::bf16,
                                                .experts = catalog::Dtype::bf16,
                                                .kv = catalog::Dtype::bf16},
                                  .request = ask.request},
                                 {.decoding = b, .context = 1100});
  ASSERT_TRUE(next);
  EXPECT_NEAR(next->step.total.base(), apart[0].tpot.base(), 1e-12);
  EXPECT_THAT(serving_within(machine::known(), ask, 3), IsEmpty()) << "one replica cannot be apart";
}

}  // namespace
}  // namespace orrery::jobs
