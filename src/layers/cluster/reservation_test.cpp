// Windows, and the nodes that they leave to jobs, computed by hand.
#include "layers/cluster/reservation.h"

#include <gtest/gtest.h>

#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

// Nodes 2 and 3 of four, from 100 s for 20 s, every 50 s.
Reservation nightly() {
  return {.name = "nightly",
          .nodes = {0b1100},
          .start = at_s(100),
          .length = at_s(20),
          .every = at_s(50)};
}

TEST(Reservation, windows_come_back) {
  const Reservation r = nightly();
  EXPECT_EQ(r.window_after(at_s(0)).begin, at_s(100));
  EXPECT_EQ(r.window_after(at_s(119)).begin, at_s(100));
  EXPECT_EQ(r.window_after(at_s(120)).begin, at_s(150));
  EXPECT_EQ(r.window_after(at_s(169)).end, at_s(170));
  EXPECT_EQ(r.window_after(at_s(170)).begin, at_s(200));
  EXPECT_EQ(r.window_after(at_s(1000)).begin, at_s(1000));
  Reservation once = nightly();
  once.every = {};
  EXPECT_EQ(once.window_after(at_s(119)).begin, at_s(100));
  EXPECT_TRUE(once.window_after(at_s(120)).begin.is_never());
}

TEST(Reservation, time_limit_may_not_reach_into_a_window) {
  ReservationBook book;
  book.add(nightly());
  QueuedJob job;
  job.limit = at_s(30);
  EXPECT_FALSE(book.bars(0, job, at_s(70)));  // it ends when the window begins
  EXPECT_TRUE(book.bars(0, job, at_s(71)));
  EXPECT_TRUE(book.bars(0, job, at_s(100)));
  EXPECT_FALSE(book.bars(0, job, at_s(120)));
  EXPECT_TRUE(book.bars(0, job, at_s(121)));
  job.stays = true;  // it is stopped when the window begins
  EXPECT_FALSE(book.bars(0, job, at_s(99)));
  EXPECT_TRUE(book.bars(0, job, at_s(100)));
  EXPECT_FALSE(book.bars(0, job, at_s(120)));
  job.guest_of = 1;
  EXPECT_FALSE(book.bars(0, job, at_s(100)));
}

TEST(Reservation, reserved_nodes_are_not_open) {
  ReservationBook book;
  book.add(nightly());
  QueuedJob job;
  job.limit = at_s(30);
  const NodeMask partition = {0b0110};
  EXPECT_EQ(book.open_to(job, &partition, at_s(0)), &partition);
  EXPECT_EQ(*book.open_to(job, &partition, at_s(90)), NodeMask{0b0010});
  EXPECT_EQ(book.open_to(job, nullptr, at_s(0)), nullptr);
  EXPECT_EQ((*book.open_to(job, nullptr, at_s(90)))[0] & 0b1111, 0b0011U);
  const NodeShare here[] = {{.node = 1, .gpus = 8}};
  const NodeShare there[] = {{.node = 1, .gpus = 8}, {.node = 2, .gpus = 8}};
  EXPECT_TRUE(book.is_open(job, here, at_s(90)));
  EXPECT_FALSE(book.is_open(job, there, at_s(90)));
  EXPECT_TRUE(book.is_open(job, there, at_s(0)));
}

TEST(Reservation, changes_and_barriers) {
  ReservationBook book;
  EXPECT_TRUE(book.next_change(at_s(0)).is_never());
  book.add(nightly());
  book.add({.name = "long", .nodes = {0b1}, .start = at_s(90), .length = at_s(100)});
  EXPECT_EQ(book.next_change(at_s(0)), at_s(90));
  EXPECT_EQ(book.next_change(at_s(90)), at_s(100));
  EXPECT_EQ(book.next_change(at_s(100)), at_s(120));
  EXPECT_EQ(book.next_change(at_s(190)), at_s(200));
  QueuedJob job;
  job.limit = at_s(10);
  SimTime until;
  EXPECT_EQ(book.barrier_of(job, at_s(0), until), -1);
  EXPECT_EQ(book.barrier_of(job, at_s(95), until), 1);
  EXPECT_EQ(until, at_s(190));
}

TEST(Reservation, reservation_covers_nodes_beyond_64) {
  const Reservation r{.name = "w", .nodes = {0b100, 0b1010}};  // nodes 2, 65 and 67
  for (const int node : {2, 65, 67}) EXPECT_TRUE(r.has(node)) << node;
  for (const int node : {0, 1, 3, 64, 66, 68, 127}) EXPECT_FALSE(r.has(node)) << node;
}

// If two end together the first is named; otherwise the one that ends last.
TEST(Reservation, barrier_is_the_last_reservation_to_end) {
  const auto until = [](int first_length, int second_length) {
    ReservationBook book;
    book.add({.name = "a", .nodes = {1}, .start = at_s(0), .length = at_s(first_length)});
    book.add({.name = "b", .nodes = {1}, .start = at_s(0), .length = at_s(second_length)});
    const QueuedJob job{.limit = at_s(10)};
    sim::SimTime end;
    const int barrier = book.barrier_of(job, at_s(5), end);
    return std::pair(barrier, end.ns() / 1'000'000'000);
  };
  EXPECT_EQ(until(100, 100), std::pair(0, std::int64_t{100}));
  EXPECT_EQ(until(100, 101), std::pair(1, std::int64_t{101}));
  EXPECT_EQ(until(101, 100), std::pair(0, std::int64_t{101}));
}

}  // namespace
}  // namespace orrery::cluster
