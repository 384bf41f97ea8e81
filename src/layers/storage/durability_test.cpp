#include "layers/storage/durability.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/economics.h"

namespace orrery::storage {
namespace {

PerSecond a_year(double failures) { return PerSecond(failures / years(1).base()); }

TEST(Durability, one_drive_lives_as_long_as_it_lives) {
  const Durability one = durability_of({.shards = 1, .drive_failures = a_year(0.5)});
  EXPECT_NEAR(one.mean_time_to_loss / years(1), 2, 1e-9);
  EXPECT_NEAR(one.loss_a_year, 1 - std::exp(-0.5), 1e-12);
}

// Patterson, Gibson and Katz (1988) for a pair: (3 lambda + mu) / (2 lambda^2).
TEST(Durability, mirrored_pair_has_its_closed_form) {
  const double lambda = 0.02, mu = 365;  // per year; rebuilt in a day
  const Durability pair = durability_of(
      {.shards = 2, .losses = 1, .drive_failures = a_year(lambda), .rebuild = years(1 / mu)});
  const double expected = (3 * lambda + mu) / (2 * lambda * lambda);
  EXPECT_NEAR(pair.mean_time_to_loss / years(1) / expected, 1, 1e-9);
}

// Backblaze, "Cloud Storage Durability" (2018): 17 + 3 shards, 0.405 % per year, 6.5 days to
// replace one: 99.999999999 %. Theirs counts whole periods of 6.5 days; ours rebuilds each shard
// independently.
TEST(Durability, seventeen_of_twenty_have_eleven_nines) {
  const Durability vault = durability_of(
      {.shards = 20, .losses = 3, .drive_failures = a_year(0.00405), .rebuild = days(6.5)});
  EXPECT_NEAR(vault.nines, 11, 1);
}

TEST(Durability, overloaded_server_dominates_data_loss) {
  DurabilityQuestion q{.shards = 10,
                       .losses = 2,
                       .drive_failures = a_year(0.01),
                       .rebuild = hours(12),
                       .server_losses = a_year(0.001),
                       .shards_on_server = 3};
  // Three and a third servers with three shards each, any of which causes the loss: not below 1 /
  // 300 y.
  EXPECT_NEAR(durability_of(q).loss_a_year, 10.0 / 3 * 0.001, 2e-5);
  q.shards_on_server = 1;
  EXPECT_GT(durability_of(q).nines, 7);
}

TEST(Durability, unreadable_sector_fails_the_last_rebuild) {
  DurabilityQuestion q{.shards = 9,
                       .losses = 1,
                       .drive_failures = a_year(0.01),
                       .rebuild = hours(24),
                       .rebuild_reads = terabytes(8 * 20),
                       .bit_error_rate = 1e-15};
  // 160 TB hold 1.28e15 bits: 72 % of the rebuilds fail, so nearly every failure is a loss.
  EXPECT_NEAR(durability_of(q).loss_a_year, 9 * 0.01 * 0.722, 0.004);
  const double with = durability_of(q).nines;
  q.rebuild_reads = Bytes();
  EXPECT_GT(durability_of(q).nines, with + 2);
}

TEST(Durability, twenty_nines_are_as_exact_as_two) {
  // If rebuilds are fast the chain is a product: n!/(n-m-1)! lambda^(m+1) rebuild^m / m!.
  const double lambda = 0.01, rebuild_y = 1.0 / 8760;
  const Durability deep = durability_of(
      {.shards = 14, .losses = 4, .drive_failures = a_year(lambda), .rebuild = years(rebuild_y)});
  const double product =
      14.0 * 13 * 12 * 11 * 10 * std::pow(lambda, 5) * std::pow(rebuild_y, 4) / 24;
  EXPECT_NEAR(years(1) / deep.mean_time_to_loss / product, 1, 1e-4);
  EXPECT_GT(deep.nines, 20);
}

// Simulates drives that fail and are rebuilt one by one.
double simulated_years(int shards, int losses, double lambda, double mu, int runs) {
  RandomStream random(7, "durability");
  double total = 0;
  for (int run = 0; run < runs; ++run) {
    int lost = 0;
    while (lost <= losses) {
      const double fail = (shards - lost) * lambda, mend = lost * mu;
      total += random.exponential(1 / (fail + mend));
      lost += random.uniform() * (fail + mend) < fail ? 1 : -1;
    }
  }
  return total / runs;
}

TEST(Durability, agrees_with_drives_that_fail_by_the_clock) {
  for (const auto& [shards, losses] : {std::pair{3, 1}, {4, 2}, {6, 2}}) {
    const double lambda = 0.5, mu = 6;
    const Durability chain = durability_of({.shards = shards,
                                            .losses = losses,
                                            .drive_failures = a_year(lambda),
                                            .rebuild = years(1 / mu)});
    const double clock = simulated_years(shards, losses, lambda, mu, 20'000);
    EXPECT_NEAR(clock / (chain.mean_time_to_loss / years(1)), 1, 0.03) << shards << losses;
  }
}

TEST(Durability, rebuild_is_as_fast_as_the_drives_that_take_part) {
  const RebuildQuestion spare{.bytes = terabytes(20), .drive = BytesPerSecond(250e6)};
  EXPECT_NEAR(rebuild_time(spare) / hours(1), 20e12 / (0.2 * 250e6) / 3600 + 1.0 / 6, 1e-9);
  RebuildQuestion spread = spare;
  spread.drives = 100;
  EXPECT_NEAR((rebuild_time(spread) - minutes(10)) / (rebuild_time(spare) - minutes(10)), 0.01,
              1e-9);
}

// One parity shard: MTTDL of the chain 0 -> 1 -> loss is (a + b + mu) / (a b).
TEST(Durability, drives_and_servers_both_lose_shards) {
  const double lambda = 0.03, sigma = 0.01, mu = 200;  // per year
  const auto a_year = [](double v) { return PerSecond(v / years(1).base()); };
  const Durability d = durability_of({.shards = 3,
                                      .losses = 1,
                                      .drive_failures = a_year(lambda),
                                      .rebuild = years(1 / mu),
                                      .server_losses = a_year(sigma)});
  const double a = 3 * (lambda + sigma), b = 2 * (lambda + sigma);
  EXPECT_NEAR(d.mean_time_to_loss / years(1) / ((a + b + mu) / (a * b)), 1, 1e-9);
  EXPECT_NEAR(d.loss_a_year, -std::expm1(-a * b / (a + b + mu)), 1e-15);
  EXPECT_NEAR(d.nines, -std::log10(d.loss_a_year), 1e-9);
}

// With two losses allowed, an unreadable sector costs nothing while only one drive is gone.
TEST(Durability, unreadable_sector_costs_only_the_last_redundancy) {
  DurabilityQuestion q{.shards = 6,
                       .losses = 2,
                       .drive_failures = PerSecond(0.05 / years(1).base()),
                       .rebuild = hours(24),
                       .rebuild_reads = terabytes(1000)};
  // Every rebuild from the last state fails: data is lost when two are gone and one is rebuilt, so
  // the rate of loss is the rate of having two gone: 6 x 5 lambda^2 rebuild.
  const double lambda = 0.05, rebuild = 1.0 / 365;
  EXPECT_NEAR(durability_of(q).loss_a_year / (6 * 5 * lambda * lambda * rebuild), 1, 0.02);
}

}  // namespace
}  // namespace orrery::storage
