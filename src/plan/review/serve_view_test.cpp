// Services by hand: plain networks as queues, the load at which a replica of a transformer answers,
// and why some cannot be served.
#include "plan/review/serve_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "model/design_text/read_design.h"
#include "model/jobs/autoscale.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_query.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

// Eight nodes of eight, and a service on them.
Review served(const std::string& serve,
                      const std::string& fleet = "node: dgx-h100, count: 8",
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

TEST(PlainService, IsAQueueOfOneServer) {
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
  // Guests come on top of the peak, and the replicas stay.
  const ServeView full = with_guests(v, PerSecond(1000), *r.machine);
  EXPECT_NEAR(full.latency_p99.base(), kLn100 / (kPlainMu - 4750), 1e-12);
  EXPECT_EQ(full.replicas, 4);
  EXPECT_EQ(full.guests, PerSecond(1000));
}

TEST(PlainService, HasTheReplicasThatAreGiven) {
  const ServeView three = served(kPlainNet + "replicas: 3, " + kPlainLoad).serves.at(0);
  EXPECT_EQ(three.replicas_needed, 4);
  EXPECT_EQ(three.replicas, 3);
  EXPECT_EQ(three.devices, 3);
  EXPECT_NEAR(three.latency_p99.base(), kLn100 / (kPlainMu - 6000), 1e-12);
  EXPECT_EQ(three.availability, 0) << "too few for the peak";
  const ServeView two = served(kPlainNet + "replicas: 2, " + kPlainLoad).serves.at(0);
  EXPECT_EQ(two.latency_p99, years(1)) << "more come than go";
  const ServeView few = served(kPlainNet + "arrivals: { rate: 1 /s }").serves.at(0);
  EXPECT_EQ(few.replicas, 1);
}

// p99 of M/M/1 is ln 100 / (mu - lambda): 2 ms leave room for 6925.8 - 2302.6 a second.
TEST(PlainService, KeepsItsPromise) {
  const auto with = [](const char* bound) {
    return served(kPlainNet + "objective: { latency_p99: " + bound + " }, " + kPlainLoad)
        .serves.at(0);
  };
  const ServeView v = with("2 ms");
  EXPECT_NEAR(v.capacity_per_replica.base(), kPlainMu - kLn100 / 2e-3, 1e-6);
  EXPECT_EQ(v.replicas_needed, 5) << "18000 / (4623.2 x 0.8) = 4.87";
  const ServeView none = with("600 us");
  EXPECT_EQ(none.infeasible, "one request takes " + brief(Seconds(1 / kPlainMu)) +
                                 " on an idle H100 SXM5 80GB, too long for the objective");
  EXPECT_EQ(none.availability, 1) << "nothing is said of it";
  EXPECT_EQ(none.replicas, 0);
}

// A target of four in flight is a load of 4/5: 5540.6 a second each.
TEST(PlainService, FollowsTheLoadOfTheDay) {
  const Review r =
      served(kPlainNet + "autoscale: { min: 2, max: 9, target: 4 }, " + kPlainLoad);
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
  EXPECT_NEAR(with_guests(v, PerSecond(40000), *r.machine).replicas_mean, mean(40000),
              1e-12);
}

TEST(PlainService, NeedsWorkAndAFleet) {
  const Review r = served(kPlainNet + kPlainLoad);
  const auto changed = [&](void (*change)(design::Workload&)) {
    design::Design d = r.design();
    change(d.workloads[0]);
    return run_stages(std::move(d), machine::known()).serves.at(0);
  };
  const std::string needs =
      "a plain network needs `network.forward` and an accelerator with 16-bit products";
  EXPECT_EQ(changed([](design::Workload& w) {
              std::get<design::Serve>(w.task).network.reset();
            }).infeasible,
            needs);
  EXPECT_EQ(changed([](design::Workload& w) {
              std::get<design::Serve>(w.task).network->forward = Flops(0);
            }).infeasible,
            needs);
  const ServeView lost = changed([](design::Workload& w) { w.terms.fleet = "nobody"; });
  EXPECT_EQ(lost.infeasible, "no fleet to run on");
  EXPECT_EQ(lost.devices_there, 0);
}

TEST(PlainService, RunsOnTheNodesItAsksFor) {
  EXPECT_EQ(served(kPlainNet + "nodes: 3, " + kPlainLoad).serves.at(0).devices_there, 24);
  EXPECT_EQ(served(kPlainNet + "nodes: 8, " + kPlainLoad).serves.at(0).devices_there, 64);
  Review r = served(kPlainNet + "nodes: 3, " + kPlainLoad);
  design::Design d = r.design();
  d.workloads[0].terms.nodes = 9;
  EXPECT_EQ(run_stages(d, machine::known()).serves.at(0).devices_there, 64)
      << "no more than are";
  const std::string servers = "node: cpu-2s-server, count: 6";
  EXPECT_EQ(served(kPlainNet + "nodes: 2, " + kPlainLoad, servers).serves.at(0).devices_there, 2);
  const Review cut = served(kPlainNet + "replicas: 5, " + kPlainLoad,
                                    "node: dgx-h100, count: 8, mig: { 3g.40gb: 2 }");
  ASSERT_TRUE(cut.serves[0].slice);
  EXPECT_EQ(cut.serves[0].slice->each, 2);
  EXPECT_EQ(cut.serves[0].devices, 3);
}

// The parts of a replica's question, put together once more.
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
  // Where so many a second are answered, to the last digit.
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
const std::string kTalk =
    "arrivals: { rate: 40 /s, peak: 1.5, input_tokens: 900, output_tokens: 120 }";

TEST(TransformerService, AnswersAtItsShareOfThePeak) {
  const Review r =
      served(kSmall + "replicas: 7, objective: { ttft_p99: 1 s, tpot_p99: 30 ms }, " + kTalk);
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
  EXPECT_NEAR(v.task.base(), v.answer.base(), 1e-12) << "of one call";
  EXPECT_NEAR(v.task_p99 / v.latency_p99, 1, 1e-9);
  EXPECT_NEAR(v.output_tokens_per_s, 40 * 120, 1e-9);
  EXPECT_NEAR(v.error, std::hypot(serving_error(a.device.device(), a.q), 0.28), 1e-12);
  EXPECT_EQ(v.basis, Basis::fitted);
  EXPECT_EQ(v.reference, "docs/models/serving.md");
  expect_at(with_guests(v, PerSecond(20), *r.machine),
            a.carrying(PerSecond(80.0 / 7), most.concurrency));
}

// More than they carry: at the most that is promised.
TEST(TransformerService, ThatIsTooSmallStandsAtItsCapacity) {
  const Review r =
      served(kSmall +
             "replicas: 1, objective: { tpot_p99: 12 ms }, arrivals: { rate: 4000 /s, "
             "input_tokens: 900, output_tokens: 120 }");
  const Asked a(r);
  const serving::ServingPoint most = capacity(a.replica, a.v.request, a.target, a.costs);
  expect_at(a.v, most);
  EXPECT_EQ(a.v.availability, 0);
}

// Whole requests within 3 s: the most that decode in whole numbers.
TEST(TransformerService, EndsWithinItsBound) {
  const Review r = served(kSmall + "objective: { latency_p99: 2 s }, " + kTalk);
  const Asked a(r);
  double most = 1;
  while (a.at(most + 1).whole_p99 <= seconds(2)) ++most;
  EXPECT_GT(most, 4);
  EXPECT_NEAR(a.v.capacity_per_replica / a.at(most).requests, 1, 1e-12) << most;
  // Not even one: a tenth under what a single request takes.
  const double alone = a.at(1).whole_p99.base();
  const Review none = served(
      kSmall + "objective: { latency_p99: " + std::to_string(alone * 0.98e3) + " ms }, " + kTalk);
  EXPECT_EQ(none.serves[0].infeasible, "not even one request meets the objective on this split");
  const Review never = served(kSmall + "objective: { ttft_p99: 1 us }, " + kTalk);
  EXPECT_EQ(never.serves[0].infeasible, "not even one request meets the objective on this split");
}

// As many as have three in flight each, hour by hour; latencies are those of the busiest.
TEST(TransformerService, FollowsTheLoadOfTheDay) {
  const Review r = served(kSmall + "autoscale: { min: 3, max: 40, target: 3 }, " + kTalk);
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

TEST(TransformerService, WithAdaptersTellsTheirSlots) {
  const Review r =
      served(kSmall + "replicas: 2, adapters: { count: 64, slots: 4, rank: 16 }, " + kTalk);
  const Asked a(r);
  ASSERT_TRUE(a.v.feasible()) << a.v.infeasible;
  ASSERT_TRUE(a.v.adapters.adapters.any());
  const serving::ServingPoint most = capacity(a.replica, a.v.request, a.target, a.costs);
  const jobs::AdapterView there =
      jobs::adapter_view(a.replica, a.carrying(PerSecond(30), most.concurrency), a.v.request);
  EXPECT_NEAR(a.v.adapters.slots.loads / there.slots.loads, 1, 0.01);
  EXPECT_NEAR(a.v.adapters.wait / there.wait, 1, 0.02);
}

}  // namespace
}  // namespace orrery::review
