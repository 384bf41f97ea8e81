#include "model/machine/failure_source.h"

#include <gtest/gtest.h>

#include <string>

#include "layers/cost/rental.h"
#include "layers/failure/rates.h"
#include "model/design_text/value_reader.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

// A fleet of 127 nodes fails as the published runs of that size do, between OPT's 14.1 and RSC-1's
// 23.7 per 1000 node-days; lemons and the design's own rate change that.
TEST(FailureSource, design_overrides_the_published_rate) {
  design::Design d = template_design("superpod-h100");
  const auto rate = [&d] {
    const Machine m = lay_out(d, known());
    return m.failures_of(m.fleets[design::FleetIndex(0)]).rate.base() * 86400;
  };
  EXPECT_GT(rate(), 14.1e-3);
  EXPECT_LT(rate(), 23.7e-3);
  d.fleet[0].failures.node_mtbf = days(50);
  EXPECT_NEAR(rate(), 1.0 / 50, 1e-12);
  d.fleet[0].failures.lemon_share = 0.1;
  d.fleet[0].failures.lemon_factor = 5;
  EXPECT_NEAR(rate(), (0.9 + 0.1 * 5) / 50, 1e-12);
}

TEST(FailureSource, published_rate_depends_on_the_size_of_the_run) {
  const Machine m = lay_out(small_design(""), known());
  for (const int hosts : {1, 40, 2000}) {
    const FailureSource s = failure_source(m.fleets[design::FleetIndex(0)], known(), hosts);
    EXPECT_DOUBLE_EQ(s.base.base(),
                     failure::published_rate(known().failure_rates, hosts).per_node.base());
  }
  EXPECT_NE(failure_source(m.fleets[design::FleetIndex(0)], known(), 1).base,
            failure_source(m.fleets[design::FleetIndex(0)], known(), 2000).base);
}

TEST(FailureSource, rate_and_interval_come_from_the_design_or_published_runs) {
  const auto source = [](const std::string& fleet, const Models& models = known()) {
    const Machine m =
        machine_of_two_sites("  - { name: a, node: dgx-h100, count: 4" + fleet + " }\n");
    return failure_source(m.fleets[design::FleetIndex(0)], models, 4);
  };
  const FailureSource own = source(", failures: { node_mtbf: 50 d, shape: 0.8 }");
  EXPECT_TRUE(own.own);
  EXPECT_DOUBLE_EQ(own.base * days(50), 1);
  EXPECT_EQ(own.shape, 0.8);
  EXPECT_EQ(own.high, 1.5) << "a given MTBF is known within 50 %";
  EXPECT_DOUBLE_EQ(own.low, 1 / 1.5);
  const FailureSource published = source("");
  EXPECT_FALSE(published.own);
  const auto row = failure::published_rate(known().failure_rates, 4);
  EXPECT_DOUBLE_EQ(published.base.base(), row.per_node.base());
  EXPECT_DOUBLE_EQ(published.high, row.factor);
  EXPECT_DOUBLE_EQ(published.low, 1 / row.factor);
  EXPECT_EQ(published.shape, 1);
  Models none = known();
  none.failure_rates.clear();
  const FailureSource assumed = source("", none);
  EXPECT_DOUBLE_EQ(assumed.base * days(264), 1);
  EXPECT_EQ(assumed.low, 0);
  EXPECT_EQ(assumed.high, 0);
  const FailureSource lemons =
      source(", failures: { node_mtbf: 50 d, lemon_share: 0.2, lemon_factor: 6 }");
  EXPECT_DOUBLE_EQ(lemons.rate * days(50), 0.8 + 0.2 * 6);
  EXPECT_DOUBLE_EQ(lemons.base * days(50), 1);
}

// 20 hosts depend on three leaves of 8 hosts and on five power units of 4.
TEST(FailureSource, shared_parts_take_all_their_hosts) {
  FailureSource s{.base = PerSecond(1), .rate = PerSecond(1)};
  add_shared_faults(s,
                    {.link_mtbf = seconds(2),
                     .storm_mtbf = seconds(4),
                     .leaf_mtbf = seconds(8),
                     .pdu_mtbf = seconds(16),
                     .racks_per_pdu = 2},
                    {.ports = 3, .hosts_per_leaf = 8, .hosts_per_rack = 2});
  EXPECT_DOUBLE_EQ(s.links.base(), 1.5);
  EXPECT_DOUBLE_EQ(s.storms.base(), 0.75);
  EXPECT_DOUBLE_EQ(s.rate.base(), 3.25);
  ASSERT_EQ(s.shared.size(), 2U);
  EXPECT_EQ(s.shared[0].part, SharedPart::leaf_switch);
  EXPECT_DOUBLE_EQ(s.shared[0].rate.base(), 0.125);
  EXPECT_EQ(s.shared[0].hosts, 8);
  EXPECT_EQ(s.shared[1].part, SharedPart::power_unit);
  EXPECT_DOUBLE_EQ(s.shared[1].rate.base(), 0.0625);
  EXPECT_EQ(s.shared[1].hosts, 4);
  EXPECT_DOUBLE_EQ(s.shared_rate(20).base(), 3 * 0.125 + 5 * 0.0625);
  EXPECT_DOUBLE_EQ(s.shared_rate(16).base(), 2 * 0.125 + 4 * 0.0625);
  EXPECT_DOUBLE_EQ(s.host_rate().base(), 1 + 1.5 + 0.75 + 0.1875);
  FailureSource least;
  add_shared_faults(least, {.leaf_mtbf = seconds(8), .pdu_mtbf = seconds(16)},
                    {.hosts_per_leaf = 0, .hosts_per_rack = 0});
  EXPECT_EQ(least.shared[0].hosts, 1);
  EXPECT_EQ(least.shared[1].hosts, 1);
  EXPECT_EQ(least.rate, PerSecond(0));
}

// Interruptions of spot nodes come on top of failures: 10 % of the nodes per month if nothing is
// known.
TEST(FailureSource, spot_interruptions_add_to_failures) {
  const auto source = [](const std::string& rent) {
    const Machine m = machine_of_two_sites(
        "  - { name: a, node: dgx-h100, count: 4, failures: { node_mtbf: 50 d }, rent: { provider: "
        "aws" +
        rent + " } }\n");
    return failure_source(m.fleets[design::FleetIndex(0)], known(), 4);
  };
  const FailureSource given = source(", contract: spot, interruption: 0.25");
  EXPECT_DOUBLE_EQ(given.spot.base(), cost::spot_hazard(0.25).base());
  EXPECT_DOUBLE_EQ(given.rate.base(), given.base.base() + given.spot.base());
  EXPECT_EQ(source(", contract: on-demand, interruption: 0.25").spot, PerSecond(0));
  double share = 0.10;
  for (const catalog::SpotBand& b : known().catalog().spot_bands) {
    if (b.accelerator_id == "h100-sxm" && b.low_month && b.high_month) {
      share = (*b.low_month + *b.high_month) / 2;
    }
  }
  EXPECT_DOUBLE_EQ(source(", contract: spot").spot.base(), cost::spot_hazard(share).base());
}

}  // namespace
}  // namespace orrery::machine
