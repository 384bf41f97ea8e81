// A site lost at peak, in closed form: whom the others take, and how often users are answered.
#include "plan/review/failover_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/rules/rules.h"
#include "plan/review/stages.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

design::Design zones() {
  return design_text::read_design(design_text::find_template("chatbot-zones")->text,
                                  machine::known().catalog())
      .value();
}

design::Serve& serve_of(design::Design& d) {
  return std::get<design::Serve>(d.workloads.front().task);
}

review::Review reviewed(const design::Design& d) { return review::run_stages(d, machine::known()); }

TEST(FailoverView, a_lost_zone_is_carried_where_there_are_replicas_for_both) {
  const review::Review r = reviewed(zones());
  const review::ServeView& east = r.serves[0];
  const review::ServeView& west = r.serves[1];
  ASSERT_TRUE(east.failover);
  ASSERT_EQ(east.failover->to.size(), 1u);
  const review::FailoverTo& to = east.failover->to.front();
  EXPECT_EQ(to.zone, 1u);
  EXPECT_NEAR(to.rate / east.peak, 1, 1e-9);
  EXPECT_EQ(east.failover->refused, PerSecond(0));
  EXPECT_DOUBLE_EQ(east.failover->served(east.peak), 1);
  EXPECT_NEAR(to.load, (east.peak + west.peak) / (west.capacity_per_replica * west.replicas), 1e-9);
  EXPECT_EQ(to.replicas_needed,
            std::ceil((east.peak + west.peak) / west.capacity_per_replica - 1e-9));
  EXPECT_FALSE(r.serves[2].failover) << "Europe names nobody";
  // The way is in the first token, and so is the fuller replica.
  EXPECT_GT(to.ttft_p99, west.ttft_p99 + milliseconds(65));
  EXPECT_GT(to.latency_p99, to.ttft_p99);
  EXPECT_NEAR(to.way.path.latency.base(), 0.065, 1e-12);
  EXPECT_NEAR(to.line.base(), 4 * east.request.input * east.peak.base(), 1);
}

TEST(FailoverView, what_the_replicas_there_cannot_carry_is_turned_away) {
  design::Design d = zones();
  serve_of(d).zones[1].replicas = 8;
  const review::Review r = reviewed(d);
  const review::ServeView& east = r.serves[0];
  const review::ServeView& west = r.serves[1];
  const PerSecond room = west.capacity_per_replica * 8 - west.peak;
  EXPECT_NEAR(east.failover->refused / (east.peak - room), 1, 1e-9);
  EXPECT_NEAR(east.failover->load(), 1, 1e-9);
  EXPECT_LT(east.failover->served(east.peak), 1);
  EXPECT_EQ(west.guests_asked, east.peak) << "were there room";
  EXPECT_GT(review::enough_replicas(west, *r.machine), 8);
}

TEST(FailoverView, a_longer_line_makes_later_first_tokens) {
  design::Design d = zones();
  const Seconds near = reviewed(d).serves[0].failover->ttft_p99();
  d.fabric.wan[0].latency = milliseconds(165);
  const Seconds far = reviewed(d).serves[0].failover->ttft_p99();
  EXPECT_NEAR((far - near).base(), 0.1, 1e-9);
  d.fabric.wan[0].latency = milliseconds(65);
  serve_of(d).request_size = megabytes(125);
  const Seconds heavy = reviewed(d).serves[0].failover->ttft_p99();
  EXPECT_NEAR((heavy - near).base(), 0.1, 1e-4) << "125 MB at 10 Gb/s";
}

TEST(FailoverView, an_outage_costs_the_minute_until_it_is_seen) {
  design::Design d = zones();
  const double calm = reviewed(d).serves[0].availability;
  d.sites[0].outage_mtbf = days(30);
  d.sites[0].outage = hours(2);
  const review::Review r = reviewed(d);
  const review::ServeView& east = r.serves[0];
  // An outage of two hours a month, without batteries.
  EXPECT_NEAR(east.dark, 2.0 / (30 * 24), 1e-12);
  EXPECT_NEAR(east.availability_alone, (1 - east.dark) * east.replicas_up, 1e-12);
  const double minute = 60.0 / (30 * 86400);
  EXPECT_NEAR(calm - east.availability, minute, 0.15 * minute)
      << "and others are there nearly always";
  EXPECT_GT(east.availability, east.availability_alone + 0.9 * east.dark);
  EXPECT_EQ(r.serves[1].dark, 0);

  serve_of(d).zones[0].failover_after = minutes(10);
  EXPECT_NEAR(calm - reviewed(d).serves[0].availability, 10 * minute, minute);
  serve_of(d).zones[1].replicas = 5;
  const review::Review full = reviewed(d);
  EXPECT_GT(full.serves[0].availability, full.serves[0].availability_alone);
  EXPECT_LT(full.serves[0].availability, east.availability) << "half of them find no room";
  serve_of(d).zones[0].failover.clear();
  serve_of(d).zones[0].failover_after.reset();
  const review::Review alone = reviewed(d);
  EXPECT_EQ(alone.serves[0].availability, alone.serves[0].availability_alone);
  EXPECT_FALSE(alone.serves[0].failover);
}

TEST(FailoverView, batteries_that_last_until_generators_carry_the_site_leave_nothing_dark) {
  design::Design d = zones();
  d.sites[0].outage_mtbf = days(30);
  d.sites[0].generator = seconds(30);
  d.sites[0].battery = seconds(30);
  EXPECT_EQ(reviewed(d).serves[0].dark, 0);
  d.sites[0].battery = seconds(1);
  const review::ServeView east = reviewed(d).serves[0];
  EXPECT_GT(east.dark, 0);
  // All of it within the minute: nobody is sent elsewhere so soon.
  EXPECT_NEAR(east.availability, (1 - east.dark), 1e-4);
}

TEST(FailoverView, traffic_that_must_stay_inside_is_never_moved) {
  design::Design d = zones();
  serve_of(d).zones[2].failover = {"us-east"};
  const review::Review r = reviewed(d);
  ASSERT_TRUE(r.serves[2].failover);
  EXPECT_TRUE(r.serves[2].failover->to.empty());
  EXPECT_EQ(r.serves[2].failover->refused, r.serves[2].peak);
  EXPECT_EQ(r.serves[2].availability, r.serves[2].availability_alone);
  const auto findings = check_rules(r);
  const auto found = std::ranges::find(findings, "policy.residency", &Finding::rule);
  ASSERT_NE(found, findings.end());
  ASSERT_TRUE(found->edit);
  EXPECT_EQ(found->edit->path, "workloads[0].serve.zones[2]");
  EXPECT_EQ(found->edit->value, "{ site: europe, fleet: europe, share: 0.35, residency: eu }");
}

}  // namespace
}  // namespace orrery::rules
