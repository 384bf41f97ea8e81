#include "layers/traffic/retrieval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace orrery::traffic {
namespace {

RetrievalLaw one_read() { return {.median = microseconds(100), .p99 = microseconds(400)}; }

// ln 4 / 2.3263 = 0.5959 is the standard deviation of the logarithm; exp(0.5959^2 / 2) = 1.1943.
TEST(Retrieval, one_read_is_log_normal) {
  EXPECT_NEAR(retrieval_mean(one_read()).base(), 119.43e-6, 0.2e-6);
  EXPECT_NEAR(retrieval_p99(one_read()).base(), 400e-6, 1e-10);
}

// The quantile 0.99^(1/40) = 0.99975 of one read is 3.480 deviations up: 100 us x exp(0.5959 x
// 3.480).
TEST(Retrieval, slowest_of_parallel_reads_counts) {
  RetrievalLaw law = one_read();
  law.reads = 40;
  EXPECT_NEAR(retrieval_p99(law).base(), 795.2e-6, 0.1e-6);
  EXPECT_NEAR(retrieval_mean(law).base(), 378.3e-6, 0.5e-6);
  law.sending = microseconds(50);
  EXPECT_NEAR(retrieval_mean(law).base(), 428.3e-6, 0.5e-6);
  EXPECT_NEAR(retrieval_p99(law).base(), 845.2e-6, 0.1e-6);
}

TEST(Retrieval, hops_wait_for_each_other) {
  RetrievalLaw law = one_read();
  law.hops = 4;
  EXPECT_NEAR(retrieval_mean(law).base(), 4 * 119.43e-6, 1e-6);
  // Four independent hops are late together less often than one is: 2 x (400 - 119.4) above the
  // mean.
  EXPECT_NEAR(retrieval_p99(law).base(), (4 * 119.43 + 2 * 280.57) * 1e-6, 1e-6);
}

TEST(Retrieval, draws_match_the_closed_form) {
  for (const int hops : {1, 3}) {
    RetrievalLaw law = one_read();
    law.reads = 12;
    law.hops = hops;
    RandomStream stream(7, "test");
    std::vector<double> drawn;
    double sum = 0;
    for (int i = 0; i < 20000; ++i) {
      drawn.push_back(draw_retrieval(law, stream).base());
      sum += drawn.back();
    }
    std::ranges::sort(drawn);
    EXPECT_NEAR(sum / 20000 / retrieval_mean(law).base(), 1, 0.01) << hops;
    // With several hops the tails are slightly heavier than normal.
    const double tolerance = hops == 1 ? 0.03 : 0.08;
    EXPECT_NEAR(drawn[19800] / retrieval_p99(law).base(), 1, tolerance) << hops;
  }
}

}  // namespace
}  // namespace orrery::traffic
