// Services at their edges: pools apart that are too small, drafts and models that are not there,
// wires that are narrower than drives, zones whose workload may not leave its country.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "layers/serving/disaggregated.h"
#include "layers/traffic/fleet.h"
#include "model/design_text/read_design.h"
#include "model/jobs/apart_size.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/failover_ways.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/replica_start.h"
#include "model/jobs/request_shape.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

machine::Machine edge_service(const std::string& serve, const std::string& fleet = "",
                              const std::string& fabric = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsites:\n  - { name: one, region: usa }\n  - { name: two, region: deu "
      "}\nfleet:\n  - { name: f, node: dgx-h100, count: 4, site: one" +
          fleet + " }\n  - { name: g, node: dgx-h100, count: 4, site: two }\n" + fabric +
          "storage:\n  - { name: fast, tier: hot, site: one, kind: parallel-fs, read: 40 GB/s, "
          "write: 9 GB/s, capacity: 200 TB }\nworkloads:\n  - serve: { model: llama-3-8b, " +
          serve + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return build_machine(d.value(), machine::known());
}

const design::Serve& edge_serve(const machine::Machine& m) {
  return std::get<design::Serve>(m.design().workloads[0].task);
}

TEST(ServiceEdges, pools_apart_carry_what_their_full_batch_does) {
  const ServingQuery q{.model = *machine::known().catalog().model("llama-3-8b"),
                       .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                       .engine = "vllm",
                       .request = {.input = 500, .output = 100}};
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs device = serving_costs(machine::known(), q);
  const serving::ServingCosts costs = serving_source(device);
  const auto size = [&](double peak, std::optional<int> prefill) {
    return apart_size(replica, costs, q.request, {}, gbytes_per_s(50),
                      {.peak = PerSecond(peak), .prefill = prefill});
  };
  const jobs::ApartSize open = size(5, std::nullopt);
  ASSERT_GT(open.running, 1);
  const serving::DisaggregatedPoint full =
      disaggregated_loop({.replica = replica, .costs = costs, .replicas = 1e6},
                         {.replica = replica, .costs = costs, .replicas = 1}, q.request,
                         open.running, gbytes_per_s(50));
  EXPECT_EQ(open.decode_rate, full.requests);
  EXPECT_DOUBLE_EQ(open.prefill_rate.base(), 1 / full.prefill.base());
  const double each = open.prefill_rate.base();
  EXPECT_EQ(size(3 * each, 2).infeasible,
            fmt::format("2 prefill replicas take {:.1f} prompts a second, {:.1f} come", 2 * each,
                        3 * each));
  EXPECT_NE(size(2 * each, 2).infeasible, "") << "a queue that is always full never ends";
}

TEST(ServiceEdges, a_draft_speeds_up_a_model_that_is_there) {
  const machine::Machine m = edge_service("arrivals: { rate: 1 /s, trace: chat }");
  design::Serve serve = edge_serve(m);
  EXPECT_EQ(request_of(m, serve).checked_per_step, 1);
  serve.draft_model = "llama-3-8b";
  EXPECT_EQ(request_of(m, serve).checked_per_step, 4);
  EXPECT_DOUBLE_EQ(request_of(m, serve).accepted_per_step, 2.3 / 4) << "as large as the model";
  serve.draft_model = "nobody";
  EXPECT_EQ(request_of(m, serve).checked_per_step, 1);
  serve.draft_model = "llama-3-8b";
  serve.model = "";
  EXPECT_EQ(request_of(m, serve).checked_per_step, 1);
  serve.model = "nobody";
  EXPECT_EQ(request_of(m, serve).accepted_per_step, 1);
}

// Two storage ports of 10 Gb/s are 2.5 GB/s; drives in the node are not behind them.
TEST(ServiceEdges, wires_bind_what_comes_over_them) {
  const machine::Machine m = edge_service("arrivals: { rate: 1 /s, trace: chat }", "",
                                          "fabric:\n  storage: { port_rate: 10 Gb/s }\n");
  const machine::Tier& drives = *find_tier(m.tiers, "node-nvme");
  ASSERT_GT(drives.read, gbytes_per_s(2.5));
  EXPECT_EQ(weights_rate(m, drives, m.fleets[design::FleetIndex(0)], 1000), drives.read);
  EXPECT_DOUBLE_EQ(
      weights_rate(m, *find_tier(m.tiers, "fast"), m.fleets[design::FleetIndex(0)], 1000).base(),
      2.5e9);
  // A rented fleet is on wires that nobody knows.
  const machine::Machine rented =
      edge_service("arrivals: { rate: 1 /s, trace: chat }", ", rent: { provider: aws }");
  EXPECT_EQ(weights_rate(rented, *find_tier(rented.tiers, "fast"),
                         rented.fleets[design::FleetIndex(0)], 1000),
            gbytes_per_s(40));
}

TEST(ServiceEdges, of_a_tier_that_reads_nothing_a_start_is_the_usual_one) {
  machine::Machine m = edge_service("arrivals: { rate: 1 /s, trace: chat }, weights_tier: fast");
  const Seconds with = replica_start(m, edge_serve(m), m.fleets[design::FleetIndex(0)], 1);
  for (machine::Tier& t : m.tiers) t.read = BytesPerSecond(0);
  const Seconds without = replica_start(m, edge_serve(m), m.fleets[design::FleetIndex(0)], 1);
  EXPECT_DOUBLE_EQ(without.base(), traffic::ColdStart{}.total());
  EXPECT_NE(without, with);
}

TEST(ServiceEdges, a_workload_stays_in_its_country) {
  const machine::Machine m = edge_service(
      "arrivals: { rate: 1 /s, trace: chat }, zones: [{ site: one, share: 0.5, failover: [two] }, "
      "{ site: two, share: 0.5 }]",
      "", "fabric:\n  wan: [{ between: [one, two], rate: 8 Gb/s, latency: 30 ms }]\n");
  design::Workload w = m.design().workloads[0];
  ASSERT_EQ(failover_ways(m, w, 0).size(), 1U);
  EXPECT_EQ(failover_ways(m, w, 0)[0].zone, 1U);
  EXPECT_EQ(failover_ways(m, w, 1).size(), 0U) << "it names nobody";
  w.terms.residency = "usa";
  EXPECT_EQ(failover_ways(m, w, 0).size(), 0U);
  w.terms.residency = "deu";
  EXPECT_EQ(failover_ways(m, w, 0).size(), 1U);
}

}  // namespace
}  // namespace orrery::jobs
