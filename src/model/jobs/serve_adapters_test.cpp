// Adapters of a service on real devices: measured kernels, memory, and what is refused.
#include "model/jobs/serve_adapters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/statistics.h"
#include "core/catalog/embedded_table.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

ServingQuery asked(const std::string& model, const serving::AdapterSet& set,
                   const std::string& accelerator = "h200-sxm") {
  ServingQuery q;
  q.model = *machine::known().catalog().model(model);
  q.accelerator = machine::known().catalog().accelerator(accelerator);
  q.request = {.input = 512, .output = 128};
  q.adapters = set;
  return q;
}

// The rows measure adapter kernels alone, at the shapes of an 8B model.
TEST(ServeAdapters, adapter_kernels_match_measurements_on_h200) {
  const CsvTable t = catalog::embedded_table("validation/h200_adapters.csv").value();
  std::vector<double> errors;
  for (const CsvRow& row : t.rows()) {
    const double rank = *t.number(row, "rank");
    const auto adapters = static_cast<int>(*t.number(row, "adapters"));
    const ServingQuery q = asked("llama-3-8b", {.count = 200, .slots = adapters, .rank = rank});
    const serving::Replica r = replica_of(machine::known(), q).value();
    const double seconds = *t.number(row, "seconds");
    if (t.text(row, "op") == "load") {
      EXPECT_NEAR(r.adapters.load.base(), seconds, 0.05 * seconds) << "rank " << rank;
      continue;
    }
    const machine::Costs costs = serving_costs(machine::known(), q);
    const double tokens = *t.number(row, "tokens");
    const double modelled =
        adapter_cost(r.adapters, tokens, adapters, serving_source(costs)).time.base();
    errors.push_back(std::abs(modelled / seconds - 1));
  }
  ASSERT_EQ(errors.size(), 187u);
  EXPECT_LT(median(errors), 0.09);
  EXPECT_LT(quantile(errors, 0.9), 0.27);
}

TEST(ServeAdapters, slots_reduce_the_kv_cache) {
  ServingQuery q = asked("llama-3-8b", {.count = 200, .slots = 16});
  const serving::Replica with = replica_of(machine::known(), q).value();
  q.adapters.reset();
  const serving::Replica without = replica_of(machine::known(), q).value();
  // 16 adapters of 84 MB.
  EXPECT_EQ(with.memory.adapters.base(), 16.0 * 32 * 16 * 2 * 81920);
  EXPECT_NEAR((without.memory.kv_tokens - with.memory.kv_tokens) * with.memory.kv_per_token.base(),
              with.memory.adapters.base(), 20 * 131072);
  EXPECT_FALSE(without.adapters.any());
  EXPECT_GT(
      serving_error(serving_costs(machine::known(), asked("llama-3-8b", {.count = 1})).device(),
                    asked("llama-3-8b", {.count = 1})),
      serving_error(serving_costs(machine::known(), q).device(), q));
  const auto full =
      replica_of(machine::known(), asked("llama-3-8b", {.count = 2000, .slots = 1500}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().front().code, "serving.memory");
}

TEST(ServeAdapters, step_takes_longer_with_more_adapters) {
  const ServingQuery with = asked("llama-3-8b", {.count = 200, .slots = 16});
  ServingQuery without = with;
  without.adapters.reset();
  const auto step = [](const ServingQuery& q, const serving::Iteration& i) {
    return predict_step(machine::known(), q, i).value().step.total.base();
  };
  serving::Iteration decode{.decoding = 32, .context = 1000};
  const double plain = step(without, decode);
  EXPECT_EQ(step(with, decode), plain) << "no request uses an adapter";
  double before = plain;
  for (const double distinct : {1.0, 4.0, 16.0}) {
    decode.adapters = distinct;
    const double now = step(with, decode);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_LT(before, 1.5 * plain);
  const serving::Iteration prompt{.prompts = 1, .prompt_tokens = 4096, .adapters = 1};
  EXPECT_GT(step(with, prompt), 1.05 * step(without, prompt));
  EXPECT_LT(step(with, prompt), 1.2 * step(without, prompt));
}

TEST(ServeAdapters, capacity_rises_with_slots_and_falls_with_adapters) {
  const auto carries = [](int count, int slots) {
    const ServingQuery q = asked("llama-3-8b", {.count = count, .slots = slots});
    return predict_capacity(machine::known(), q,
                            {.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(50)})
        .value()
        .point.requests.base();
  };
  double before = 0;
  for (const int slots : {1, 2, 4, 8, 16, 32, 64}) {
    const double now = carries(64, slots);
    EXPECT_GE(now, before * 0.995) << slots;
    before = now;
  }
  EXPECT_LT(carries(1000, 8), carries(16, 8));
  EXPECT_LT(carries(16, 8), carries(8, 8) * 1.001);
}

TEST(ServeAdapters, unsupported_adapters_are_refused) {
  const auto code = [](const ServingQuery& q) {
    const auto r = replica_of(machine::known(), q);
    return r ? std::string() : r.error().front().code;
  };
  EXPECT_EQ(code(asked("llama-3-8b", {.count = 4})), "");
  EXPECT_EQ(code(asked("deepseek-v3", {.count = 4})), "serving.adapters");
  EXPECT_NE(adapter_fault(asked("mixtral-8x7b", {.count = 4})), "") << "adapters of experts";
  EXPECT_EQ(adapter_fault(asked("mixtral-8x7b", {.count = 4, .targets = {.qkv = true, .o = true}})),
            "");
}

// A prefix of 500 tokens in a cache that holds it for some adapters only.
TEST(ServeAdapters, prefix_is_shared_within_one_adapter_only) {
  const auto found = [](int count, const char* more = "") {
    const auto d = design_text::read_design(
        fmt::format("orrery: 1\nname: a\nsite: {{ region: usa }}\nfleet: [{{ name: f, node: "
                    "dgx-h100, count: 1 }}]\nworkloads:\n  - serve: {{ model: llama-3-8b, {}"
                    "adapters: {{ count: {}, slots: 16 }}, arrivals: {{ rate: 5 /s, input_tokens: "
                    "2000, output_tokens: 200, shared_prefix: 0.5 }} }}\n",
                    more, count),
        machine::known().catalog());
    const machine::Machine m = build_machine(d.value(), machine::known());
    const auto& serve = std::get<design::Serve>(d->workloads[0].task);
    serving::RequestShape r = request_of(m, serve);
    const ServingQuery q =
        serving_query(machine::known(), serve, *machine::known().catalog().model("llama-3-8b"),
                      m.fleets[design::FleetIndex(0)], r);
    const serving::Replica replica = replica_of(machine::known(), q).value();
    const machine::Costs costs = serving_costs(machine::known(), q);
    settle_prefixes(r, serve, replica, serving_source(costs), {.ttft_p99 = seconds(1)});
    return r.cached_share;
  };
  EXPECT_GT(found(1), 0.49);
  EXPECT_LE(found(1), 0.5);
  EXPECT_LT(found(400), found(20));
  EXPECT_LT(found(20000), 0.45);
  EXPECT_GT(found(20000), 0.1);
  EXPECT_EQ(found(20, "prefix_cache: false, "), 0);
}

// Four rounds of: what a replica carries, then the share of the prefix that its cache holds beside
// it.
TEST(ServeAdapters, cached_prefix_and_capacity_settle_in_rounds) {
  ServingQuery q = small_serving();
  q.request = {.input = 2000, .output = 200, .cached_share = 0.5};
  q.adapters = serving::AdapterSet{.count = 20000, .slots = 16};
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const serving::ServingTarget target{.ttft_p99 = seconds(1)};
  serving::RequestShape own = q.request;
  for (int round = 0; round < 4; ++round) {
    const serving::ServingPoint most = capacity(replica, own, target, costs);
    ASSERT_GE(most.concurrency, 1);
    own.cached_share = 0.5 * prefix_found(replica.adapters, {.prefix = 1000,
                                                             .fresh = 1200,
                                                             .room = replica.memory.kv_tokens -
                                                                     most.running * (1000 + 100),
                                                             .running = most.running});
  }
  design::Serve serve;
  serving::RequestShape settled = q.request;
  settle_prefixes(settled, serve, replica, costs, target);
  EXPECT_DOUBLE_EQ(settled.cached_share, own.cached_share);
  EXPECT_LT(settled.cached_share, 0.45);
  serve.arrivals.turns = 3;
  serving::RequestShape talk = q.request;
  settle_prefixes(talk, serve, replica, costs, target);
  EXPECT_EQ(talk.cached_share, 0.5) << "a conversation caches its history instead";
  serve.arrivals.turns = 1;
  serving::Replica plain = replica;
  plain.adapters = {};
  settle_prefixes(talk, serve, plain, costs, target);
  EXPECT_EQ(talk.cached_share, 0.5) << "all requests share one prefix";
}

TEST(ServeAdapters, figures_have_their_intervals) {
  AdapterView v;
  EXPECT_TRUE(adapter_figures(v, 0.2).empty());
  v.adapters.set = {.count = 200, .slots = 16, .rank = 12.345, .skew = 1.2345};
  v.adapters.reserved = gigabytes(8);
  v.adapters.load = milliseconds(40);
  v.slots.loads = 0.25;
  v.wait = milliseconds(30);
  ASSERT_TRUE(v.adapters.any());
  const std::vector<figures::Figure> f = adapter_figures(v, 0.2);
  ASSERT_EQ(f.size(), 3U);
  EXPECT_EQ(f[0].id(), "adapter_memory");
  EXPECT_EQ(f[0].estimate.value, 8e9);
  EXPECT_EQ(f[0].estimate.high, 8e9);
  EXPECT_EQ(f[1].estimate.value, 0.25);
  EXPECT_NEAR(f[1].estimate.low, 0.25 * 0.85, 1e-12);
  EXPECT_NEAR(f[1].estimate.high, 0.25 * 1.15, 1e-12);
  EXPECT_NEAR(f[2].estimate.value, 0.03, 1e-12);
  EXPECT_NEAR(f[2].estimate.low, 0.03 * 0.7, 1e-12);
  EXPECT_NEAR(f[2].estimate.high, 0.03 * 1.3, 1e-12);
  const std::vector<figures::Figure> wide = adapter_figures(v, 0.8);
  EXPECT_NEAR(wide[2].estimate.low, 0.03 * 0.1, 1e-12)
      << "the low end is at most 90 % below the value";
  EXPECT_NEAR(wide[2].estimate.high, 0.03 * 2.2, 1e-12);
}

}  // namespace
}  // namespace orrery::jobs
