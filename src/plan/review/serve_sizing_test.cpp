// Services at other sizes, by hand.
#include "plan/review/serve_sizing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

// Hosts of eight accelerators, each of which is down for `down` of the time: ten minutes per
// failure.
Review pod_that_fails(double down) {
  design::Design d = lab_design("inference-pod");
  d.fleet[0].failures.node_mtbf = minutes(10) / down;
  return run_stages(std::move(d), machine::known());
}

// Replicas of four accelerators, of which `needed` carry the peak at 80 % load.
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

TEST(ServeSizing, availability_is_poisson_in_spare_hosts) {
  const Review r = pod_that_fails(1 / 60.0);
  const struct {
    double replicas, needed;
    int devices;
    double hosts;
    int spare;
  } cases[] = {
      {16, 15, 4, 8, 2},      // 16 - 12 spare replicas, two per host
      {16, 17.5, 4, 8, 1},    // two replicas
      {16, 17.6, 4, 8, 0},    // 1.92 spare replicas are less than a host
      {16, 20, 4, 8, 0},      // not one spare
      {1, 1, 4, 1, 0},        // half a host is one that can fail
      {3, 2.5, 16, 6, 2},     // a replica on two hosts: one replica is two hosts
      {40, 15, 1, 5, 3},      // 28 spare replicas, eight per host
      {15, 15, 4, 7.5, 1},    // half a host fails half as often
      {100, 100, 8, 100, 20}  // one host each
  };
  for (const auto& c : cases) {
    const ServeView v = sized(r, 7, c.needed, c.devices);
    EXPECT_NEAR(availability_with(v, c.replicas, *r.machine), at_most_down(c.spare, c.hosts / 60),
                1e-12)
        << c.replicas << " of " << c.needed;
  }
  EXPECT_EQ(availability_with(sized(r, 16, 20.01), 16, *r.machine), 0) << "too few before";
  EXPECT_GT(availability_with(sized(r, 16, 20 + 1e-9), 16, *r.machine), 0)
      << "within the rounding tolerance";
}

TEST(ServeSizing, replicas_left_with_one_host_too_few) {
  const Review r = pod_that_fails(1 / 60.0);
  EXPECT_NEAR(replicas_when_short(sized(r, 16, 15)), 16 * (1 - 3 / 8.0), 1e-12);
  EXPECT_NEAR(replicas_when_short(sized(r, 16, 20)), 14, 1e-12);
  EXPECT_EQ(replicas_when_short(sized(r, 1, 1)), 0);
  EXPECT_EQ(replicas_when_short(sized(r, 16, 0)), 0) << "nine of eight hosts";
  EXPECT_NEAR(replicas_when_short(sized(r, 3, 2.5, 16)), 1.5, 1e-12);
}

// Availabilities of 15 to 20 replicas of which 15 are needed, in 1e-6: 992809, 999642, 999574,
// 999981, 999977, 999999.
TEST(ServeSizing, fewest_replicas_that_are_up_often_enough) {
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
  EXPECT_EQ(enough(0.9997), 18) << "half a host more fails more often";
  EXPECT_EQ(enough(0.99998), 18);
  EXPECT_EQ(enough(0.99999), 20);
  asks.terms.availability.reset();
  EXPECT_EQ(enough_replicas(v, *r.machine), 15);
  v.replicas = 17.5;
  EXPECT_EQ(replicas_for_availability(v, 0.99, *r.machine), 18) << "starting from those it has";
}

// One host is down about every half hour: two are needed, 66 are up for 0.7041 of the time, 68 for
// 0.7075 and 70 for 0.7108.
TEST(ServeSizing, at_most_twice_as_many_and_64_are_tried) {
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
  EXPECT_EQ(enough_replicas(v, *r.machine), 5) << "no count is enough: keep those it has";
  v.replicas = 1;
  EXPECT_EQ(enough_replicas(v, *r.machine), 2) << "at least what the peak needs";
}

// 260 are up for 0.8920 of the time, 261 for 0.9215, 262 for 0.9187: every second is tried.
TEST(ServeSizing, large_services_are_tried_in_steps) {
  const Review r = pod_that_fails(1 / 6.0);
  design::Workload asks = *r.serves[0].workload;
  asks.terms.availability = 0.9;
  ServeView v = sized(r, 256, 256);
  v.workload = &asks;
  EXPECT_EQ(enough_replicas(v, *r.machine), 262);
  EXPECT_EQ(replicas_for_availability(v, 0.9, *r.machine), 262);
  // From 255 on every number is tried, and for 256 needed, 261 is the first.
  v.replicas = 255;
  EXPECT_EQ(replicas_for_availability(v, 0.9, *r.machine), 261);
}

// Peak plus guests over what one replica carries, all of it while a site is lost; four fifths of it
// for its own peak.
TEST(ServeSizing, guests_of_a_lost_site_need_replicas_too) {
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
  EXPECT_EQ(enough_replicas(v, *r.machine), 10) << "no guests are expected";
  v.replicas_needed = 10.4;
  EXPECT_EQ(enough_replicas(v, *r.machine), 11) << "rounded up";
}

TEST(ServeSizing, path_of_the_replica_count) {
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
  EXPECT_EQ(replicas_path(lab_review("inference-pod").serves[0]), "workloads[0].serve.replicas");
}

TEST(ServeSizing, one_replica_fewer_is_not_enough) {
  design::Design d = lab_design("inference-pod");
  std::get<design::Serve>(d.workloads[0].task).replicas.reset();
  const Review r = run_stages(d, machine::known());
  const ServeView& v = r.serves.at(0);
  for (const double wanted : {0.99, 0.999, 0.99999, 0.9999999}) {
    const auto replicas = replicas_for_availability(v, wanted, *r.machine);
    ASSERT_TRUE(replicas) << wanted;
    EXPECT_GE(availability_with(v, *replicas, *r.machine), wanted);
    if (*replicas > v.replicas) {
      EXPECT_LT(availability_with(v, *replicas - 1, *r.machine), wanted);
    }
  }
}

}  // namespace
}  // namespace orrery::review
