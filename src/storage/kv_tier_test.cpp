#include "storage/kv_tier.h"

#include <gtest/gtest.h>

namespace orrery::storage {
namespace {

// MLPerf Storage v3.0 KV cache: 131,072 B a token, 9k tokens a user: about 1.1 GiB.
constexpr Bytes kToken{131072};

TEST(KvTier, FetchOrRecompute) {
  KvFetch f{.tokens = 9000,
            .per_token = kToken,
            .rate = gbytes_per_s(10),
            .latency = milliseconds(5),
            .prefill = PerSecond(20000)};
  const KvVerdict v = compare_kv(f);
  EXPECT_NEAR((kToken * 9000.0) / gib(1), 1.1, 0.01);
  EXPECT_NEAR(v.fetch.base(), 0.123, 0.001);
  EXPECT_NEAR(v.recompute.base(), 0.45, 1e-9);
  EXPECT_TRUE(v.fetch_wins);
  f.rate = v.break_even;
  EXPECT_NEAR(compare_kv(f).fetch / v.recompute, 1, 1e-12);
  f.latency = seconds(1);
  EXPECT_EQ(compare_kv(f).break_even, BytesPerSecond(0));
  EXPECT_FALSE(compare_kv(f).fetch_wins);
}

TEST(KvTier, DemandOfSessions) {
  const TierDemand d = kv_demand({.arrivals = PerSecond(10),
                                  .hit_share = 0.8,
                                  .tokens = 1000,
                                  .per_token = kToken,
                                  .keep = minutes(10)});
  EXPECT_NEAR(d.capacity / gigabytes(1), 0.131072 * 2 * 600, 1e-6);
  EXPECT_NEAR(d.read / gbytes_per_s(1), 0.131072 * 8, 1e-9);
  EXPECT_NEAR(d.write / gbytes_per_s(1), 0.131072 * 2, 1e-9);
}

}  // namespace
}  // namespace orrery::storage
