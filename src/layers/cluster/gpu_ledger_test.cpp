#include "layers/cluster/gpu_ledger.h"

#include <gtest/gtest.h>

#include <numeric>

#include "layers/cluster/cause.h"
#include "layers/cluster/cluster_fixture.h"

namespace orrery::cluster {
namespace {

TEST(GpuLedger, every_second_is_under_one_cause) {
  GpuLedger book(16);
  book.move(at_s(10), Cause::idle, Cause::start, 8);
  book.move(at_s(12), Cause::start, Cause::productive, 8);
  book.settle(at_s(100));
  book.correct(Cause::productive, Cause::lost, GpuTime{8} * 3'000'000'000);
  const auto whole = whole_seconds(book.booked(), 1);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::productive)], 8 * 88 - 24);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::lost)], 24);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::restart)], 16);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::idle)], 16 * 10 + 8 * 90);
  EXPECT_TRUE(book.is_sound());
}

TEST(GpuLedger, taking_too_many_makes_the_ledger_unsound) {
  GpuLedger book(8);
  book.move(at_s(1), Cause::idle, Cause::productive, 9);
  EXPECT_FALSE(book.is_sound());
}

TEST(GpuLedger, whole_seconds_add_up_whatever_the_parts) {
  ByCause<GpuTime> booked{};
  booked[at(Cause::productive)] = 333'333'333;
  booked[at(Cause::save)] = 333'333'333;
  booked[at(Cause::idle)] = 2'333'333'334;
  const auto whole = whole_seconds(booked, 1);
  EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), std::int64_t{0}), 3);
}

// 0.6, 0.3 and 2.1 seconds: the remaining second goes to the largest fraction.
TEST(GpuLedger, largest_remainder_is_rounded_up) {
  ByCause<GpuTime> booked{};
  booked[at(Cause::productive)] = 300'000'000;
  booked[at(Cause::save)] = 600'000'000;
  booked[at(Cause::idle)] = 2'100'000'000;
  const auto whole = whole_seconds(booked, 1);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::productive)], 0);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::checkpoint)], 1);
  EXPECT_EQ(whole[static_cast<std::size_t>(Share::idle)], 2);
  EXPECT_EQ(whole_seconds(booked, 3)[static_cast<std::size_t>(Share::idle)], 1) << "of three runs";
}

TEST(GpuLedger, year_of_131072_accelerators_does_not_overflow) {
  GpuLedger book(131'072);
  book.settle(at_s(31'536'000));
  EXPECT_EQ(whole_seconds(book.booked(), 1)[static_cast<std::size_t>(Share::idle)],
            std::int64_t{131'072} * 31'536'000);
}

TEST(GpuLedger, ledger_is_sound_until_a_negative_move) {
  GpuLedger book(8);
  EXPECT_EQ(book.accelerators(), 8);
  EXPECT_EQ(book.held(Cause::idle), 8);
  book.correct(Cause::idle, Cause::lost, 0);
  book.move(at_s(1), Cause::idle, Cause::productive, 8);
  book.move(at_s(2), Cause::productive, Cause::idle, 0);
  EXPECT_TRUE(book.is_sound()) << "all, and none";
  EXPECT_EQ(book.held(Cause::idle), 0);
  EXPECT_EQ(book.held(Cause::productive), 8);
  GpuLedger corrected(8);
  corrected.correct(Cause::idle, Cause::lost, -1);
  EXPECT_FALSE(corrected.is_sound());
  corrected.correct(Cause::idle, Cause::lost, 2);
  EXPECT_FALSE(corrected.is_sound()) << "once wrong it stays so";
  GpuLedger moved(8);
  moved.move(at_s(1), Cause::idle, Cause::productive, -1);
  EXPECT_FALSE(moved.is_sound());
}

}  // namespace
}  // namespace orrery::cluster
