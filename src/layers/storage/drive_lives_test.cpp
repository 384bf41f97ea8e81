#include "layers/storage/drive_lives.h"

#include <gtest/gtest.h>

namespace orrery::storage {
namespace {

double ratio_of(const DurabilityQuestion& q, int losses) {
  const DriveOutcome lived = live_through({.group = q, .losses = losses});
  EXPECT_TRUE(lived.is_whole);
  return lived.mean_time_to_loss / durability_of(q).mean_time_to_loss;
}

// Small cases, in which losses are frequent enough to be counted: ten thousand of each.
TEST(DriveLives, time_to_loss_is_the_chains) {
  const PerSecond often(1 / days(20).base());
  EXPECT_NEAR(
      ratio_of({.shards = 2, .losses = 1, .drive_failures = often, .rebuild = days(2)}, 10'000), 1,
      0.03);
  EXPECT_NEAR(
      ratio_of({.shards = 3, .losses = 2, .drive_failures = often, .rebuild = days(4)}, 10'000), 1,
      0.03);
  EXPECT_NEAR(
      ratio_of({.shards = 6, .losses = 2, .drive_failures = often, .rebuild = days(2)}, 10'000), 1,
      0.03);
}

TEST(DriveLives, sectors_that_cannot_be_read_lose_data_as_the_chain_says) {
  const DurabilityQuestion q{.shards = 3,
                             .losses = 1,
                             .drive_failures = PerSecond(1 / days(20).base()),
                             .rebuild = days(1),
                             .rebuild_reads = terabytes(50),
                             .bit_error_rate = 1e-15};
  EXPECT_NEAR(ratio_of(q, 10'000), 1, 0.03);
}

TEST(DriveLives, a_lost_server_with_more_shards_than_survive_loses_data) {
  const DurabilityQuestion q{.shards = 4,
                             .losses = 1,
                             .drive_failures = PerSecond(1 / days(500).base()),
                             .rebuild = days(1),
                             .server_losses = PerSecond(1 / days(200).base()),
                             .shards_on_server = 2};
  EXPECT_NEAR(ratio_of(q, 10'000), 1, 0.03);
}

// Time runs out before losses come: said, not guessed.
TEST(DriveLives, what_never_happens_is_not_counted) {
  const DriveOutcome lived =
      live_through({.group = {.shards = 10,
                              .losses = 4,
                              .drive_failures = PerSecond(0.01 / years(1).base()),
                              .rebuild = hours(4)},
                    .losses = 10,
                    .events_most = 10'000});
  EXPECT_FALSE(lived.is_whole);
  EXPECT_EQ(lived.losses, 0);
}

}  // namespace
}  // namespace orrery::storage
