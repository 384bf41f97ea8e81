// Services with separate prefill and decode, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/serving/disaggregated.h"
#include "model/jobs/apart_size.h"
#include "model/jobs/request_shape.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/service_review_fixture.h"

namespace orrery::review {
namespace {

struct Apart {
  explicit Apart(const Review& r, std::optional<int> prefill = {}) : v(r.serves.at(0)) {
    jobs::ServingQuery q = v.query;
    q.split.tp = v.devices_per_replica;
    replica = replica_of(r.models(), q).value();
    device.emplace(serving_costs(r.models(), q));
    costs = serving_source(*device);
    link = gbits_per_s(400) * v.devices_per_replica;
    size = jobs::apart_size(replica, costs, v.request, jobs::target_of(*v.serve, v.request.output),
                            link, {.peak = v.peak, .prefill = prefill, .load = 0.8});
  }
  serving::DisaggregatedPoint at(double concurrency) const {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = size.prefill},
                              {.replica = replica, .costs = costs, .replicas = size.decode},
                              v.request, concurrency, link);
  }
  // The first load, in steps of 5 %, at which `rate` requests per second are answered.
  serving::DisaggregatedPoint carrying(double rate) const {
    double c = 1;
    while (at(c).requests.base() < rate && c * 1.05 < size.decode * size.running) c *= 1.05;
    return at(c);
  }

  const ServeView& v;
  serving::Replica replica;
  std::optional<machine::Costs> device;
  serving::ServingCosts costs;
  BytesPerSecond link;
  jobs::ApartSize size;
};

// Waits have an exponential tail of ln 100 means, prompts are as long as their p99, and retrieval
// before them adds in squares.
void expect_apart(const ServeView& v, const Apart& a, const serving::DisaggregatedPoint& at) {
  const double fixed =
      (at.prefill + at.transfer + a.replica.engine.first_token + a.replica.tuning.first_token)
          .base();
  const double longer = std::max(1.0, v.request.input_p99 / v.request.input);
  const double engine = fixed + std::max(0.0, at.ttft.base() - fixed) * std::log(100) +
                        at.prefill.base() * (longer - 1);
  const double late = engine - at.ttft.base();
  const double before = (v.request.before_p99 - v.request.before).base();
  EXPECT_NEAR(v.ttft.base(), (v.request.before + at.ttft).base(), 1e-12);
  EXPECT_NEAR(v.ttft_p99.base(),
              v.request.before.base() + at.ttft.base() + std::hypot(late, before), 1e-9);
  EXPECT_EQ(v.tpot, at.tpot);
  EXPECT_NEAR(v.tpot_p99.base(),
              at.tpot.base() * (1 + 2.33 / std::sqrt(std::max(1.0, at.decoding))), 1e-12);
  const double longest = std::max(v.tpot_p99.base() * v.request.output,
                                  v.tpot.base() * std::max(v.request.output, v.request.output_p99));
  EXPECT_NEAR(v.latency_p99.base(), v.ttft_p99.base() + longest, 1e-9);
  EXPECT_NEAR(v.answer.base(), v.ttft.base() + v.tpot.base() * (v.request.output - 1), 1e-9);
  EXPECT_EQ(v.device_power, at.decode_power);
  EXPECT_NEAR(v.output_tokens_per_s, v.rate.base() * v.request.output, 1e-6);
}

TEST(ServeViewApart, replicas_of_each_kind_carry_the_peak) {
  const Review r = served_on(kNodes,
                             "model: llama-3-70b, tp: 4, disaggregated: true, arrivals: { rate: 20 "
                             "/s, peak: 1.5, trace: chat }, objective: { tpot_p99: 50 ms }");
  const Apart a(r);
  const ServeView& v = r.serves[0];
  ASSERT_TRUE(v.feasible()) << v.infeasible;
  EXPECT_EQ(v.capacity_per_replica, a.size.per_replica());
  EXPECT_EQ(v.replicas_needed, a.size.prefill + a.size.decode);
  EXPECT_EQ(v.replicas, v.replicas_needed);
  EXPECT_EQ(v.devices, 4 * v.replicas);
  EXPECT_GT(v.request.input_p99, v.request.input) << "lengths of a mix differ";
  EXPECT_GT(v.request.output_p99, v.request.output);
  expect_apart(v, a, a.carrying(30));
  const ServeView full = with_guests(v, PerSecond(6), *r.machine);
  expect_apart(full, a, a.carrying(36));
  const Review fixed = served_on(kNodes,
                                 "model: llama-3-70b, tp: 4, replicas: 9, disaggregated: true, "
                                 "arrivals: { rate: 20 /s, peak: 1.5, trace: chat }, objective: { "
                                 "tpot_p99: 50 ms }");
  EXPECT_EQ(fixed.serves[0].replicas, 9);
  EXPECT_EQ(fixed.serves[0].devices, 36);
  EXPECT_EQ(fixed.serves[0].replicas_needed, v.replicas_needed);
}

TEST(ServeViewApart, retrieval_delays_the_first_token) {
  const Review r = served_on(
      kNodes,
      "model: llama-3-8b, tp: 1, disaggregated: true, retrieval: { tier: fast, index: 2 TB, reads: "
      "40, hops: 4 }, arrivals: { rate: 30 /s, input_tokens: 1500, output_tokens: 90 }");
  const Apart a(r);
  EXPECT_GT(r.serves[0].request.before_p99, r.serves[0].request.before);
  expect_apart(r.serves[0], a, a.carrying(30));
}

TEST(ServeViewApart, given_prefill_replicas_are_used) {
  const std::string serve =
      "model: llama-3-8b, tp: 1, disaggregated: true, prefill_replicas: 5, arrivals: { rate: 30 "
      "/s, input_tokens: 1500, output_tokens: 90 }";
  const Review r = served_on(kNodes, serve);
  const Apart a(r, 5);
  EXPECT_EQ(a.size.prefill, 5);
  EXPECT_EQ(r.serves[0].replicas_needed, 5 + a.size.decode);
  expect_apart(r.serves[0], a, a.carrying(30));
  design::Design d = r.design();
  std::get<design::Serve>(d.workloads[0].task).prefill_replicas = 1;
  std::get<design::Serve>(d.workloads[0].task).arrivals.rate = PerSecond(4000);
  const Review few = run_stages(std::move(d), machine::known());
  EXPECT_EQ(few.serves[0].infeasible, Apart(few, 1).size.infeasible);
}

}  // namespace
}  // namespace orrery::review
