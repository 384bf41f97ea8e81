// When hosts fail, why and for how long, followed draw by draw through each random stream.
#include "twin/world/host_lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "layers/failure/lifetime.h"
#include "twin/world/clocked_fixture.h"

namespace orrery::world {

namespace {

constexpr int kHosts = 130;

// Hosts without jobs: a fault is detected at once.
struct IdleHosts : IdleWorld {
  static design::Design design_of(const design::Failures& failures) {
    design::Design d = sample_design();
    d.fleet.front().count = kHosts;
    d.fleet.front().spares = 0;
    d.fleet.front().failures = failures;
    d.workloads.clear();
    return d;
  }
  explicit IdleHosts(const design::Failures& failures = {.node_mtbf = days(1)})
      : IdleWorld(design_of(failures), days(4)) {
    source = *scenario.fleets[kFirstFleet].failures;
    scenario.fleets[kFirstFleet].failures = &source;
    scenario.fleets[kFirstFleet].repair_given.reset();
    scenario.fleets[kFirstFleet].repair = {
        .reset = seconds(300), .hands = hours(2), .hands_share = 0.4};
  }
  void begin(bool is_first = true) {
    recorder = std::make_unique<Recorder>(sim::SimTime::from(scenario.horizon), 10);
    world = std::make_unique<World>(scenario, 5, is_first, recorder.get());
    EXPECT_TRUE(world->run({}));
  }
  RandomStream stream(int host) const {
    return {5, "failure/" + scenario.fleets[kFirstFleet].fleet->fleet->name + "/" +
                   std::to_string(host)};
  }
  // The nth event on the host's track; none: never.
  const RunEvent& event(int host, std::size_t nth) const {
    static const RunEvent kNone{.at = sim::SimTime::never()};
    for (const RunEvent& e : recorder->events()) {
      if (e.value == host && nth-- == 0) return e;
    }
    return kNone;
  }

  machine::FailureSource source;
};

const failure::FaultCause& cause_of(double draw) {
  return cause_at(machine::known().fault_causes, draw, true);
}

// The time is exponential with the host's rate, the cause is drawn by its share; then a reset, and
// for some a person.
TEST(HostLives, a_host_fails_at_its_rate_and_is_mended_by_a_reset_or_by_hand) {
  IdleHosts t;
  t.begin();
  const double end = days(4).base();
  std::size_t reset = 0, hands = 0, silent = 0;
  for (int h = 0; h < kHosts; ++h) {
    SCOPED_TRACE(h);
    RandomStream random = t.stream(h);
    random.uniform();  // whether it is a lemon
    random.uniform();  // whether it is slow
    double at = random.exponential(1 / t.source.base.base());
    const failure::FaultCause& cause = cause_of(random.uniform());
    if (cause.scope != kTakesHost) continue;
    if (cause.sight == failure::FaultSight::silent) {
      at += random.exponential(3600);
      ++silent;
    } else {
      random.uniform();  // where it strikes
    }
    if (at > end) continue;
    EXPECT_EQ(t.event(h, 0).name, cause.name);
    EXPECT_NEAR(t.event(h, 0).at.seconds().base(), at, 1e-5);
    const bool by_hands = random.uniform() < 0.4;
    (by_hands ? hands : reset) += 1;
    at += by_hands ? 7500 : 300;
    if (at > end || t.event(h, 1).name == kLemon) continue;
    EXPECT_EQ(t.event(h, 1).name, "host repaired");
    EXPECT_NEAR(t.event(h, 1).at.seconds().base(), at, 1e-5);
    at += random.exponential(1 / t.source.base.base());
    const failure::FaultCause& next = cause_of(random.uniform());
    if (at > end || next.sight == failure::FaultSight::silent) continue;
    EXPECT_EQ(t.event(h, 2).name, next.name);
    EXPECT_NEAR(t.event(h, 2).at.seconds().base(), at, 1e-5);
  }
  EXPECT_GT(reset, 5U);
  EXPECT_GT(hands, 3U);
  EXPECT_GT(silent, 0U);
}

// Spot interruptions, links and NICs each have their part of the rate, in this order.
TEST(HostLives, each_cause_strikes_by_its_share_of_the_rate) {
  IdleHosts t;
  t.source.spot = 0.5 * t.source.base;
  t.source.links = 0.3 * t.source.base;
  t.source.storms = 0.2 * t.source.base;
  t.begin();
  std::map<std::string, std::size_t> got;
  for (int h = 0; h < kHosts; ++h) {
    RandomStream random = t.stream(h);
    random.uniform();
    random.uniform();
    const double at = random.exponential(1 / (2 * t.source.base.base()));
    const double draw = random.uniform();
    if (at > days(4).base()) continue;
    const failure::FaultCause& cause = cause_of((draw - 0.5) / 0.5);
    if (draw >= 0.5 && cause.sight == failure::FaultSight::silent) continue;
    const std::string name = draw < 0.25  ? "spot host taken back"
                             : draw < 0.4 ? std::string(kLinkFault)
                             : draw < 0.5 ? std::string(kStormFault)
                                          : cause.name;
    EXPECT_EQ(t.event(h, 0).name, name) << h;
    EXPECT_NEAR(t.event(h, 0).at.seconds().base(), at, 1e-5) << h;
    ++got[draw < 0.5 ? name : "own"];
  }
  EXPECT_EQ(got.size(), 4U);
  // Every fault that struck is counted under its name.
  const std::vector<std::uint64_t>& counts = t.world->host_lives().faults();
  const std::size_t causes = machine::known().fault_causes.size();
  ASSERT_EQ(counts.size(), causes + 3);
  const auto count_of = [&](std::string_view name) {
    return static_cast<std::uint64_t>(
        std::ranges::count(t.recorder->events(), name, &RunEvent::name));
  };
  EXPECT_EQ(counts[causes], count_of("spot host taken back"));
  EXPECT_EQ(counts[causes + 1], count_of(kLinkFault));
  EXPECT_EQ(counts[causes + 2], count_of(kStormFault));
}

// Wear: a separate Weibull, in addition to faults at a rate that does not depend on age.
TEST(HostLives, wear_is_drawn_separately_from_faults_at_a_constant_rate) {
  IdleHosts t;
  t.source.shape = 2.5;
  t.source.links = 0.6 * t.source.base;
  t.begin();
  const failure::Weibull life = failure::life_of(2.5, Seconds(1 / t.source.base.base()));
  std::size_t links = 0, own = 0;
  for (int h = 0; h < kHosts; ++h) {
    RandomStream random = t.stream(h);
    random.uniform();
    random.uniform();
    const double wears = failure::life_at(life, random.uniform()).base();
    const double link = random.exponential(1 / t.source.links.base());
    const double draw = random.uniform();
    const double at = std::min(wears, link);
    if (at > days(4).base()) continue;
    if (link >= wears && cause_of(draw).sight == failure::FaultSight::silent) continue;
    EXPECT_EQ(t.event(h, 0).name, link < wears ? std::string(kLinkFault) : cause_of(draw).name)
        << h;
    EXPECT_NEAR(t.event(h, 0).at.seconds().base(), at, 1e-5) << h;
    (link < wears ? links : own) += 1;
  }
  EXPECT_GT(links, 3U);
  EXPECT_GT(own, 3U);
}

// A tenth of the hosts fail eight times as often; a fifth are slow.
TEST(HostLives, lemons_and_slow_hosts_are_drawn_before_faults) {
  IdleHosts t({.node_mtbf = days(3), .lemon_share = 0.3, .lemon_factor = 8});
  t.scenario.fleets[kFirstFleet].straggler_share = 0.2;
  t.begin();
  std::size_t lemons = 0, slow = 0;
  for (int h = 0; h < kHosts; ++h) {
    RandomStream random = t.stream(h);
    const bool is_lemon = random.uniform() < 0.3;
    const bool is_slow = random.uniform() < 0.2;
    EXPECT_EQ(t.world->fleet(kFirstFleet).is_slow(host_at(h)), is_slow);
    const double at = random.exponential(1 / (t.source.base.base() * (is_lemon ? 8 : 1)));
    lemons += is_lemon ? 1 : 0;
    slow += is_slow ? 1 : 0;
    if (at > days(4).base()) continue;
    if (cause_of(random.uniform()).sight == failure::FaultSight::silent) continue;
    EXPECT_NEAR(t.event(h, 0).at.seconds().base(), at, 1e-5) << h;
  }
  EXPECT_GT(lemons, 5U);
  EXPECT_GT(slow, 3U);
}

// The fleet's true rate: log-normal to either side, with its p10 and p90 at the published range.
TEST(HostLives, later_replications_draw_the_true_failure_rate) {
  for (const auto& [low, high] : {std::pair(0.5, 3.0), std::pair(0.0, 0.0)}) {
    IdleHosts t;
    t.source.low = low;
    t.source.high = high;
    t.begin(false);
    const double normal = RandomStream(5, "failure/rate/0").normal() / 1.2815515655446004;
    const double factor = low <= 0     ? 1
                          : normal < 0 ? std::pow(0.5, -normal)
                                       : std::pow(3.0, normal);
    for (int h = 0; h < 10; ++h) {
      RandomStream random = t.stream(h);
      random.uniform();
      random.uniform();
      const double at = random.exponential(1 / (t.source.base.base() * factor));
      if (at > days(4).base()) continue;
      if (cause_of(random.uniform()).sight == failure::FaultSight::silent) continue;
      EXPECT_NEAR(t.event(h, 0).at.seconds().base(), at, 1e-5) << h;
    }
  }
}

// A repair time in the design is the mean of an exponential.
TEST(HostLives, a_repair_time_of_the_design_is_a_mean) {
  IdleHosts t;
  t.scenario.fleets[kFirstFleet].repair_given = hours(5);
  t.begin();
  std::size_t mended = 0;
  for (int h = 0; h < kHosts; ++h) {
    RandomStream random = t.stream(h);
    random.uniform();
    random.uniform();
    double at = random.exponential(1 / t.source.base.base());
    const failure::FaultCause& cause = cause_of(random.uniform());
    random.uniform();
    if (cause.scope != kTakesHost || cause.sight == failure::FaultSight::silent) continue;
    at += random.exponential(hours(5).base());
    if (at > days(4).base() || t.event(h, 1).name == kLemon) continue;
    EXPECT_EQ(t.event(h, 1).name, "host repaired");
    EXPECT_NEAR(t.event(h, 1).at.seconds().base(), at, 1e-5) << h;
    ++mended;
  }
  EXPECT_GT(mended, 10U);
}

// A host that fails again and again is classed as a lemon when it is back: it goes to a person for
// three hours.
TEST(HostLives, a_lemon_goes_to_a_person) {
  IdleHosts t({.node_mtbf = years(1e6)});
  t.scenario.fleets[kFirstFleet].repair = {
      .reset = seconds(200), .hands = hours(3), .hands_share = 0};
  for (int k = 1; k <= 12; ++k) t.strike(k * 1000, 9, {.name = "dies", .scope = kTakesHost});
  t.scenario.horizon = hours(9);
  t.run(true);
  EXPECT_EQ(t.world->faults().lemons_found(), 1U);
  std::size_t repairs = 0, mended = 0, lemons = 0;
  for (const HostChange& c : t.recorder->host_changes()) {
    EXPECT_EQ(c.host, 9U);
    repairs += c.mark == HostMark::repair ? 1 : 0;
    mended += c.mark == HostMark::free ? 1 : 0;
  }
  for (const RunEvent& e : t.recorder->events()) lemons += e.name == kLemon && e.value == 9 ? 1 : 0;
  EXPECT_EQ(lemons, 1U);
  EXPECT_EQ(repairs, mended);
  EXPECT_NEAR(t.booked_s(Cause::repair), 8 * (200.0 * static_cast<double>(repairs) + 10800), 1e-3);
  EXPECT_EQ(t.world->faults().faults(), 12U);
}

struct SharedGroup {
  std::string part;
  int first = 0, hosts = 0;
  double at = 0, repair = 0;
};

// Leaves of 50 hosts and power units of 60: the last of each has the remaining hosts.
TEST(HostLives, hosts_of_a_failed_shared_part_stay_away_until_it_is_replaced) {
  IdleHosts t({.node_mtbf = years(1e6)});
  t.source.shared = {{.part = machine::SharedPart::leaf_switch, .rate = 1.0 / days(2), .hosts = 50},
                     {.part = machine::SharedPart::power_unit, .rate = 1.0 / days(3), .hosts = 60}};
  t.begin();
  std::vector<SharedGroup> groups;
  const auto add = [&](const std::string& part, int hosts, Seconds mtbf) {
    for (int first = 0; first < kHosts; first += hosts) {
      RandomStream random(5, "failure/" + t.scenario.fleets[kFirstFleet].fleet->fleet->name + "/" +
                                 part + "/" + std::to_string(first));
      SharedGroup g{part, first, std::min(hosts, kHosts - first)};
      g.at = random.exponential(mtbf.base());
      g.repair = random.exponential(hours(4).base());
      groups.push_back(g);
    }
  };
  add("leaf switch", 50, days(2));
  add("power distribution unit", 60, days(3));
  ASSERT_EQ(groups.size(), 6U);
  std::ranges::sort(groups, {}, &SharedGroup::at);
  for (const SharedGroup& g : groups) {
    if (g.at > days(4).base()) continue;
    const auto& all = t.recorder->events();
    const auto got = std::ranges::find_if(
        all, [&](const RunEvent& e) { return e.name == g.part && e.value == g.first; });
    ASSERT_NE(got, all.end()) << g.part << g.first;
    EXPECT_NEAR(got->at.seconds().base(), g.at, 1e-5);
  }
  // The same part does not fail again while it is out.
  const SharedGroup& first = groups[0];
  ASSERT_GT(groups[1].at, first.at + first.repair);
  int down = 0, back = 0;
  for (const HostChange& c : t.recorder->host_changes()) {
    if (c.at.seconds().base() > first.at + first.repair + 1e-3) break;
    EXPECT_GE(static_cast<int>(c.host), first.first);
    EXPECT_LT(static_cast<int>(c.host), first.first + first.hosts);
    const bool is_down = c.mark == HostMark::repair;
    (is_down ? down : back) += 1;
    EXPECT_NEAR(c.at.seconds().base(), is_down ? first.at : first.at + first.repair, 1e-5);
  }
  EXPECT_EQ(down, first.hosts);
  EXPECT_GE(back, first.hosts - 1) << "one may be taken for a lemon";
}

// A provider replaces a rented host within ten minutes.
TEST(HostLives, a_provider_swaps_a_rented_host) {
  design::Design d = IdleHosts::design_of({.node_mtbf = years(1e6)});
  d.fleet.front().count = 4;
  d.fleet.front().rent = design::Rent{.provider = "aws", .contract = catalog::Contract::on_demand};
  IdleWorld t(d, seconds(2000));
  t.strike(1000, 2, {.name = "dies", .scope = kTakesHost});
  t.run(true, 10);
  EXPECT_NEAR(t.booked_s(Cause::repair), 8 * 600, 1e-4);
  ASSERT_EQ(t.recorder->host_changes().size(), 2U);
  EXPECT_EQ(t.recorder->host_changes()[1].at.seconds(), seconds(1600));
}

}  // namespace
}  // namespace orrery::world
