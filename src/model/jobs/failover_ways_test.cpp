#include "model/jobs/failover_ways.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "layers/traffic/fleet.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

TEST(FailoverWays, ways_follow_the_zones_order_and_residency) {
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
  EXPECT_NEAR(both[0].carry.base(), 4 * 1000 / 0.5e9, 1e-15) << "four bytes per token";
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

TEST(FailoverWays, workload_stays_in_its_country) {
  const machine::Machine m = edge_service(
      "arrivals: { rate: 1 /s, trace: chat }, zones: [{ site: one, share: 0.5, failover: [two] }, "
      "{ site: two, share: 0.5 }]",
      "", "fabric:\n  wan: [{ between: [one, two], rate: 8 Gb/s, latency: 30 ms }]\n");
  design::Workload w = m.design().workloads[0];
  ASSERT_EQ(failover_ways(m, w, 0).size(), 1U);
  EXPECT_EQ(failover_ways(m, w, 0)[0].zone, 1U);
  EXPECT_EQ(failover_ways(m, w, 1).size(), 0U) << "this zone names no failover";
  w.terms.residency = "usa";
  EXPECT_EQ(failover_ways(m, w, 0).size(), 0U);
  w.terms.residency = "deu";
  EXPECT_EQ(failover_ways(m, w, 0).size(), 1U);
}

TEST(FailoverWays, zone_runs_on_the_named_fleet_or_the_first_of_its_site) {
  const machine::Machine m = served("arrivals: { rate: 1 /s, trace: chat }");
  EXPECT_EQ(fleet_of_zone(m.fleets, {.site = "two"}), &m.fleets[design::FleetIndex(1)]);
  EXPECT_EQ(fleet_of_zone(m.fleets, {.site = "two", .fleet = "h"}), &m.fleets[design::FleetIndex(2)]);
  EXPECT_EQ(fleet_of_zone(m.fleets, {.site = "none"}), nullptr);
}

}  // namespace
}  // namespace orrery::jobs
