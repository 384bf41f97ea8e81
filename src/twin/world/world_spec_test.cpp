// A machine's fleets as a world counts them: hosts, spares, power, spot notices.
#include "twin/world/world_spec.h"

#include <gtest/gtest.h>

#include <functional>

#include "model/jobs/build_machine.h"
#include "twin/world/sample_fixture.h"

namespace orrery::world {

namespace {

struct CountedFleet {
  explicit CountedFleet(const std::function<void(design::Fleet&)>& change,
                        const std::function<void(design::Design&)>& also = {}) {
    design::Design d = sample_design();
    d.workloads.clear();
    d.fleet.front().count = 8;
    change(d.fleet.front());
    if (also) also(d);
    m = jobs::build_machine(std::move(d), machine::known());
    part = world_spec_of(m, days(1)).fleets.front();
  }
  facility::NodePower node() const {
    return *facility::node_power_of(m.fleets[kFirstFleet].node.part,
                                    m.fleets[kFirstFleet].accelerator());
  }
  machine::Machine m;
  FleetPart part;
};

TEST(WorldSpec, a_fleet_is_counted_as_designed) {
  const CountedFleet f([](design::Fleet& fleet) {
    fleet.spares = 2;
    fleet.nodes_per_rack = 3;
    fleet.pdu_rating = kilowatts(77);
    fleet.failures.lemon_share = 0.05;
    fleet.failures.lemon_factor = 12;
    fleet.failures.repair = hours(31);
    fleet.failures.straggler_share = 0.02;
    fleet.failures.straggler_slowdown = 0.4;
    fleet.failures.racks_per_pdu = 5;
  });
  EXPECT_EQ(f.part.hosts, 8);
  EXPECT_EQ(f.part.spares, 2);
  EXPECT_EQ(f.part.all_hosts(), 10);
  EXPECT_EQ(f.part.accelerators_per_host, 8);
  EXPECT_EQ(f.part.slots_per_host, 8);
  EXPECT_EQ(f.part.lemons.share, 0.05);
  EXPECT_EQ(f.part.lemons.multiplier, 12);
  EXPECT_EQ(f.part.repair_given, hours(31));
  EXPECT_EQ(f.part.straggler_share, 0.02);
  EXPECT_EQ(f.part.straggler_slowdown, 0.4);
  EXPECT_EQ(f.part.hosts_per_rack, 3);
  EXPECT_EQ(f.part.racks_per_pdu, 5);
  EXPECT_EQ(f.part.pdu_rating, kilowatts(77));
  EXPECT_NEAR(f.part.rack_limit.base(), 44e3, 1e-6);
  EXPECT_EQ(f.part.site, design::SiteIndex(0));
  EXPECT_EQ(f.part.storm.reach, 0);
  EXPECT_EQ(f.part.storm.left, 1);
  EXPECT_EQ(f.part.taken_back.name, "spot host taken back");
  EXPECT_EQ(f.part.taken_back.scope, failure::FaultScope::host);
  EXPECT_FALSE(f.part.taken_back.keeps_disk);
  EXPECT_EQ(f.part.taken_back.notice, Seconds(0));
}

// Eighteen hosts in a rack that is one node: they share its draw.
TEST(WorldSpec, hosts_of_one_node_divide_its_draw) {
  const CountedFleet f([](design::Fleet& fleet) {
    fleet.node = "gb200-nvl72";
    fleet.count = 2;
    fleet.spares = 1;
  });
  EXPECT_EQ(f.part.hosts, 36);
  EXPECT_EQ(f.part.spares, 18);
  EXPECT_EQ(f.part.accelerators_per_host, 4);
  const facility::NodePower node = f.node();
  EXPECT_GT(node.nameplate, kilowatts(100));
  EXPECT_NEAR(f.part.host_power.nameplate.base(), node.nameplate.base() / 18, 1e-6);
  EXPECT_NEAR(f.part.host_power.peak.base(), node.peak.base() / 18, 1e-6);
  EXPECT_NEAR(f.part.host_power.idle.base(), node.idle.base() / 18, 1e-6);
  EXPECT_NEAR(f.part.host_power.accelerators.base(), node.accelerators.base() / 18, 1e-6);
}

// Eight accelerators of 700 W that may draw 500: 1,600 W less at nameplate.
TEST(WorldSpec, a_power_cap_lowers_the_draw_of_hosts) {
  const CountedFleet f([](design::Fleet& fleet) { fleet.power_cap = watts(500); });
  const facility::NodePower node = f.node();
  EXPECT_NEAR(f.part.host_power.nameplate.base(), node.nameplate.base() - 1600, 1e-6);
  const double sustained = 5600 * (node.peak / node.nameplate);
  EXPECT_NEAR(f.part.host_power.peak.base(), node.peak.base() - (sustained - 4000), 1e-6);
  EXPECT_EQ(f.part.host_power.idle, node.idle);
}

TEST(WorldSpec, a_spot_host_has_the_notice_of_its_provider) {
  const auto notice = [](const char* provider) {
    return CountedFleet([&](design::Fleet& fleet) {
             fleet.rent = design::Rent{.provider = provider, .contract = catalog::Contract::spot};
           })
        .part.taken_back.notice;
  };
  EXPECT_EQ(notice("aws"), seconds(120));
  EXPECT_EQ(notice("gcp"), seconds(30));
  EXPECT_EQ(notice("nobody-knows"), seconds(30)) << "the shortest that is known";
  EXPECT_EQ(notice(""), seconds(30));
}

TEST(WorldSpec, a_fleet_belongs_to_the_site_it_names) {
  const CountedFleet f([](design::Fleet& fleet) { fleet.site = "second"; },
                       [](design::Design& d) {
                         design::Site other = d.sites.front();
                         other.name = "second";
                         d.sites.push_back(other);
                       });
  EXPECT_EQ(f.part.site, design::SiteIndex(1));
}

}  // namespace
}  // namespace orrery::world
