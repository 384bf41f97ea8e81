// The lease of a bucket place: one agent at a time, whichever process is killed and whatever the
// clocks show.
#include "live/agent/keep_lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/agent/keep_store_fixture.h"

namespace orrery::agent::keep_lease_tests {
namespace {

using testing::HasSubstr;

class KeepLease : public testing::Test {
 protected:
  BucketLease lease(const std::string& id) {
    return {bucket.client(id),
            "run/",
            {.id = id, .host = "host-" + id, .process = 7, .journal = "/j"},
            [this] { return up; }};
  }
  static std::string code(const Result<void>& held) { return held ? "held" : code_of(held); }

  MemoryBucket bucket;
  Seconds up = seconds(1000);
};

TEST_F(KeepLease, second_agent_learns_who_the_first_is) {
  BucketLease first = lease("one"), second = lease("two");
  EXPECT_EQ(code(first.hold()), "held");
  const auto held = second.hold();
  EXPECT_EQ(code(held), "lifecycle.lease") << "the first may have been killed";
  EXPECT_THAT(held.error().front().what,
              testing::AllOf(HasSubstr("host-one"), HasSubstr("7"), HasSubstr("/j")));
  // The first agent renews its lease, so it is known to be alive.
  up += kLeaseRenew;
  EXPECT_EQ(code(first.hold()), "held");
  EXPECT_EQ(code(second.hold()), "lifecycle.busy");
}

TEST_F(KeepLease, lease_of_a_killed_agent_is_taken_over_after_it_has_expired) {
  {
    EXPECT_EQ(code(lease("one").hold()), "held");
  }
  BucketLease second = lease("two");
  EXPECT_EQ(code(second.hold()), "lifecycle.lease");
  up += kLeaseLasts - seconds(1);
  EXPECT_EQ(code(second.hold()), "lifecycle.lease");
  up += seconds(1);
  EXPECT_EQ(code(second.hold()), "held");
  // The same journal on the same boot is the same agent, so there is no wait.
  EXPECT_EQ(code(lease("two").hold()), "held");
}

TEST_F(KeepLease, owner_stopped_for_too_long_has_lost_its_lease) {
  BucketLease first = lease("one"), second = lease("two");
  EXPECT_EQ(code(first.hold()), "held");
  EXPECT_EQ(code(second.hold()), "lifecycle.lease");
  up += kLeaseLasts;
  EXPECT_EQ(code(second.hold()), "held");
  EXPECT_EQ(code(first.hold()), "lifecycle.busy");
  EXPECT_EQ(code(second.hold()), "held");
}

TEST_F(KeepLease, owner_that_cannot_renew_stops_before_another_may_begin) {
  BucketLease first = lease("one");
  EXPECT_EQ(code(first.hold()), "held");
  bucket.is_away = true;
  up += kLeaseRenew;
  EXPECT_EQ(code(first.hold()), "held");
  up += kLeaseLasts / 2;
  EXPECT_EQ(code(first.hold()), "lifecycle.bucket");
}

TEST_F(KeepLease, released_lease_leaves_nothing_and_is_free_at_once) {
  BucketLease first = lease("one");
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(code(first.hold()), "held");
    up += kLeaseRenew;
  }
  EXPECT_LE(bucket.objects.size(), 6U) << "old numbers are removed";
  first.release();
  EXPECT_TRUE(bucket.objects.empty());
  EXPECT_EQ(code(lease("two").hold()), "held");
}

TEST_F(KeepLease, store_that_ignores_the_condition_is_detected) {
  bucket.ignores_conditions = true;
  const auto held = lease("one").hold();
  EXPECT_EQ(code(held), "lifecycle.bucket");
  EXPECT_THAT(held.error().front().what, HasSubstr("If-None-Match"));
}

}  // namespace
}  // namespace orrery::agent::keep_lease_tests
