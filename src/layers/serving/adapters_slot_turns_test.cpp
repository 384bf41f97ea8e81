// Adapters that take turns in a few slots: waits and loads from the closed form of adapters.h,
// compared with separate solutions of twelve digits, and their effect on first tokens.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/serving/steady_state.h"

namespace orrery::serving {
namespace {

ReplicaAdapters turning(int count, int slots, double skew, double missed) {
  ReplicaAdapters a;
  a.set = {.count = count, .slots = slots, .skew = skew};
  a.use = adapter_use(count, skew);
  a.rate = FlopsPerSecond(1);
  a.missed = missed;
  return a;
}

struct TurnCase {
  int count;
  int slots;
  double skew;
  double running;
  double first;  // share of requests that begin a turn
  double wait;
  double wait_p99;
};

constexpr TurnCase kTurns[] = {
    {3, 2, 1, 2.5, 0.30796401785140176, 0.3496847235330226, 3.2823561093036346},
    {5, 2, 0.5, 3, 0.36262602947172795, 0.7487037852644453, 4.208756147711387},
    // Fewer than one in a hundred waits: the percentile is still no less than the mean.
    {6, 4, 1, 1.5, 0.7030883306383183, 0.0028241552952425744, 0.0028241552952425744},
    {4, 1, 0, 0.3, 0.8977648527181453, 0.43860037619753206, 2.47443059867693},
    // More adapters are requested all the time than there are slots.
    {8, 3, 1, 20, 0.027447958202726674, 2.1420299593942533, 12.776444775027175}};

TEST(SlotTurns, waits_and_loads_match_separate_solutions) {
  for (const TurnCase& c : kTurns) {
    SCOPED_TRACE(c.count);
    const SlotUse use = slot_use(turning(c.count, c.slots, c.skew, 1), c.running);
    EXPECT_NEAR(use.loads, c.first, 1e-9 * c.first);
    EXPECT_NEAR(use.wait, c.wait, 1e-9 * c.wait);
    EXPECT_NEAR(use.wait_p99, c.wait_p99, 1e-9 * c.wait_p99);
    const SlotUse kept = slot_use(turning(c.count, c.slots, c.skew, c.first / 2), c.running);
    EXPECT_NEAR(kept.loads, c.first / 2, 1e-12) << "an adapter in a slot is not loaded again";
    EXPECT_EQ(kept.wait, use.wait);
  }
}

TEST(SlotTurns, no_request_waits_with_a_slot_for_each_or_none_running) {
  for (const SlotUse& use :
       {slot_use(turning(3, 3, 1, 0.5), 2), slot_use(turning(3, 4, 1, 0.5), 2),
        slot_use(turning(3, 2, 1, 0.5), 0), slot_use(turning(0, 0, 1, 0), 2)}) {
    EXPECT_EQ(use.loads, 0);
    EXPECT_EQ(use.wait, 0);
    EXPECT_EQ(use.wait_p99, 0);
  }
  EXPECT_GT(slot_use(turning(3, 2, 1, 0.5), 0.5).loads, 0);
}

// R (1 + wait(R)) = 6 at R = 3.31727095 for five adapters with two slots, and 4 at 2.874131796 for
// three; found in 20 bisections.
TEST(SlotTurns, requests_present_are_split_into_running_and_waiting) {
  const auto halved = [](double running, double all) {
    const double part = all / (1 << 20);
    return std::ceil(running / part) * part;
  };
  EXPECT_DOUBLE_EQ(running_with_slots(turning(5, 2, 0.5, 1), 6), halved(3.3172709530277684, 6));
  EXPECT_DOUBLE_EQ(running_with_slots(turning(3, 2, 1, 1), 4), halved(2.87413179605953, 4));
  EXPECT_EQ(running_with_slots(turning(3, 3, 1, 1), 4), 4);
}

// Four layers of width 64 on two stages of two devices: 8 query heads of 16 and two KV heads, 96 in
// the MLP. Queries, keys and values take 3 x 64 and half of 192, the output half of 128 and 64, up
// and gate 2 x 64 and half of 192, down half of 96 and 64.
TEST(SlotTurns, adapter_numbers_on_one_device) {
  const catalog::ModelShape model{.id = "dense",
                                  .layers = 4,
                                  .hidden = 64,
                                  .heads = 8,
                                  .kv_heads = 2,
                                  .head_dim = 16,
                                  .ffn = 96,
                                  .vocab = 100};
  const AdapterDevice device{.products = FlopsPerSecond(5e9), .port = BytesPerSecond(1e9)};
  const AdapterSet set{.count = 3, .slots = 2, .rank = 12};
  const ReplicaAdapters a =
      adapters_on(model, {.tp = 2, .pp = 2}, set, engines::EngineKind::vllm, device);
  const double sides = 2 * (288 + 128 + 224 + 112);
  EXPECT_EQ(a.products, 8);
  EXPECT_EQ(a.each.base(), 2 * 12 * sides);
  EXPECT_EQ(a.token_flops, 2 * 12 * sides);
  EXPECT_EQ(a.token_bytes, 2 * 2 * (384 + 192 + 320 + 176)) << "results are read and written";
  EXPECT_DOUBLE_EQ(a.reserved.base(), 2 * 2 * 16 * sides) << "two slots of rank 16";
  EXPECT_DOUBLE_EQ(a.load.base(), 28 * 2.6e-6 + 36096e-9) << "7 tensors a layer, A and B of each";
  EXPECT_DOUBLE_EQ(a.rate.base(), 1e9) << "a fifth of the peak";
  EXPECT_EQ(a.use.size(), 3u);
  EXPECT_NEAR(a.missed, 0.2622496696112388, 1e-12);
  AdapterSet all = set;
  all.slots = 3;
  EXPECT_EQ(adapters_on(model, {}, all, engines::EngineKind::vllm, device).missed, 0);

  ServingCosts costs;
  costs.kernel = [](const workload::Operation& op) {
    return ServingOpCost{.time = Seconds(workload::bytes_of(op).base() / 1e9), .core = Joules(3)};
  };
  const auto cost = [&](double tokens, double distinct) {
    return adapter_cost(a, tokens, distinct, costs);
  };
  const auto wanted = [](double tokens, double distinct) {
    return 8 * 7e-6 +
           std::hypot(1.09 * (36096 * distinct + 4288 * tokens) / 1e9, 36096 * tokens / 1e9);
  };
  for (const double tokens : {0.25, 1.0, 7.0}) {
    for (const double distinct : {0.5, 1.0, 2.0}) {
      EXPECT_NEAR(cost(tokens, distinct).time.base(), wanted(tokens, distinct), 1e-15);
    }
  }
  EXPECT_EQ(cost(1, 1).core.base(), 3);
  EXPECT_EQ(cost(0, 1).time.base() + cost(1, 0).time.base(), 0);
  EXPECT_EQ(adapter_cost({}, 1, 1, costs).time.base(), 0);
}

// A millisecond of host time, 0.1 ms per decoding request, 1 us per prompt token; an adapter is
// loaded in two.
ServingCosts turning_costs() {
  ServingCosts costs;
  costs.kernel = [](const workload::Operation& op) {
    const auto* a = std::get_if<workload::Attention>(&op);
    if (!a) return ServingOpCost{};
    return ServingOpCost{.time = Seconds(a->causal ? a->batch * a->q_len * 1e-6 : a->batch * 1e-4)};
  };
  costs.collective = [](const workload::CollectiveCall&) { return Seconds(0); };
  costs.settle = [](const ServingOpCost& c, Seconds waiting) {
    return SettledWork{.time = c.time + waiting, .power = Watts(300)};
  };
  return costs;
}

Replica turning_replica() {
  Replica r;
  r.model = {.id = "one", .layers = 1, .hidden = 8, .heads = 1, .kv_heads = 1, .head_dim = 8};
  r.engine = {.id = "vllm", .host_step = milliseconds(1), .first_token = milliseconds(5)};
  r.limits = {.token_budget = 400, .max_sequences = 50};
  r.memory.kv_tokens = 1e6;
  r.adapters = turning(5, 2, 0.5, 1);
  r.adapters.load = milliseconds(2);
  return r;
}

// Three requests decode, as in the second row above; times in milliseconds.
TEST(SlotTurns, steady_arrivals_wait_for_a_slot) {
  const RequestShape request{
      .input = 400, .output = 100, .before = milliseconds(30), .before_p99 = milliseconds(70)};
  const ServingPoint p = steady_arrivals(turning_replica(), request, 3, turning_costs());
  const double loading = 2 * 0.36262602947172795;
  const double adds = 0.4 + loading;
  const double own = 1.4 + loading;
  const double tpot = (1.3 * 100 + adds * 3) / 100;
  EXPECT_NEAR(p.prefill.base(), own * 1e-3, 1e-12);
  EXPECT_NEAR(p.prefill_adds.base(), adds * 1e-3, 1e-12);
  EXPECT_NEAR(p.tpot.base(), tpot * 1e-3, 1e-12);
  const double rho = 3 * adds / (100 * tpot);
  EXPECT_NEAR(p.prefill_share, rho, 1e-10);
  const double variance = rho * tpot * adds / (1 - rho * rho);
  const double seen = tpot + variance / tpot;
  const double runs = own + 99 * tpot;
  const double wait =
      (1 - std::exp(-3)) * (seen / 2 + rho * seen + 0.3 + tpot) + runs * 0.7487037852644453;
  EXPECT_NEAR(p.ttft.base(), (30 + own + wait + 5) * 1e-3, 1e-11);
  const double late = 3 * std::sqrt(seen * seen / 12 + variance * (0.25 + rho));
  const double slot = runs * (4.208756147711387 - 0.7487037852644453);
  EXPECT_NEAR((p.ttft_p99 - p.ttft).base(), std::hypot(std::hypot(late, slot), 40) * 1e-3, 1e-10);
  EXPECT_NEAR(p.requests.base(), 3 / (tpot * 0.1), 1e-8);
}

// Six clients, of which 3.317 run: the others count among those that wait for them to end.
TEST(SlotTurns, closed_loop_clients_wait_for_each_other) {
  const RequestShape request{.input = 400, .output = 100, .requests_per_client = 10};
  const ServingPoint p = closed_loop(turning_replica(), request, 6, turning_costs());
  const double running = 3.3172760009765625;
  EXPECT_NEAR(p.running, running, 1e-12);
  const double adds = 0.4 + 2 * 0.3227626453857706;
  const double own = 1 + adds;
  const double decode = 1 + 0.1 * running;
  const double tpot = (decode * 100 + adds * (running - 1)) / 100;
  EXPECT_NEAR(p.tpot.base(), tpot * 1e-3, 1e-12);
  const double rho = running * adds / (100 * tpot);
  const double wait = decode / 2 + adds * rho / (2 * (1 - rho)) + adds * (running - 1) / 2 / 10;
  const double all = own + wait + 5 + 99 * tpot;
  const double queue = all * (6 - running) / running;
  EXPECT_NEAR(p.ttft.base(), (own + wait + 5 + queue) * 1e-3, 1e-11);
  EXPECT_NEAR(p.requests.base(), running / (all * 1e-3), 1e-8);
  const double slot = (own + 99 * tpot) * 4.2067020852288195;
  const double late = std::hypot(3.605 * wait, slot) + 3.605 * queue;
  EXPECT_NEAR((p.ttft_p99 - p.ttft).base(), late * 1e-3, 1e-9);
}

}  // namespace
}  // namespace orrery::serving
