#include "model/jobs/prefix_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

// A prefix of 500 tokens in a cache that holds it for some adapters only.
TEST(PrefixCache, prefix_is_shared_within_one_adapter_only) {
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
TEST(PrefixCache, cached_prefix_and_capacity_settle_in_rounds) {
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

}  // namespace
}  // namespace orrery::jobs
