// Windows by hand, and which nodes they leave to whom.
#include "layers/cluster/reservation.h"

#include <gtest/gtest.h>

namespace orrery::cluster {
namespace {

using sim::SimTime;

constexpr SimTime at(std::int64_t s) { return SimTime::nanoseconds(s * 1'000'000'000); }

// Nodes 2 and 3 of four, from 100 s for 20 s, every 50 s.
Reservation nightly() {
  return {
      .name = "nightly", .nodes = {0b1100}, .start = at(100), .length = at(20), .every = at(50)};
}

TEST(Reservation, windows_come_back) {
  const Reservation r = nightly();
  EXPECT_EQ(r.window_after(at(0)).begin, at(100));
  EXPECT_EQ(r.window_after(at(119)).begin, at(100));
  EXPECT_EQ(r.window_after(at(120)).begin, at(150));
  EXPECT_EQ(r.window_after(at(169)).end, at(170));
  EXPECT_EQ(r.window_after(at(170)).begin, at(200));
  EXPECT_EQ(r.window_after(at(1000)).begin, at(1000));
  Reservation once = nightly();
  once.every = {};
  EXPECT_EQ(once.window_after(at(119)).begin, at(100));
  EXPECT_TRUE(once.window_after(at(120)).begin.is_never());
}

TEST(Reservation, a_limit_may_not_reach_into_a_window) {
  ReservationBook book;
  book.add(nightly());
  QueuedJob job;
  job.limit = at(30);
  EXPECT_FALSE(book.bars(0, job, at(70)));  // it ends as the window begins
  EXPECT_TRUE(book.bars(0, job, at(71)));
  EXPECT_TRUE(book.bars(0, job, at(100)));
  EXPECT_FALSE(book.bars(0, job, at(120)));
  EXPECT_TRUE(book.bars(0, job, at(121)));
  job.stays = true;  // it is stopped when the window begins
  EXPECT_FALSE(book.bars(0, job, at(99)));
  EXPECT_TRUE(book.bars(0, job, at(100)));
  EXPECT_FALSE(book.bars(0, job, at(120)));
  job.guest_of = 1;
  EXPECT_FALSE(book.bars(0, job, at(100)));
}

TEST(Reservation, what_is_open_is_the_partition_without_its_nodes) {
  ReservationBook book;
  book.add(nightly());
  QueuedJob job;
  job.limit = at(30);
  const NodeMask partition = {0b0110};
  EXPECT_EQ(book.open_to(job, &partition, at(0)), &partition);
  EXPECT_EQ(*book.open_to(job, &partition, at(90)), NodeMask{0b0010});
  EXPECT_EQ(book.open_to(job, nullptr, at(0)), nullptr);
  EXPECT_EQ((*book.open_to(job, nullptr, at(90)))[0] & 0b1111, 0b0011U);
  const NodeShare here[] = {{.node = 1, .gpus = 8}};
  const NodeShare there[] = {{.node = 1, .gpus = 8}, {.node = 2, .gpus = 8}};
  EXPECT_TRUE(book.is_open(job, here, at(90)));
  EXPECT_FALSE(book.is_open(job, there, at(90)));
  EXPECT_TRUE(book.is_open(job, there, at(0)));
}

TEST(Reservation, changes_and_barriers) {
  ReservationBook book;
  EXPECT_TRUE(book.next_change(at(0)).is_never());
  book.add(nightly());
  book.add({.name = "long", .nodes = {0b1}, .start = at(90), .length = at(100)});
  EXPECT_EQ(book.next_change(at(0)), at(90));
  EXPECT_EQ(book.next_change(at(90)), at(100));
  EXPECT_EQ(book.next_change(at(100)), at(120));
  EXPECT_EQ(book.next_change(at(190)), at(200));
  QueuedJob job;
  job.limit = at(10);
  SimTime until;
  EXPECT_EQ(book.barrier_of(job, at(0), until), -1);
  EXPECT_EQ(book.barrier_of(job, at(95), until), 1);
  EXPECT_EQ(until, at(190));
}

}  // namespace
}  // namespace orrery::cluster
