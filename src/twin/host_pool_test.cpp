#include "twin/host_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::twin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> take(HostPool& pool, int count, int holder) {
  std::vector<int> taken;
  std::vector<int> from_reserve;
  pool.take(count, holder, taken, from_reserve);
  return taken;
}

TEST(HostPool, hosts_are_taken_in_order_and_spares_last) {
  HostPool pool(3, 2);
  EXPECT_THAT(take(pool, 2, 7), ElementsAre(0, 1));
  EXPECT_EQ(pool.holder(1), 7);
  EXPECT_THAT(take(pool, 2, 8), ElementsAre(2, 3));
  EXPECT_THAT(take(pool, 2, 9), IsEmpty());  // all or nothing
  EXPECT_EQ(pool.available(), 1);
}

TEST(HostPool, what_is_in_repair_is_nobodys_until_it_is_back) {
  HostPool pool(2, 0);
  pool.break_down(0);
  EXPECT_THAT(take(pool, 2, 1), IsEmpty());
  EXPECT_THAT(take(pool, 1, 1), ElementsAre(1));
  pool.mend(0);
  EXPECT_THAT(take(pool, 1, 1), ElementsAre(0));
}

TEST(HostPool, a_spare_goes_back_into_reserve) {
  HostPool pool(1, 1);
  EXPECT_THAT(take(pool, 2, 1), ElementsAre(0, 1));
  pool.give_back(1);
  EXPECT_EQ(pool.state(1), HostState::reserve);
  pool.break_down(1);
  pool.mend(1);
  EXPECT_EQ(pool.state(1), HostState::reserve);
  EXPECT_EQ(pool.first_in_reserve(), 1);
  pool.call_spare(1);
  EXPECT_EQ(pool.state(1), HostState::free);
  EXPECT_EQ(pool.first_in_reserve(), -1);
}

}  // namespace
}  // namespace orrery::twin
