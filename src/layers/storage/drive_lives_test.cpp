#include "layers/storage/drive_lives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/storage/durability.h"
#include "layers/storage/economics.h"
#include "layers/storage/lifecycle.h"

namespace orrery::storage {
namespace {

double ratio_of(const DurabilityQuestion& q, int losses) {
  const DriveOutcome lived = live_through({.group = q, .losses = losses});
  EXPECT_TRUE(lived.is_whole);
  return lived.mean_time_to_loss / durability_of(q).mean_time_to_loss;
}

// Small cases, in which losses are frequent enough to simulate ten thousand of each.
TEST(DriveLives, time_to_loss_matches_the_chain) {
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

TEST(DriveLives, lost_server_with_more_shards_than_survive_loses_data) {
  const DurabilityQuestion q{.shards = 4,
                             .losses = 1,
                             .drive_failures = PerSecond(1 / days(500).base()),
                             .rebuild = days(1),
                             .server_losses = PerSecond(1 / days(200).base()),
                             .shards_on_server = 2};
  EXPECT_NEAR(ratio_of(q, 10'000), 1, 0.03);
}

// The time limit comes before any loss: this is reported, not guessed.
TEST(DriveLives, impossible_events_are_not_counted) {
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

// Every event is a failure, and every failure a loss.
TEST(DriveLives, trial_stops_at_its_event_limit) {
  const DurabilityQuestion bare{
      .shards = 1, .drive_failures = PerSecond(1 / days(20).base()), .rebuild = days(1)};
  DriveOutcome o = live_through({.group = bare, .losses = 100, .events_most = 5});
  EXPECT_EQ(o.failures, 5u);
  EXPECT_EQ(o.losses, 5);
  EXPECT_FALSE(o.is_whole);
  o = live_through({.group = bare, .losses = 4, .events_most = 5});
  EXPECT_EQ(o.failures, 4u);
  EXPECT_TRUE(o.is_whole);
  const DriveOutcome one = live_through({.group = bare, .losses = 50, .seed = 1});
  EXPECT_EQ(live_through({.group = bare, .losses = 50}).mean_time_to_loss, one.mean_time_to_loss);
  EXPECT_NE(live_through({.group = bare, .losses = 50, .seed = 2}).mean_time_to_loss,
            one.mean_time_to_loss);
}

// A pair whose rebuild takes D: 1/(2 lambda p) + 1/lambda, p = 1 - e^(-lambda D). The chain, whose
// rebuilds are exponential, gives (3 lambda + mu) / (2 lambda^2).
TEST(DriveLives, fixed_rebuild_times_match_the_closed_form) {
  DriveTrial trial{.group = {.shards = 2,
                             .losses = 1,
                             .drive_failures = PerSecond(1 / days(20).base()),
                             .rebuild = days(10)},
                   .losses = 20'000};
  EXPECT_NEAR(live_through(trial).mean_time_to_loss / days(1), 50, 1.5);
  trial.rebuilds_alike = true;
  EXPECT_NEAR(live_through(trial).mean_time_to_loss / days(1), 10 / (1 - std::exp(-0.5)) + 20, 1.4);
}

// Two of four may be lost: an unreadable sector does no harm while redundancy is left.
TEST(DriveLives, unreadable_sector_is_harmless_while_parity_is_left) {
  const DurabilityQuestion q{.shards = 4,
                             .losses = 2,
                             .drive_failures = PerSecond(1 / days(20).base()),
                             .rebuild = days(2),
                             .rebuild_reads = terabytes(50),
                             .bit_error_rate = 1e-15};
  const DriveOutcome lived = live_through({.group = q, .losses = 3000});
  ASSERT_TRUE(lived.is_whole);
  EXPECT_EQ(lived.losses, 3000);
  EXPECT_NEAR(lived.mean_time_to_loss / durability_of(q).mean_time_to_loss, 1, 0.07);
}

}  // namespace
}  // namespace orrery::storage
