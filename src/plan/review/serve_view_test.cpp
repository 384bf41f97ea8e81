// Services by hand: non-transformer networks as queues, the load at which a replica of a
// transformer answers, separate prefill and decode, agents, retrieval, slices and cores.
#include "plan/review/serve_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "layers/traffic/talks.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/jobs/autoscale.h"
#include "model/jobs/conversations.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/service_review_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

// Eight nodes of eight, and a service on them.
Review served(const std::string& serve, const std::string& fleet = "node: dgx-h100, count: 8",
              const std::string& more = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, " + fleet +
          " }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 } }\nworkloads:\n"
          "  - serve: { name: s, " +
          serve + " }\n" + more,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

// 35 % of 989.4 TFLOP/s over 50 GFLOP.
constexpr double kPlainMu = 0.35 * 989.4e12 / 50e9;
constexpr double kLn100 = 4.605170185988092;
const std::string kPlainNet = "network: { forward: 50 GFLOP, params: 25M }, ";
const std::string kPlainLoad = "arrivals: { rate: 9000 /s, peak: 2 }";

TEST(ServeView, plain_network_is_an_mm1_queue) {
  const Review r = served(kPlainNet + kPlainLoad);
  const ServeView& v = r.serves.at(0);
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  EXPECT_EQ(v.label, "s");
  EXPECT_EQ(v.path, "workloads[0].serve");
  EXPECT_NEAR(v.rate.base(), 9000, 1e-9);
  EXPECT_NEAR(v.peak.base(), 18000, 1e-9);
  double sum = 0;
  for (const double hour : v.day) sum += hour;
  EXPECT_NEAR(sum / 24, 9000, 1e-6);
  EXPECT_NEAR(v.day[15], 18000, 1e-6);
  EXPECT_NEAR(v.capacity_per_replica.base(), kPlainMu, 1e-6);
  EXPECT_EQ(v.replicas_needed, 4) << "18000 / (6925.8 x 0.8) = 3.25";
  EXPECT_EQ(v.replicas, 4);
  EXPECT_EQ(v.replicas_mean, 0);
  EXPECT_EQ(v.devices, 4);
  EXPECT_EQ(v.devices_there, 64);
  EXPECT_NEAR(v.latency_p99.base(), kLn100 / (kPlainMu - 4500), 1e-12);
  EXPECT_EQ(v.error, 0.4);
  EXPECT_EQ(v.basis, Basis::assumed);
  EXPECT_EQ(v.reference, "docs/models/plain-network.md");
  EXPECT_EQ(v.availability, v.replicas_up);
  EXPECT_NEAR(v.replicas_up, availability_with(v, 4, *r.machine), 1e-15);
  EXPECT_GT(v.replicas_up, 0.9);
  // Guests come on top of the peak; the number of replicas stays.
  const ServeView full = with_guests(v, PerSecond(1000), *r.machine);
  EXPECT_NEAR(full.latency_p99.base(), kLn100 / (kPlainMu - 4750), 1e-12);
  EXPECT_EQ(full.replicas, 4);
  EXPECT_EQ(full.guests, PerSecond(1000));
}

TEST(ServeView, given_replicas_are_used) {
  const ServeView three = served(kPlainNet + "replicas: 3, " + kPlainLoad).serves.at(0);
  EXPECT_EQ(three.replicas_needed, 4);
  EXPECT_EQ(three.replicas, 3);
  EXPECT_EQ(three.devices, 3);
  EXPECT_NEAR(three.latency_p99.base(), kLn100 / (kPlainMu - 6000), 1e-12);
  EXPECT_EQ(three.availability, 0) << "too few replicas for the peak";
  const ServeView two = served(kPlainNet + "replicas: 2, " + kPlainLoad).serves.at(0);
  EXPECT_EQ(two.latency_p99, years(1)) << "overloaded";
  const ServeView few = served(kPlainNet + "arrivals: { rate: 1 /s }").serves.at(0);
  EXPECT_EQ(few.replicas, 1);
}

// p99 of M/M/1 is ln 100 / (mu - lambda): 2 ms leave room for 6925.8 - 2302.6 per second.
TEST(ServeView, latency_objective_limits_a_plain_network) {
  const auto with = [](const char* bound) {
    return served(kPlainNet + "objective: { latency_p99: " + bound + " }, " + kPlainLoad)
        .serves.at(0);
  };
  const ServeView v = with("2 ms");
  EXPECT_NEAR(v.capacity_per_replica.base(), kPlainMu - kLn100 / 2e-3, 1e-6);
  EXPECT_EQ(v.replicas_needed, 5) << "18000 / (4623.2 x 0.8) = 4.87";
  const ServeView none = with("600 us");
  EXPECT_NE(none.infeasible, "");
  EXPECT_EQ(none.availability, 1) << "not evaluated";
  EXPECT_EQ(none.replicas, 0);
}

// A target of four in flight is a load of 4/5: 5540.6 per second each.
TEST(ServeView, autoscaled_plain_network_follows_the_day) {
  const Review r = served(kPlainNet + "autoscale: { min: 2, max: 9, target: 4 }, " + kPlainLoad);
  const ServeView& v = r.serves.at(0);
  EXPECT_EQ(v.replicas, 9);
  const auto mean = [&](double guests) {
    double sum = 0;
    for (const double hour : v.day) {
      sum += std::clamp(std::ceil((hour + guests) / (0.8 * kPlainMu)), 2.0, 9.0);
    }
    return sum / 24;
  };
  EXPECT_NEAR(v.replicas_mean, mean(0), 1e-12);
  EXPECT_GT(v.replicas_mean, 2);
  EXPECT_LT(v.replicas_mean, 4);
  EXPECT_NEAR(v.latency_p99.base(), kLn100 / (kPlainMu - 2000), 1e-12);
  EXPECT_NEAR(with_guests(v, PerSecond(40000), *r.machine).replicas_mean, mean(40000), 1e-12);
}

TEST(ServeView, plain_network_needs_work_and_a_fleet) {
  const Review r = served(kPlainNet + kPlainLoad);
  const auto changed = [&](void (*change)(design::Workload&)) {
    design::Design d = r.design();
    change(d.workloads[0]);
    return run_stages(std::move(d), machine::known()).serves.at(0);
  };
  EXPECT_FALSE(changed([](design::Workload& w) {
                 std::get<design::Serve>(w.task).network.reset();
               }).feasible());
  EXPECT_FALSE(changed([](design::Workload& w) {
                 std::get<design::Serve>(w.task).network->forward = Flops(0);
               }).feasible());
  const ServeView lost = changed([](design::Workload& w) { w.terms.fleet = "unknown"; });
  EXPECT_NE(lost.infeasible, "");
  EXPECT_EQ(lost.devices_there, 0);
}

TEST(ServeView, service_runs_on_the_nodes_it_asks_for) {
  EXPECT_EQ(served(kPlainNet + "nodes: 3, " + kPlainLoad).serves.at(0).devices_there, 24);
  EXPECT_EQ(served(kPlainNet + "nodes: 8, " + kPlainLoad).serves.at(0).devices_there, 64);
  Review r = served(kPlainNet + "nodes: 3, " + kPlainLoad);
  design::Design d = r.design();
  d.workloads[0].terms.nodes = 9;
  EXPECT_EQ(run_stages(d, machine::known()).serves.at(0).devices_there, 64)
      << "at most the nodes of the fleet";
  const std::string servers = "node: cpu-2s-server, count: 6";
  EXPECT_EQ(served(kPlainNet + "nodes: 2, " + kPlainLoad, servers).serves.at(0).devices_there, 2);
  const Review cut = served(kPlainNet + "replicas: 5, " + kPlainLoad,
                            "node: dgx-h100, count: 8, mig: { 3g.40gb: 2 }");
  ASSERT_TRUE(cut.serves[0].slice);
  EXPECT_EQ(cut.serves[0].slice->each, 2);
  EXPECT_EQ(cut.serves[0].devices, 3);
}

// The parts of a replica's query, put together again.
struct Asked {
  explicit Asked(const Review& r)
      : v(r.serves.at(0)),
        q(v.query),
        device(costs_of(r)),
        costs(serving_source(device)),
        replica(replica_of(r.models(), q).value()),
        target(jobs::target_of(*v.serve, v.request.output)) {}
  machine::Costs costs_of(const Review& r) {
    q.split.tp = v.devices_per_replica;
    return serving_costs(r.models(), q);
  }
  serving::ServingPoint at(double decoding) const {
    return steady_arrivals(replica, v.request, decoding, costs);
  }
  // The point at which `rate` requests per second are answered.
  serving::ServingPoint carrying(PerSecond rate, double most) const {
    double low = 0, high = most;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (at(middle).requests < rate ? low : high) = middle;
    }
    return at(high);
  }

  const ServeView& v;
  jobs::ServingQuery q;
  machine::Costs device;
  serving::ServingCosts costs;
  serving::Replica replica;
  serving::ServingTarget target;
};

void expect_at(const ServeView& v, const serving::ServingPoint& p) {
  const auto near = [](Seconds a, Seconds b) { EXPECT_NEAR(a / b, 1, 2e-3); };
  near(v.ttft, p.ttft);
  near(v.ttft_p99, p.ttft_p99);
  near(v.tpot, p.tpot);
  near(v.tpot_p99, p.tpot_p99);
  near(v.latency_p99, p.whole_p99);
  EXPECT_NEAR(v.device_power / p.power, 1, 2e-3);
}

const std::string kSmall = "model: llama-3-8b, tp: 1, ";
const std::string kConversation =
    "arrivals: { rate: 40 /s, peak: 1.5, input_tokens: 900, output_tokens: 120 }";

TEST(ServeView, transformer_answers_at_its_share_of_the_peak) {
  const Review r = served(kSmall + "replicas: 7, objective: { ttft_p99: 1 s, tpot_p99: 30 ms }, " +
                          kConversation);
  const Asked a(r);
  const ServeView& v = a.v;
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  const serving::ServingPoint most = capacity(a.replica, v.request, a.target, a.costs);
  EXPECT_EQ(v.capacity_per_replica, most.requests);
  EXPECT_EQ(v.bound, most.bound);
  EXPECT_EQ(v.replica.memory.kv_tokens, a.replica.memory.kv_tokens);
  EXPECT_EQ(v.devices_per_replica, 1);
  EXPECT_EQ(v.replicas_needed, std::ceil(60 / (most.requests.base() * 0.8)));
  expect_at(v, a.carrying(PerSecond(60.0 / 7), most.concurrency));
  EXPECT_NEAR(v.answer.base(), v.ttft.base() + 119 * v.tpot.base(), 1e-12);
  EXPECT_NEAR(v.task.base(), v.answer.base(), 1e-12) << "one call per task";
  EXPECT_NEAR(v.task_p99 / v.latency_p99, 1, 1e-9);
  EXPECT_NEAR(v.output_tokens_per_s, 40 * 120, 1e-9);
  EXPECT_NEAR(v.error, std::hypot(serving_error(a.device.device(), a.q), 0.28), 1e-12);
  EXPECT_EQ(v.basis, Basis::fitted);
  EXPECT_EQ(v.reference, "docs/models/serving.md");
  expect_at(with_guests(v, PerSecond(20), *r.machine),
            a.carrying(PerSecond(80.0 / 7), most.concurrency));
}

// More than they can carry: latencies at the highest load within the objective.
TEST(ServeView, overloaded_service_runs_at_its_capacity) {
  const Review r = served(kSmall +
                          "replicas: 1, objective: { tpot_p99: 12 ms }, arrivals: { rate: 4000 /s, "
                          "input_tokens: 900, output_tokens: 120 }");
  const Asked a(r);
  const serving::ServingPoint most = capacity(a.replica, a.v.request, a.target, a.costs);
  expect_at(a.v, most);
  EXPECT_EQ(a.v.availability, 0);
}

// Whole requests within 3 s: the largest whole number that decodes.
TEST(ServeView, bound_on_whole_requests_limits_capacity) {
  const Review r = served(kSmall + "objective: { latency_p99: 2 s }, " + kConversation);
  const Asked a(r);
  double most = 1;
  while (a.at(most + 1).whole_p99 <= seconds(2)) ++most;
  EXPECT_GT(most, 4);
  EXPECT_NEAR(a.v.capacity_per_replica / a.at(most).requests, 1, 1e-12) << most;
  // Not even one: a tenth below the time of a single request.
  const double alone = a.at(1).whole_p99.base();
  const Review none =
      served(kSmall + "objective: { latency_p99: " + std::to_string(alone * 0.98e3) + " ms }, " +
             kConversation);
  EXPECT_NE(none.serves[0].infeasible, "");
  const Review never = served(kSmall + "objective: { ttft_p99: 1 us }, " + kConversation);
  EXPECT_NE(never.serves[0].infeasible, "");
}

// As many replicas as have three requests in flight each, hour by hour; latencies are those of the
// busiest.
TEST(ServeView, autoscaled_transformer_follows_the_day) {
  const Review r = served(kSmall + "autoscale: { min: 3, max: 40, target: 3 }, " + kConversation);
  const Asked a(r);
  const double each = jobs::rate_in_flight(a.replica, a.v.request, 3, a.costs).base();
  double sum = 0, peak = 0;
  for (const double hour : a.v.day) {
    const double called = std::clamp(std::ceil(hour / each), 3.0, 40.0);
    sum += called;
    peak = std::max(peak, called);
  }
  EXPECT_NEAR(a.v.replicas_mean, sum / 24, 1e-12);
  EXPECT_LT(peak, 40);
  EXPECT_EQ(a.v.replicas, 40);
  const serving::ServingPoint most = capacity(a.replica, a.v.request, a.target, a.costs);
  expect_at(a.v, a.carrying(PerSecond(60 / peak), most.concurrency));
}

TEST(ServeView, adapter_slots_at_the_peak) {
  const Review r =
      served(kSmall + "replicas: 2, adapters: { count: 64, slots: 4, rank: 16 }, " + kConversation);
  const Asked a(r);
  ASSERT_TRUE(a.v.feasible()) << a.v.infeasible;
  ASSERT_TRUE(a.v.adapters.adapters.any());
  const serving::ServingPoint most = capacity(a.replica, a.v.request, a.target, a.costs);
  const jobs::AdapterView there =
      jobs::adapter_view(a.replica, a.carrying(PerSecond(30), most.concurrency), a.v.request);
  EXPECT_NEAR(a.v.adapters.slots.loads / there.slots.loads, 1, 0.01);
  EXPECT_NEAR(a.v.adapters.wait / there.wait, 1, 0.02);
}

TEST(ServeView, task_is_its_calls_and_tools) {
  const std::string agent = "agent: { calls: 4, tool_time: 5 s }";
  const Review r =
      review_of(small_service("a", "arrivals: { rate: 8 /s, " + kShort + ", " + agent + " }"));
  const ServeView& v = r.serves.front();
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  EXPECT_NEAR(v.task.base(), 4 * v.answer.base() + 15, 1e-9);
  // The p99 of the sum of three exponential tool times is 8.406 means.
  EXPECT_GT(v.task_p99.base(), 4 * v.answer.base() + 5 * 8.406);
  EXPECT_LT(v.task_p99.base(), 4 * v.answer.base() + 5 * 8.406 + 1);

  // An objective that tools alone break cannot be met; a tight one lowers the load.
  const auto with = [&](const char* bound) {
    return review_of(small_service("a", "arrivals: { rate: 8 /s, " + kShort + ", " + agent +
                                            " }, objective: { task_p99: " + bound + " }"))
        .serves.front();
  };
  EXPECT_FALSE(with("14 s").feasible());
  const ServeView loose = with("60 s");
  const ServeView tight = with("47 s");
  ASSERT_TRUE(tight.feasible()) << tight.infeasible;
  EXPECT_LT(tight.capacity_per_replica, loose.capacity_per_replica);
}

TEST(ServeView, retrieval_delays_the_first_token) {
  const std::string arrivals = "arrivals: { rate: 8 /s, " + kShort + " }";
  const Review bare = review_of(small_service("a", arrivals));
  const Review looks = review_of(small_service(
      "a", arrivals + ", retrieval: { tier: fast, index: 2 TB, reads: 40, hops: 4 }"));
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

const std::string kPlainArrivals = "arrivals: { rate: 8 /s, " + kShort + " }";

// Seven replicas, two per accelerator, take four accelerators, and are paid for as four.
TEST(ServeView, replicas_on_slices_take_whole_accelerators) {
  const std::string seven =
      "  - serve: { name: a, model: llama-3-8b, replicas: 7, " + kPlainArrivals + " }\n";
  const Review r = review_of(seven, "dgx-h100, count: 1, mig: { 3g.40gb: 2 }");
  const ServeView& v = r.serves.front();
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  ASSERT_TRUE(v.slice);
  EXPECT_EQ(v.devices, 4);
  EXPECT_EQ(v.devices_there, 8);
  EXPECT_EQ(v.accelerators_for(8), 4);
  EXPECT_EQ(v.accelerators_for(9), 5);
  EXPECT_EQ(v.replicas_on(3), 6);
  // Without slices, a replica has a whole accelerator, and each carries more.
  const Review whole = review_of(seven, "dgx-h100, count: 1");
  EXPECT_EQ(whole.serves.front().devices, 7);
  EXPECT_EQ(whole.serves.front().replicas_on(3), 3);
  EXPECT_GT(whole.serves.front().capacity_per_replica, v.capacity_per_replica * 1.5);
}

TEST(ServeView, plain_network_on_a_slice_has_its_share) {
  const std::string plain =
      "  - serve: { name: a, network: { forward: 50 GFLOP, params: 25M }, replicas: 2, "
      "arrivals: { rate: 5 /s } }\n";
  const ServeView whole = review_of(plain, "dgx-h200, count: 1").serves.front();
  const ServeView cut = review_of(plain, "dgx-h200, count: 1, mig: { 1g.18gb: 7 }").serves.front();
  ASSERT_TRUE(cut.feasible()) << cut.infeasible;
  EXPECT_NEAR(whole.capacity_per_replica / cut.capacity_per_replica, 132.0 / 16, 1e-6);
  EXPECT_EQ(cut.devices, 1);
}

TEST(ServeView, cores_serve_by_the_host) {
  const Review r = review_of(small_service("a", kPlainArrivals), "cpu-2s-server, count: 6");
  const ServeView& v = r.serves.front();
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  EXPECT_EQ(v.devices, 4);
  EXPECT_EQ(v.devices_there, 6);
  EXPECT_EQ(v.basis, Basis::assumed);
  const ServeView gpus = review_of(small_service("a", kPlainArrivals)).serves.front();
  EXPECT_GT(gpus.capacity_per_replica, v.capacity_per_replica * 5);
}

TEST(ServeView, roles_apart_need_accelerators) {
  const Review r = served_on("node: cpu-2s-server, count: 6",
                             "model: llama-3-8b, tp: 1, arrivals: { rate: 1 /s, input_tokens: 400, "
                             "output_tokens: 50 }");
  EXPECT_TRUE(r.serves[0].feasible()) << r.serves[0].infeasible;
  EXPECT_EQ(r.serves[0].basis, Basis::assumed);
  EXPECT_STREQ(r.serves[0].devices_word(), "hosts");
  design::Design d = r.design();
  std::get<design::Serve>(d.workloads[0].task).disaggregated = true;
  EXPECT_NE(run_stages(std::move(d), machine::known()).serves[0].infeasible, "");
}

TEST(ServeView, impossible_replicas_are_infeasible) {
  const auto fault = [](const std::string& fleet, const std::string& model) {
    return served_on(fleet,
                     model + ", arrivals: { rate: 1 /s, input_tokens: 400, output_tokens: 50 }")
        .serves.at(0)
        .infeasible;
  };
  EXPECT_NE(fault(kNodes, "model: llama-3-8b, precision: nvfp4"), "");
  EXPECT_NE(fault(kNodes, "model: llama-3.1-405b"), "");
  // 405.9 billion weights of two bytes.
  EXPECT_NE(fault(kNodes, "model: llama-3.1-405b, tp: 4"), "");
  EXPECT_NE(fault("node: dgx-h200, count: 8, mig: { 1g.18gb: 7 }", "model: llama-3-8b"), "");
}

TEST(ServeView, every_engine_setting_changes_a_figure) {
  const auto view = [](const auto& change) {
    design::Design d = lab_design("superpod-h100");
    for (design::Workload& w : d.workloads) {
      if (auto* serve = std::get_if<design::Serve>(&w.task)) change(*serve);
    }
    const Review r = reviewed(d);
    return r.serves.at(0);
  };
  const ServeView plain = view([](design::Serve&) {});
  const ServeView other = view([](design::Serve& s) { s.engine = "sglang"; });
  EXPECT_NE(plain.tpot, other.tpot);
  EXPECT_NE(plain.ttft, other.ttft);
  const ServeView apart = view([](design::Serve& s) { s.disaggregated = true; });
  EXPECT_TRUE(apart.feasible());
  EXPECT_LT(apart.tpot_p99, plain.tpot_p99) << "no prompt delays a token";
  const ServeView few = view([](design::Serve& s) {
    s.disaggregated = true;
    s.prefill_replicas = 1;
    s.arrivals.rate = PerSecond(4000);
  });
  EXPECT_FALSE(few.feasible());
  const ServeView drafted = view([](design::Serve& s) { s.draft_model = "llama-3-8b"; });
  EXPECT_NE(drafted.tpot, plain.tpot);
  const ServeView whole = view([](design::Serve& s) {
    s.chunked_prefill = false;
    s.arrivals.input_tokens = 60000;
    s.objective = {};
  });
  const ServeView cut = view([](design::Serve& s) {
    s.arrivals.input_tokens = 60000;
    s.objective = {};
  });
  EXPECT_LT(whole.replica.memory.kv_tokens, cut.replica.memory.kv_tokens)
      << "whole prompts need room for their activations";
}

// Conversations find a cache that others have filled: less of their history is there.
TEST(ServeView, conversations_evict_each_others_history) {
  const std::string serve =
      "model: llama-3-70b, tp: 4, precision: fp8, arrivals: { rate: 30 /s, peak: 1.5, "
      "input_tokens: 900, output_tokens: 300, turns: 8, think_time: 200 s, shared_prefix: 0.1 }";
  const auto settled = [&](const std::string& more, std::optional<double> replicas) {
    const Review r = hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 32 }]\nworkloads: [{ "
        "serve: { name: s, " +
        more + serve + " } }]\n");
    const ServeView& v = r.serves.at(0);
    EXPECT_TRUE(v.feasible()) << v.infeasible;
    serving::RequestShape request = jobs::request_of(*r.machine, *v.serve);
    const double fresh = request.cached_share;
    jobs::ServingQuery q = jobs::serving_query(r.models(), *v.serve, *v.model, *v.fleet, request);
    q.split.tp = 4;
    const machine::Costs device = serving_costs(r.models(), q);
    const serving::ServingCosts costs = serving_source(device);
    jobs::settle_conversations(request, *v.serve, replica_of(r.models(), q).value(), costs,
                               {.target = jobs::target_of(*v.serve, request.output),
                                .peak = PerSecond(45),
                                .replicas = replicas,
                                .load = 0.8});
    EXPECT_NEAR(v.request.cached_share, request.cached_share, 1e-12);
    EXPECT_LT(v.request.cached_share, fresh - 0.01) << "not all of it is found";
    return v.request.cached_share;
  };
  const double given = settled("replicas: 48, ", 48);
  const double open = settled("", std::nullopt);
  EXPECT_GT(given, open) << "more replicas keep more";
  EXPECT_NEAR(settled("autoscale: { min: 1, max: 48, target: 16 }, ", std::nullopt), open, 1e-12);
}

}  // namespace
}  // namespace orrery::review
