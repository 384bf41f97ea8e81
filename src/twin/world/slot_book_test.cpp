// The slots of four hosts, by hand.
#include "twin/world/slot_book.h"

#include <gtest/gtest.h>

#include "twin/world/clocked_fixture.h"

namespace orrery::world {
namespace {

// Four hosts of eight free slots.
struct FreeSlots : IdleWorld {
  static design::Design four_hosts() {
    design::Design d = sample_design();
    d.fleet.front().count = 4;
    d.fleet.front().spares = 0;
    d.workloads.clear();
    return d;
  }
  FreeSlots() : IdleWorld(four_hosts(), hours(1)) {
    world = std::make_unique<World>(scenario, 5, true, nullptr);
  }
  SlotBook& book() { return world->fleet(kFirstFleet).slots(); }
  std::int64_t held(Cause cause) { return book().ledger().held(cause); }
  HostUse use(Cause cause) { return resting(world->fleet(kFirstFleet).part(), cause); }
};

TEST(SlotBook, free_slots_have_one_cause_each) {
  FreeSlots f;
  EXPECT_EQ(f.held(Cause::idle), 32);
  f.book().claim(ProcessIndex(1), 20, Cause::requeue);
  f.book().claim(ProcessIndex(2), 20, Cause::no_host);
  // The first claim is met completely; the second gets what is left, and the waiting job nothing.
  f.book().want(5);
  EXPECT_EQ(f.held(Cause::requeue), 20);
  EXPECT_EQ(f.held(Cause::no_host), 12);
  EXPECT_EQ(f.held(Cause::stranded), 0);
  EXPECT_EQ(f.held(Cause::idle), 0);
  f.book().claim(ProcessIndex(2), 0, Cause::no_host);
  EXPECT_EQ(f.held(Cause::no_host), 0);
  EXPECT_EQ(f.held(Cause::stranded), 5);
  EXPECT_EQ(f.held(Cause::idle), 7);
  EXPECT_EQ(f.book().free(), 32);
}

TEST(SlotBook, taken_slots_are_booked_from_the_free_ones_and_returned) {
  FreeSlots f;
  f.book().want(30);
  f.book().take(8, f.use(Cause::start));
  EXPECT_EQ(f.book().free(), 24);
  EXPECT_EQ(f.held(Cause::start), 8);
  EXPECT_EQ(f.held(Cause::stranded), 24);
  f.book().shift(8, f.use(Cause::start), f.use(Cause::restore));
  EXPECT_EQ(f.held(Cause::start), 0);
  f.book().give(8, f.use(Cause::restore));
  EXPECT_EQ(f.book().free(), 32);
  EXPECT_EQ(f.held(Cause::stranded), 30);
  EXPECT_EQ(f.held(Cause::idle), 2);
  EXPECT_TRUE(f.book().ledger().is_sound());
}

// A host draws 2 kW idle and 10 kW at its peak; one that waits for a lost rank communicates.
TEST(SlotBook, watts_follow_the_use_of_the_slots) {
  FreeSlots f;
  const FleetPart& part = f.world->fleet(kFirstFleet).part();
  EXPECT_NEAR(f.world->meters().site(kFirstSite).now.base(), 4 * 2000, 1e-9);
  f.book().take(16, working(part, 0.5, 1));
  EXPECT_NEAR(f.world->meters().site(kFirstSite).now.base(), 2 * 2000 + 2 * 6000, 1e-9);
  EXPECT_NEAR(f.world->meters().site(kFirstSite).highest.base(), 2 * 2000 + 2 * 10000, 1e-9);
  f.book().shift(8, working(part, 0.5, 1), f.use(Cause::power));
  EXPECT_NEAR(f.world->meters().site(kFirstSite).now.base(), 2 * 2000 + 6000, 1e-9);
  f.book().give(8, working(part, 0.5, 1));
  EXPECT_NEAR(f.world->meters().site(kFirstSite).now.base(), 3 * 2000, 1e-9);
}

}  // namespace
}  // namespace orrery::world
