// Services at other sizes, by hand: hosts that may be down, replicas that would do, zones' parts.
#include "plan/review/serve_sizing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

// Hosts of eight accelerators, each of which is down for `down` of the time: ten minutes a failure.
Review pod_that_fails(double down) {
  design::Design d = lab_design("inference-pod");
  d.fleet[0].failures.node_mtbf = minutes(10) / down;
  return run_stages(std::move(d), machine::known());
}

// Replicas of four accelerators, of which so many are needed at four fifths of their load.
ServeView sized(const Review& r, double replicas, double needed, int devices = 4) {
  ServeView v = r.serves.at(0);
  v.devices_per_replica = devices;
  v.replicas = replicas;
  v.replicas_needed = needed;
  return v;
}

double at_most_down(int spare, double mean) {
  double sum = 0, term = std::exp(-mean);
  for (int i = 0; i <= spare; ++i) sum += term, term *= mean / (i + 1);
  return sum;
}

TEST(ServeSizing, AvailabilityIsThatOfTheHostsThatStandBy) {
  const Review r = pod_that_fails(1 / 60.0);
  const struct {
    double replicas, needed;
    int devices;
    double hosts;
    int spare;
  } cases[] = {
      {16, 15, 4, 8, 2},      // 16 - 12 replicas stand by, two a host
      {16, 17.5, 4, 8, 1},    // two replicas
      {16, 17.6, 4, 8, 0},    // 1.92 of them are no host
      {16, 20, 4, 8, 0},      // not one
      {1, 1, 4, 1, 0},        // half a host is one that can fail
      {3, 2.5, 16, 6, 2},     // a replica on two hosts: one replica is two hosts
      {40, 15, 1, 5, 3},      // 28 stand by, eight a host
      {15, 15, 4, 7.5, 1},    // half a host fails half as often
      {100, 100, 8, 100, 20}  // a host each
  };
  for (const auto& c : cases) {
    const ServeView v = sized(r, 7, c.needed, c.devices);
    EXPECT_NEAR(availability_with(v, c.replicas, *r.machine),
                at_most_down(c.spare, c.hosts / 60), 1e-12)
        << c.replicas << " of " << c.needed;
  }
  EXPECT_EQ(availability_with(sized(r, 16, 20.01), 16, *r.machine), 0) << "too few before";
  EXPECT_GT(availability_with(sized(r, 16, 20 + 1e-9), 16, *r.machine), 0) << "to rounding";
}

TEST(ServeSizing, WhatIsLeftWhenOneMoreHostIsDown) {
  const Review r = pod_that_fails(1 / 60.0);
  EXPECT_NEAR(replicas_when_short(sized(r, 16, 15)), 16 * (1 - 3 / 8.0), 1e-12);
  EXPECT_NEAR(replicas_when_short(sized(r, 16, 20)), 14, 1e-12);
  EXPECT_EQ(replicas_when_short(sized(r, 1, 1)), 0);
  EXPECT_EQ(replicas_when_short(sized(r, 16, 0)), 0) << "nine of eight hosts";
  EXPECT_NEAR(replicas_when_short(sized(r, 3, 2.5, 16)), 1.5, 1e-12);
}

// Availabilities of 15 to 20 replicas of which 15 are needed, in 1e-6: 992809, 999642, 999574,
// 999981, 999977, 999999.
TEST(ServeSizing, TheLeastThatAreUpOftenEnough) {
  const Review r = pod_that_fails(1 / 60.0);
  design::Workload asks = *r.serves[0].workload;
  ServeView v = sized(r, 15, 15);
  v.workload = &asks;
  const auto enough = [&](double wanted) {
    asks.terms.availability = wanted;
    const auto found = replicas_for_availability(v, wanted, *r.machine);
    EXPECT_EQ(found.value_or(0), enough_replicas(v, *r.machine)) << wanted;
    return enough_replicas(v, *r.machine);
  };
  EXPECT_EQ(enough(0.99), 15);
  EXPECT_EQ(enough(0.993), 16);
  EXPECT_EQ(enough(0.9996), 16);
  EXPECT_EQ(enough(0.9997), 18) << "half a host more only fails more often";
  EXPECT_EQ(enough(0.99998), 18);
  EXPECT_EQ(enough(0.99999), 20);
  asks.terms.availability.reset();
  EXPECT_EQ(enough_replicas(v, *r.machine), 15);
  v.replicas = 17.5;
  EXPECT_EQ(replicas_for_availability(v, 0.99, *r.machine), 18) << "from those it has on";
}

// A host each half hour or so is down: two are needed, 66 are up for 0.7041 of the time, 68 for
// 0.7075 and 70 for 0.7108.
TEST(ServeSizing, NoMoreThanTwiceAsManyAndSixtyFourAreTried) {
  const Review r = pod_that_fails(0.9);
  design::Workload asks = *r.serves[0].workload;
  asks.terms.availability = 0.706;
  ServeView v = sized(r, 2, 2);
  v.workload = &asks;
  EXPECT_EQ(enough_replicas(v, *r.machine), 68);
  EXPECT_EQ(replicas_for_availability(v, 0.706, *r.machine), 68);
  asks.terms.availability = 0.709;
  EXPECT_EQ(replicas_for_availability(v, 0.709, *r.machine), std::nullopt);
  EXPECT_EQ(enough_replicas(v, *r.machine), 2);
  v.replicas = 5;
  EXPECT_EQ(enough_replicas(v, *r.machine), 5) << "none is enough: those it has";
  v.replicas = 1;
  EXPECT_EQ(enough_replicas(v, *r.machine), 2) << "and never fewer than the peak needs";
}

// 260 are up for 0.8920 of the time, 261 for 0.9215, 262 for 0.9187: every second is tried.
TEST(ServeSizing, ALargeServiceIsTriedInSteps) {
  const Review r = pod_that_fails(1 / 6.0);
  design::Workload asks = *r.serves[0].workload;
  asks.terms.availability = 0.9;
  ServeView v = sized(r, 256, 256);
  v.workload = &asks;
  EXPECT_EQ(enough_replicas(v, *r.machine), 262);
  EXPECT_EQ(replicas_for_availability(v, 0.9, *r.machine), 262);
  // From 255 on every one is tried, and of 256 needed 261 are the first.
  v.replicas = 255;
  EXPECT_EQ(replicas_for_availability(v, 0.9, *r.machine), 261);
}

// Peak and guests over what one carries, all of it while a site is lost; of its own peak, four
// fifths.
TEST(ServeSizing, UsersOfALostSiteAreCarriedToo) {
  const Review r = pod_that_fails(1 / 60.0);
  design::Workload asks = *r.serves[0].workload;
  asks.terms.availability.reset();
  ServeView v = sized(r, 3, 10);
  v.workload = &asks;
  v.peak = PerSecond(80);
  v.capacity_per_replica = PerSecond(10);
  EXPECT_EQ(enough_replicas(v, *r.machine), 10);
  v.guests_asked = PerSecond(30.5);
  EXPECT_EQ(enough_replicas(v, *r.machine), 12);
  v.guests_asked = PerSecond(5);
  EXPECT_EQ(enough_replicas(v, *r.machine), 10);
  v.guests_asked = PerSecond();
  v.peak = PerSecond(500);
  EXPECT_EQ(enough_replicas(v, *r.machine), 10) << "nobody is to come";
  v.replicas_needed = 10.4;
  EXPECT_EQ(enough_replicas(v, *r.machine), 11) << "whole ones";
}

TEST(ServeSizing, AZoneHasItsShare) {
  const Review& r = lab_review("chatbot-zones");
  ServeView v = r.serves.at(2);
  const struct {
    double share;
    int all;
    double here;
  } cases[] = {{1, 16, 16},   {0.25, 10, 3}, {0.25, 9, 2}, {0.29, 50, 15},
               {0.01, 20, 1}, {0.35, 20, 7}, {0.33, 4, 1}, {0.4, 4, 2}};
  for (const auto& c : cases) {
    v.share = c.share;
    EXPECT_EQ(v.replicas_here(c.all), c.here) << c.share << " of " << c.all;
  }
}

TEST(ServeSizing, ReplicasAreGivenByTheZoneOrTheService) {
  const Review& r = lab_review("chatbot-zones");
  EXPECT_EQ(r.serves[0].replicas_given(), 11);
  EXPECT_EQ(replicas_path(r.serves[0]), "workloads[0].serve.zones[0].replicas");
  EXPECT_EQ(replicas_path(r.serves[1]), "workloads[0].serve.zones[1].replicas");
  EXPECT_EQ(r.serves[2].replicas_given(), 7) << "a share of 0.35 of twenty";
  EXPECT_EQ(replicas_path(r.serves[2]), "workloads[0].serve.replicas");
  ServeView v = r.serves[2];
  design::Serve own = *v.serve;
  v.serve = &own;
  own.replicas.reset();
  EXPECT_EQ(v.replicas_given(), std::nullopt);
  own.autoscale = design::Autoscale{.min = 4, .max = 40, .target = 8};
  EXPECT_EQ(v.replicas_given(), 14);
  EXPECT_EQ(replicas_path(v), "workloads[0].serve.autoscale.max");
  own.zones[2].replicas = 3;
  EXPECT_EQ(v.replicas_given(), 3);
  EXPECT_EQ(replicas_path(v), "workloads[0].serve.zones[2].replicas");
  own.zones.clear();
  EXPECT_EQ(replicas_path(v), "workloads[0].serve.autoscale.max");
  EXPECT_EQ(replicas_path(lab_review("inference-pod").serves[0]),
            "workloads[0].serve.replicas");
}

TEST(ServeSizing, ASplitIsNoWiderThanANodeAndEight) {
  ServeView v = lab_review("inference-pod").serves.at(0);
  EXPECT_EQ(v.widest_split(), 8);
  machine::Fleet fleet = *v.fleet;
  v.fleet = &fleet;
  fleet.node.part.accelerators = 72;
  EXPECT_EQ(v.widest_split(), 8);
  fleet.node.part.accelerators = 4;
  EXPECT_EQ(v.widest_split(), 4);
  const catalog::MigProfile half;
  fleet.slices = {{.profile = &half, .each = 2}};
  EXPECT_EQ(v.widest_split(), 1);
  fleet.slices.clear();
  fleet.host = std::make_shared<const catalog::Accelerator>();
  EXPECT_EQ(v.widest_split(), 1);
}

TEST(ServeSizing, AcceleratorsAndReplicasOnThem) {
  ServeView v;
  v.devices_per_replica = 4;
  EXPECT_EQ(v.accelerators_for(3), 12);
  EXPECT_EQ(v.accelerators_for(3.5), 14);
  EXPECT_EQ(v.replicas_on(12), 3);
  EXPECT_EQ(v.replicas_on(11.9), 2);
  EXPECT_EQ(v.replicas_on(12 - 1e-9), 3) << "to rounding";
  const catalog::MigProfile third;
  v.slice = machine::FleetSlice{.profile = &third, .each = 3};
  EXPECT_EQ(v.accelerators_for(6), 2);
  EXPECT_EQ(v.accelerators_for(6 + 1e-9), 2) << "to rounding";
  EXPECT_EQ(v.accelerators_for(6.01), 3);
  EXPECT_EQ(v.accelerators_for(7), 3);
  EXPECT_EQ(v.replicas_on(2.9), 6);
  EXPECT_EQ(v.replicas_on(3 - 1e-10), 9) << "to rounding";
  EXPECT_EQ(ServeView{}.devices_per_replica, 1);
  EXPECT_EQ(ServeView{}.share, 1);
  EXPECT_EQ(ServeView{}.replicas_up + ServeView{}.availability +
                ServeView{}.availability_alone,
            3);
  EXPECT_EQ(ServeView{}.error, 0.3);
}

}  // namespace
}  // namespace orrery::review
