// Where requests of regions go: which region is asked first, which has room, and that no request is
// lost or sent twice.
#include "layers/traffic/failover.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "layers/traffic/guests.h"

namespace orrery::traffic {
namespace {

const std::vector<Region> kThree = {{.ways = {{.to = 1, .round_trip = 0.06}, {.to = 2}}},
                                    {.ways = {{.to = 0, .round_trip = 0.06}}},
                                    {}};

TEST(Failover, healthy_region_with_room_keeps_its_users) {
  const std::vector<RegionNow> now = {{10, 12}, {5, 5}, {0, 3}};
  const RegionRouting r = route(kThree, now, {false, false, false});
  EXPECT_TRUE(r.moves.empty());
  EXPECT_EQ(r.stays, (std::vector<double>{10, 5, 0}));
  EXPECT_EQ(r.refused, (std::vector<double>{0, 0, 0}));
}

TEST(Failover, first_named_region_takes_what_it_has_room_for) {
  const std::vector<RegionNow> now = {{10, 0}, {5, 11}, {1, 4}};
  const RegionRouting r = route(kThree, now, {true, false, false});
  ASSERT_EQ(r.moves.size(), 2u);
  EXPECT_EQ(r.moves[0].to, 1u);
  EXPECT_DOUBLE_EQ(r.moves[0].rate, 6);
  EXPECT_EQ(r.moves[1].to, 2u);
  EXPECT_DOUBLE_EQ(r.moves[1].rate, 3);
  EXPECT_DOUBLE_EQ(r.refused[0], 1);
  EXPECT_DOUBLE_EQ(r.stays[0], 0);
  EXPECT_DOUBLE_EQ(r.away(0), 9);
  EXPECT_DOUBLE_EQ(r.guests(1), 6);
}

TEST(Failover, overloaded_region_sends_its_excess_and_keeps_what_finds_no_room) {
  const std::vector<RegionNow> now = {{10, 7}, {5, 6}, {1, 2}};
  const RegionRouting r = route(kThree, now, {false, false, false});
  EXPECT_DOUBLE_EQ(r.away(0), 2);
  EXPECT_DOUBLE_EQ(r.stays[0], 8);
  EXPECT_DOUBLE_EQ(r.refused[0], 0);
}

TEST(Failover, no_request_goes_farther_than_allowed_unless_its_site_is_lost) {
  std::vector<Region> regions = kThree;
  regions[0].farthest = 0.05;
  const RegionRouting over =
      route(regions, std::vector<RegionNow>{{10, 7}, {5, 99}, {1, 2}}, {false, false, false});
  EXPECT_DOUBLE_EQ(over.guests(1), 0);
  EXPECT_DOUBLE_EQ(over.guests(2), 1) << "that one is near";
  const RegionRouting lost =
      route(regions, std::vector<RegionNow>{{10, 0}, {5, 99}, {1, 2}}, {true, false, false});
  EXPECT_DOUBLE_EQ(lost.guests(1), 10);
}

TEST(Failover, regions_share_room_in_proportion_to_what_they_ask) {
  const std::vector<Region> regions = {{.ways = {{.to = 2}}}, {.ways = {{.to = 2}}}, {}};
  const RegionRouting r =
      route(regions, std::vector<RegionNow>{{30, 0}, {10, 0}, {4, 24}}, {true, true, false});
  EXPECT_DOUBLE_EQ(r.away(0), 15);
  EXPECT_DOUBLE_EQ(r.away(1), 5);
  EXPECT_DOUBLE_EQ(r.guests(2), 20);
}

TEST(Failover, region_that_is_down_takes_no_guests) {
  const RegionRouting r =
      route(kThree, std::vector<RegionNow>{{10, 0}, {5, 0}, {1, 4}}, {true, true, false});
  EXPECT_DOUBLE_EQ(r.guests(0), 0);
  EXPECT_DOUBLE_EQ(r.guests(1), 0);
  EXPECT_DOUBLE_EQ(r.guests(2), 3);
  EXPECT_DOUBLE_EQ(r.refused[1], 5);
}

TEST(Failover, lost_region_is_given_up_and_gets_its_users_back_with_its_replicas) {
  std::vector<Region> regions = kThree;
  regions[0].after = 30;
  FailoverPolicy policy(regions);
  const std::vector<RegionNow> fine = {{10, 12}, {5, 20}, {1, 1}};
  std::vector<RegionNow> lost = fine;
  lost[0].capacity = 0;
  EXPECT_EQ(policy.look(100, fine).away(0), 0);
  EXPECT_EQ(policy.next_look(), kForever);

  RegionRouting r = policy.look(200, lost);
  EXPECT_DOUBLE_EQ(r.refused[0], 10) << "the loss is not noticed yet";
  EXPECT_TRUE(r.moves.empty());
  EXPECT_DOUBLE_EQ(policy.next_look(), 230);
  EXPECT_DOUBLE_EQ(policy.look(229.9, lost).refused[0], 10);
  EXPECT_DOUBLE_EQ(policy.next_look(), 230) << "counted from its loss";

  r = policy.look(230, lost);
  EXPECT_DOUBLE_EQ(r.away(0), 10);
  EXPECT_DOUBLE_EQ(r.refused[0], 0);
  EXPECT_EQ(policy.next_look(), kForever);

  std::vector<RegionNow> half = fine;
  half[0].capacity = 4;
  r = policy.look(300, half);
  EXPECT_DOUBLE_EQ(r.stays[0], 4) << "as its replicas answer";
  EXPECT_DOUBLE_EQ(r.away(0), 6);
  EXPECT_TRUE(policy.look(400, fine).moves.empty());
  EXPECT_DOUBLE_EQ(policy.look(500, lost).refused[0], 10) << "a new loss has its own time";
}

// Over random regions: every request ends in exactly one way, and no region takes more than it has
// room for.
TEST(Failover, no_request_is_lost_or_sent_twice) {
  RandomStream random(7, "failover/test");
  int moved = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 2 + static_cast<std::size_t>(random.uniform() * 4);
    std::vector<Region> regions(n);
    std::vector<RegionNow> now(n);
    std::vector<bool> given_up(n);
    for (std::size_t r = 0; r < n; ++r) {
      now[r] = {.load = random.uniform() * 10, .capacity = random.uniform() * 14};
      if (random.uniform() < 0.3) now[r].capacity = 0;
      given_up[r] = now[r].capacity <= 0 && random.uniform() < 0.7;
      for (std::size_t to = 0; to < n; ++to) {
        if (to != r && random.uniform() < 0.6) regions[r].ways.push_back({.to = to});
      }
    }
    const RegionRouting out = route(regions, now, given_up);
    for (std::size_t r = 0; r < n; ++r) {
      EXPECT_NEAR(out.stays[r] + out.refused[r] + out.away(r), now[r].load, 1e-12);
      EXPECT_GE(out.stays[r], 0);
      EXPECT_GE(out.refused[r], -1e-12);
      const double room = std::max(0.0, now[r].capacity - now[r].load);
      EXPECT_LE(out.guests(r), now[r].capacity > 0 ? room + 1e-9 : 0);
      if (now[r].capacity > 0) {
        EXPECT_EQ(out.refused[r], 0);
      } else {
        EXPECT_EQ(out.stays[r], 0);
      }
      refused += out.refused[r] > 0 ? 1 : 0;
    }
    moved += static_cast<int>(out.moves.size());
  }
  EXPECT_GT(moved, 1000);
  EXPECT_GT(refused, 500);
}

TEST(Failover, more_room_never_refuses_more) {
  double before = 1e300;
  for (double capacity = 1; capacity < 30; capacity += 1.5) {
    const RegionRouting r =
        route(kThree, std::vector<RegionNow>{{10, 0}, {5, capacity}, {1, 3}}, {true, false, false});
    EXPECT_LE(r.refused[0], before);
    before = r.refused[0];
  }
  EXPECT_EQ(before, 0);
}

TEST(RegionAvailability, availability_is_what_the_losses_leave) {
  const RegionLosses alone{.dark = 0.01, .unseen = 0.002, .few = 0.001};
  EXPECT_NEAR(region_availability(alone), (1 - 0.01) * (1 - 0.001), 1e-15);
  RegionLosses helped = alone;
  helped.carried = 1;
  helped.spilled = 1;
  EXPECT_NEAR(region_availability(helped), 1 - 0.002, 1e-15) << "until they are sent elsewhere";
  helped.others = 0.9;
  EXPECT_NEAR(region_availability(helped), 1 - 0.002 - 0.1 * 0.008 - 0.1 * 0.99 * 0.001, 1e-15);
  helped.carried = 0.5;
  helped.spilled = 0;
  EXPECT_NEAR(region_availability(helped), 1 - 0.002 - 0.55 * 0.008 - 0.99 * 0.001, 1e-15);
  // A loss that ends before it is noticed counts entirely as unseen.
  EXPECT_NEAR(region_availability({.dark = 0.01, .unseen = 0.05, .carried = 1}), 0.99, 1e-15);
}

Timed at(double time, std::uint64_t talk = 0) {
  return {.spec = {.prompt = 10, .output = 2, .content = talk, .session = talk}, .at = time};
}

TEST(Guests, guests_join_the_load_in_time_order_and_keep_their_ids) {
  const MixedLoad load = with_guests({at(1, 7), at(2), at(5)}, {at(2, 7), at(3, 8)});
  std::vector<double> times;
  for (const Timed& t : load.all) times.push_back(t.at);
  EXPECT_EQ(times, (std::vector<double>{1, 2, 2, 3, 5}));
  EXPECT_EQ(load.is_guest, (std::vector<bool>{false, false, true, true, false}));
  EXPECT_EQ(load.all[0].spec.content, 7u);
  EXPECT_NE(load.all[2].spec.content, 7u) << "a conversation of that name is another region's";
  EXPECT_NE(load.all[2].spec.session, 7u);
  EXPECT_NE(load.all[2].spec.content, load.all[3].spec.content);
  EXPECT_EQ(load.all[1].spec.content, 0u);

  FleetRun run;
  for (int id = 0; id < 5; ++id) run.records.push_back({.id = id});
  const FleetRun guests = records_of(run, load, true);
  const FleetRun own = records_of(run, load, false);
  EXPECT_EQ(guests.served, 2);
  EXPECT_EQ(own.served, 3);
  EXPECT_EQ(guests.records[0].id, 2);
  EXPECT_EQ(own.records[2].id, 4);
}

}  // namespace
}  // namespace orrery::traffic
