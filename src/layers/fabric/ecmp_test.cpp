#include "layers/fabric/ecmp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"

namespace orrery::fabric {
namespace {

// The published rows are means of four trials; beside their 10 % and 2 % a difference of two
// standard errors of such a mean is no difference.
TEST(Ecmp, ReproducesTheMonteCarlo) {
  const auto table = catalog::embedded_table("validation/ecmp_collision_mc.csv");
  ASSERT_TRUE(table.has_value());
  ASSERT_EQ(table->rows().size(), 18u);
  int outside = 0;
  for (const CsvRow& row : table->rows()) {
    const auto value = [&](const char* column) { return table->number(row, column).value_or(0); };
    EcmpStudy study{.leaves = static_cast<int>(value("leaves")),
                    .hosts_per_leaf = static_cast<int>(value("hosts_per_leaf")),
                    .spines = static_cast<int>(value("spines")),
                    .queue_pairs = static_cast<int>(value("qps"))};
    study.trials = study.leaves >= 32 ? 12 : 40;
    const EcmpSpread s = ecmp_spread(study);
    const double worst = value("slowdown_worst_link"), mean = value("mean_flow_rate_frac");
    EXPECT_NEAR(s.worst_load, worst, std::max(0.10 * worst, s.worst_load_deviation))
        << study.leaves << " leaves, " << study.queue_pairs << " queue pairs";
    EXPECT_NEAR(s.mean_rate, mean, std::max(0.02 * mean, s.mean_rate_deviation))
        << study.leaves << " leaves, " << study.queue_pairs << " queue pairs";
    outside += std::abs(s.worst_load / worst - 1) > 0.10 || std::abs(s.mean_rate / mean - 1) > 0.02;
  }
  EXPECT_LE(outside, 2);
}

TEST(Ecmp, AdaptiveRoutingNeedsNoLuck) {
  const EcmpSpread hashed = ecmp_spread({.queue_pairs = 1});
  const EcmpSpread adaptive =
      ecmp_spread({.queue_pairs = 1, .routing = catalog::RoutingKind::adaptive});
  EXPECT_LE(adaptive.worst_load, 2);
  EXPECT_GT(adaptive.mean_rate, 1.5 * hashed.mean_rate);
}

// Within a fifth of 1 + sqrt(2 ln(P) / q).
TEST(Ecmp, ClosedFormOfTheWorstLink) {
  for (const int q : {4, 16}) {
    const EcmpSpread s = ecmp_spread({.queue_pairs = q});
    EXPECT_NEAR(1 + std::sqrt(2 * std::log(2048.0) / q), s.worst_load, 0.2 * s.worst_load);
  }
}

}  // namespace
}  // namespace orrery::fabric
