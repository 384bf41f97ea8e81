// Services whose prefill and decode stand apart, by hand; what forbids a replica, word for word;
// zones, and views told again of another design.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "layers/serving/disaggregated.h"
#include "model/design_text/read_design.h"
#include "model/jobs/apart_size.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_query.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"

namespace orrery::review {
namespace {

Review served_on(const std::string& fleet, const std::string& serve) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, " + fleet +
          " }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 } }\nstorage:\n"
          "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
          "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\nworkloads:\n"
          "  - serve: { name: s, " +
          serve + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

const std::string kNodes = "node: dgx-h100, count: 8";

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
  // The first load, each a twentieth above the last, at which so many are answered.
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

// Waits have an exponential tail of ln 100 means, prompts are as long as their p99, and what is
// looked up before them adds by its squares.
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

TEST(ApartService, HasReplicasOfEachKind) {
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

TEST(ApartService, WaitsForItsIndexToo) {
  const Review r = served_on(
      kNodes,
      "model: llama-3-8b, tp: 1, disaggregated: true, retrieval: { tier: fast, index: 2 TB, reads: "
      "40, hops: 4 }, arrivals: { rate: 30 /s, input_tokens: 1500, output_tokens: 90 }");
  const Apart a(r);
  EXPECT_GT(r.serves[0].request.before_p99, r.serves[0].request.before);
  expect_apart(r.serves[0], a, a.carrying(30));
}

TEST(ApartService, TakesThePrefillReplicasThatAreGiven) {
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
  EXPECT_EQ(few.serves[0].infeasible.find("1 prefill replicas take "), 0U);
}

TEST(ApartService, IsNotOfCores) {
  const Review r = served_on("node: cpu-2s-server, count: 6",
                             "model: llama-3-8b, tp: 1, arrivals: { rate: 1 /s, input_tokens: 400, "
                             "output_tokens: 50 }");
  EXPECT_TRUE(r.serves[0].feasible()) << r.serves[0].infeasible;
  EXPECT_EQ(r.serves[0].basis, Basis::assumed);
  EXPECT_STREQ(r.serves[0].devices_word(), "hosts");
  design::Design d = r.design();
  std::get<design::Serve>(d.workloads[0].task).disaggregated = true;
  EXPECT_EQ(run_stages(std::move(d), machine::known()).serves[0].infeasible,
            "prefill and decode apart on cores are not modelled");
}

TEST(ServiceFaults, AreSaidWordForWord) {
  const auto fault = [](const std::string& fleet, const std::string& model) {
    return served_on(fleet,
                     model + ", arrivals: { rate: 1 /s, input_tokens: 400, output_tokens: 50 }")
        .serves.at(0)
        .infeasible;
  };
  EXPECT_EQ(fault(kNodes, "model: llama-3-8b, precision: nvfp4"),
            "h100-sxm has no fp4 products for `precision: nvfp4`");
  EXPECT_EQ(fault(kNodes, "model: llama-3.1-405b"),
            "weights and one request do not fit 8 accelerators of 80 GB");
  // 405.9 billion weights of two bytes.
  EXPECT_EQ(fault(kNodes, "model: llama-3.1-405b, tp: 4").find("weights of "), 0U);
  EXPECT_EQ(fault("node: dgx-h200, count: 8, mig: { 1g.18gb: 7 }", "model: llama-3-8b"),
            "weights of 15 GiB leave no room for a request on a slice of h200-sxm");
}

// Zones by their share of what comes; those of one site are told apart by their fleets.
TEST(ServiceZones, HaveTheirShareOfTheTraffic) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsites: [{ name: here, region: usa }, { name: there, region: usa }]\n"
      "fleet:\n  - { name: f, node: dgx-h100, count: 2, site: here }\n"
      "  - { name: g, node: dgx-h100, count: 3, site: here }\n"
      "  - { name: h, node: dgx-h100, count: 4, site: there }\n"
      "workloads:\n  - serve: { name: s, model: llama-3-8b, tp: 1, nodes: 1, arrivals: { rate: 30 "
      "/s, peak: 2, input_tokens: 800, output_tokens: 100 }, zones: [{ site: here, fleet: g, "
      "share: 0.3 }, { site: here, fleet: f, share: 0.1 }, { site: there, share: 0.6 }] }\n",
      machine::known().catalog());
  ASSERT_TRUE(d) << to_text(d.error());
  const Review r = run_stages(*d, machine::known());
  ASSERT_EQ(r.serves.size(), 3U);
  const struct {
    const char* label;
    double rate;
    double devices;
  } zones[] = {{"s in here, g", 9, 24}, {"s in here, f", 3, 16}, {"s in there", 18, 32}};
  for (std::size_t i = 0; i < 3; ++i) {
    const ServeView& v = r.serves[i];
    EXPECT_EQ(v.label, zones[i].label);
    EXPECT_EQ(v.zone, i);
    EXPECT_NEAR(v.rate.base(), zones[i].rate, 1e-9);
    EXPECT_NEAR(v.peak.base(), 2 * zones[i].rate, 1e-9);
    EXPECT_NEAR(v.day[15], 2 * zones[i].rate, 1e-6);
    EXPECT_NEAR(v.share, zones[i].rate / 30, 1e-12);
    EXPECT_EQ(v.devices_there, zones[i].devices) << "`nodes` are not of a zone";
  }
  EXPECT_EQ(r.serves[0].fleet, &r.fleets()[design::FleetIndex(1)]);
  EXPECT_EQ(r.serves[1].fleet, &r.fleets()[design::FleetIndex(0)]);
}

// Equal services keep their figures, and point into the design at hand.
TEST(ServiceViews, AreToldOfAnotherDesign) {
  const Review& first = lab_review("chatbot-zones");
  design::Design d = first.design();
  d.economics.power_price = usd_per_kwh(0.2);
  const Review again = run_stages(std::move(d), machine::known(), &first);
  ASSERT_EQ(again.serves.size(), 3U);
  const design::Workload& w = again.design().workloads[0];
  for (std::size_t i = 0; i < 3; ++i) {
    const ServeView& v = again.serves[i];
    EXPECT_EQ(v.workload, &w);
    EXPECT_EQ(v.serve, &std::get<design::Serve>(w.task));
    EXPECT_EQ(v.path, "workloads[0].serve");
    EXPECT_EQ(v.fleet, &again.fleets()[design::FleetIndex(i)]);
    EXPECT_EQ(v.zone, i);
    EXPECT_EQ(v.label, first.serves[i].label);
    EXPECT_EQ(v.model, find_model(again.design(), again.catalog(), "llama-3-70b"));
    EXPECT_EQ(v.ttft, first.serves[i].ttft);
    EXPECT_EQ(v.replicas, first.serves[i].replicas);
    EXPECT_EQ(v.failover.has_value(), first.serves[i].failover.has_value());
  }
}

}  // namespace
}  // namespace orrery::review
