#include "layers/storage/scale_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layers/storage/checkpoint.h"
#include "layers/storage/guidance.h"
#include "layers/storage/loader.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

BytesPerSecond gib_per_s(double v) { return BytesPerSecond(gib(v).base()); }

// Everpure FlashBlade//EXA (mlcommons/storage_results_v3.0): 1T and 405B checkpoints, write times
// in seconds.
const ScaleOutRow kTen{.size = gib(15426.6), .servers = 10, .time = seconds(47.28)};
const ScaleOutRow kFifteen{.size = gib(15426.6), .servers = 15, .time = seconds(31.97)};
const ScaleOutRow kTwenty{.size = gib(15426.6), .servers = 20, .time = seconds(23.67)};
const ScaleOutRow kThirtySmall{.size = gib(5292.2), .servers = 30, .time = seconds(7.20)};

// Measured: 17.60 s, 876.5 GiB/s as size over mean time (887.7 as the mean of rates, +- 103).
TEST(ScaleOutFit, predicts_thirty_nodes_from_fewer_and_a_smaller_checkpoint) {
  const ScaleOutRow rows[] = {kTen, kFifteen, kTwenty, kThirtySmall};
  const ScaleOutFit fit = fit_scale_out(rows);
  EXPECT_NEAR(fit.fixed.base(), 2.0, 0.4);
  const ScaleOutRate predicted =
      scale_out(gib(15426.6),
                {.servers = 30, .per_server = fit.per_server, .clients = 32, .fixed = fit.fixed});
  EXPECT_NEAR(predicted.time.base() / 17.60, 1, 0.05);
  EXPECT_NEAR(predicted.rate / gib_per_s(887.7), 1, 0.04);
  EXPECT_NEAR(predicted.of_linear, 0.88, 0.03);
}

// Without the small checkpoint no row shows the fixed cost, and the result is the straight line,
// which is off by a tenth.
TEST(ScaleOutFit, straight_line_misses_by_a_tenth) {
  const ScaleOutRow rows[] = {kTen, kFifteen, kTwenty};
  const ScaleOutFit fit = fit_scale_out(rows);
  const ScaleOutRate predicted =
      scale_out(gib(15426.6),
                {.servers = 30, .per_server = fit.per_server, .clients = 32, .fixed = fit.fixed});
  EXPECT_NEAR(predicted.rate / gib_per_s(887.7), 1.10, 0.02);
}

TEST(ScaleOutFit, finds_what_made_the_rows) {
  std::vector<ScaleOutRow> rows;
  for (const double servers : {2.0, 5.0, 9.0}) {
    const ScaleOutRate r = scale_out(
        terabytes(3), {.servers = servers, .per_server = gbytes_per_s(20), .fixed = seconds(1.5)});
    rows.push_back({.size = terabytes(3), .servers = servers, .time = r.time});
  }
  const ScaleOutFit fit = fit_scale_out(rows);
  EXPECT_NEAR(fit.per_server / gbytes_per_s(20), 1, 1e-9);
  EXPECT_NEAR(fit.fixed.base(), 1.5, 1e-9);
}

TEST(ScaleOutRate, names_its_limit) {
  ScaleOut system{.servers = 10, .per_server = gbytes_per_s(30), .clients = 4};
  EXPECT_EQ(scale_out(terabytes(1), system).limit, ScaleOutLimit::servers);
  system.per_client = gbytes_per_s(25);
  const ScaleOutRate r = scale_out(terabytes(1), system);
  EXPECT_EQ(r.limit, ScaleOutLimit::clients);
  EXPECT_NEAR(r.rate / gbytes_per_s(100), 1, 1e-12);
  system.fixed = seconds(100);
  EXPECT_EQ(scale_out(terabytes(1), system).limit, ScaleOutLimit::fixed_cost);
}

TEST(ScaleOutRate, more_servers_never_slow) {
  Seconds before(1e30);
  for (double servers = 1; servers <= 64; ++servers) {
    const Seconds t = scale_out(terabytes(10), {.servers = servers,
                                                .per_server = gbytes_per_s(30),
                                                .clients = 32,
                                                .per_client = gbytes_per_s(25),
                                                .fixed = seconds(1)})
                          .time;
    EXPECT_LE(t, before);
    before = t;
  }
}

// The reads of the same rows: there is no commit, so the clients' limit shows.
TEST(ScaleOut, reads_are_held_by_the_clients) {
  const std::vector<ScaleOutRow> rows = {
      {.size = gib(15426.6), .servers = 10, .time = seconds(62.97), .clients = 32},
      {.size = gib(15426.6), .servers = 15, .time = seconds(44.97), .clients = 32},
      {.size = gib(15426.6), .servers = 20, .time = seconds(33.48), .clients = 32},
      {.size = gib(5292.2), .servers = 30, .time = seconds(9.46), .clients = 32}};
  const ClientBoundFit fit = fit_client_bound(rows);
  EXPECT_NEAR(fit.per_server / BytesPerSecond(gib(1).base()), 23.5, 0.2);
  EXPECT_NEAR(fit.per_client / BytesPerSecond(gib(1).base()), 559.4 / 32, 0.1);
  const ScaleOutRate rate = scale_out(gib(15426.6), {.servers = 30,
                                                     .per_server = fit.per_server,
                                                     .clients = 32,
                                                     .per_client = fit.per_client,
                                                     .fixed = {}});
  EXPECT_EQ(rate.limit, ScaleOutLimit::clients);
  EXPECT_NEAR(rate.time.base(), 29.11, 0.06 * 29.11);
}

TEST(ScaleOut, clients_that_never_bind_are_unlimited) {
  std::vector<ScaleOutRow> rows;
  for (const double servers : {4.0, 8.0, 16.0}) {
    rows.push_back({.size = terabytes(1),
                    .servers = servers,
                    .time = terabytes(1) / (gbytes_per_s(5) * servers),
                    .clients = 100});
  }
  const ClientBoundFit fit = fit_client_bound(rows);
  EXPECT_NEAR(fit.per_server / gbytes_per_s(5), 1, 1e-12);
  EXPECT_EQ(fit.per_client, kUnlimitedRate);
}

// The first row is limited by its server, the others by their clients.
TEST(ScaleOut, fit_separates_server_and_client_limits) {
  const auto row = [](double servers, double rate) {
    return ScaleOutRow{
        .size = gigabytes(100), .servers = servers, .time = seconds(100 / rate), .clients = 4};
  };
  const ClientBoundFit fit = fit_client_bound({row(8, 12), row(1, 5), row(4, 12)});
  EXPECT_NEAR(fit.per_server.base(), 5e9, 1);
  EXPECT_NEAR(fit.per_client.base(), 3e9, 1);
  EXPECT_STREQ(to_text(ScaleOutLimit::servers), "servers");
  EXPECT_STREQ(to_text(ScaleOutLimit::clients), "clients");
}

TEST(ScaleOut, rate_and_fixed_cost) {
  ScaleOut system{.servers = 10, .per_server = gbytes_per_s(10), .efficiency = 0.5};
  ScaleOutRate r = scale_out(gigabytes(500), system);
  EXPECT_EQ(r.time, seconds(10)) << "half of 100 GB/s";
  EXPECT_DOUBLE_EQ(r.of_linear, 0.5);
  system.fixed = seconds(11);
  EXPECT_EQ(scale_out(gigabytes(500), system).limit, ScaleOutLimit::fixed_cost);
  system.fixed = seconds(9);
  EXPECT_EQ(scale_out(gigabytes(500), system).limit, ScaleOutLimit::servers);
  // Rows that grow faster than in proportion have no fixed cost; it is never negative.
  const ScaleOutRow fast[] = {{.size = gigabytes(100), .servers = 1, .time = seconds(10)},
                              {.size = gigabytes(200), .servers = 1, .time = seconds(21)}};
  EXPECT_EQ(fit_scale_out(fast).fixed, Seconds(0));
  EXPECT_NEAR(fit_scale_out(fast).per_server / gbytes_per_s(1), 9.77, 0.01);
  // Which side binds depends on servers per client: rows of 5 GB/s per server and 20 per client.
  std::vector<ScaleOutRow> rows;
  for (const auto& [servers, clients] :
       {std::pair{4.0, 8.0}, {40.0, 4.0}, {32.0, 64.0}, {12.0, 1.0}}) {
    const double rate = std::min(5 * servers, 20 * clients);
    rows.push_back({.size = gigabytes(1000),
                    .servers = servers,
                    .time = seconds(1000 / rate),
                    .clients = clients});
  }
  const ClientBoundFit fit = fit_client_bound(rows);
  EXPECT_NEAR(fit.per_server / gbytes_per_s(1), 5, 1e-9);
  EXPECT_NEAR(fit.per_client / gbytes_per_s(1), 20, 1e-9);
}

}  // namespace
}  // namespace orrery::storage
