#include "layers/cluster/queue_wait.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::cluster {
namespace {

// Erlang's tables: B(10, 7) = 0.0787, C(10, 7) = 0.2217; C(1, a) = a.
TEST(QueueWait, erlang_tables) {
  EXPECT_NEAR(erlang_b(10, 7), 0.0787, 0.0001);
  EXPECT_NEAR(erlang_c(10, 7), 0.2217, 0.0001);
  EXPECT_NEAR(erlang_c(1, 0.6), 0.6, 1e-12);
  EXPECT_EQ(erlang_c(4, 5), 1);
}

QueueProblem single(double load, double variation) {
  return {.servers = 1,
          .arrivals = PerSecond(load / 100),
          .service = seconds(100),
          .arrival_variation = 1,
          .service_variation = variation};
}

// Pollaczek-Khinchine: M/M/1 waits rho/(1-rho) services, M/D/1 half of that.
TEST(QueueWait, exact_for_one_server) {
  EXPECT_NEAR(estimate_wait(single(0.8, 1)).mean_wait.base(), 400, 1e-9);
  EXPECT_NEAR(estimate_wait(single(0.8, 0)).mean_wait.base(), 200, 1e-9);
  EXPECT_NEAR(estimate_wait(single(0.8, 3)).mean_wait.base(), 400 * 5, 1e-9);
}

// M/M/2: W = S rho^2 / (1 - rho^2).
TEST(QueueWait, exact_for_two_exponential_servers) {
  const double rho = 0.7;
  const QueueWait w =
      estimate_wait({.servers = 2, .arrivals = PerSecond(2 * rho / 100), .service = seconds(100)});
  EXPECT_NEAR(w.mean_wait.base(), 100 * rho * rho / (1 - rho * rho), 1e-9);
  EXPECT_NEAR(w.mean_queue, 2 * rho / 100 * w.mean_wait.base(), 1e-9);
}

TEST(QueueWait, full_queues_grow_without_bound) {
  const QueueWait w = estimate_wait(single(1.0, 1));
  EXPECT_FALSE(w.stable);
  EXPECT_TRUE(std::isinf(w.mean_wait.base()));
}

TEST(QueueWait, more_servers_never_wait_longer) {
  Seconds before(1e30);
  for (int servers = 20; servers < 60; ++servers) {
    const QueueWait w = estimate_wait({.servers = static_cast<double>(servers),
                                       .arrivals = PerSecond(0.19),
                                       .service = seconds(100),
                                       .arrival_variation = 1,
                                       .service_variation = 3});
    EXPECT_LE(w.mean_wait, before);
    before = w.mean_wait;
  }
}

// At a load of one and above the queue grows without bound.
TEST(QueueWait, overloaded_queue_grows_without_bound) {
  const QueueWait w =
      estimate_wait({.servers = 4, .arrivals = PerSecond(0.02), .service = seconds(200)});
  EXPECT_DOUBLE_EQ(w.load, 1);
  EXPECT_FALSE(w.stable);
  EXPECT_EQ(w.wait_chance, 1);
  EXPECT_TRUE(std::isinf(w.mean_wait.base()));
  EXPECT_TRUE(std::isinf(w.mean_wait_of_waiting.base()));
  EXPECT_TRUE(std::isinf(w.mean_queue));
}

// M/G/1: rho 0.6, S 300 s, W = rho S / (1 - rho) x (1 + cs^2) / 2 = 450 x (1.44 + 6.25) / 2.
TEST(QueueWait, mean_wait_of_one_server) {
  const QueueWait w = estimate_wait({.servers = 1,
                                     .arrivals = PerSecond(0.002),
                                     .service = seconds(300),
                                     .arrival_variation = 1.2,
                                     .service_variation = 2.5});
  EXPECT_TRUE(w.stable);
  EXPECT_NEAR(w.wait_chance, 0.6, 1e-12);
  EXPECT_NEAR(w.mean_wait_of_waiting.base(), 750 * 3.845, 1e-9);
  EXPECT_NEAR(w.mean_wait.base(), 450 * 3.845, 1e-9);
  EXPECT_NEAR(w.mean_queue, 0.002 * 450 * 3.845, 1e-12);
}

}  // namespace
}  // namespace orrery::cluster
