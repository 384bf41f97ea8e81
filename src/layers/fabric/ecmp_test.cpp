#include "layers/fabric/ecmp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"

namespace orrery::fabric {
namespace {

// The published rows are means of four trials. In addition to 10 % and 2 %, a difference of two
// standard errors of such a mean is accepted.
TEST(Ecmp, reproduces_the_monte_carlo) {
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

TEST(Ecmp, adaptive_routing_needs_no_luck) {
  const EcmpSpread hashed = ecmp_spread({.queue_pairs = 1});
  const EcmpSpread adaptive =
      ecmp_spread({.queue_pairs = 1, .routing = catalog::RoutingKind::adaptive});
  EXPECT_LE(adaptive.worst_load, 2);
  EXPECT_GT(adaptive.mean_rate, 1.5 * hashed.mean_rate);
}

// Within a fifth of 1 + sqrt(2 ln(P) / q).
TEST(Ecmp, closed_form_of_the_worst_link) {
  for (const int q : {4, 16}) {
    const EcmpSpread s = ecmp_spread({.queue_pairs = q});
    EXPECT_NEAR(1 + std::sqrt(2 * std::log(2048.0) / q), s.worst_load, 0.2 * s.worst_load);
  }
}

// The deviation of two trials is their difference over the square root of two; a single trial has
// none.
TEST(Ecmp, spread_averages_trials_with_the_sample_deviation) {
  EcmpStudy study{
      .leaves = 4, .hosts_per_leaf = 8, .spines = 4, .queue_pairs = 1, .trials = 1, .seed = 5};
  const EcmpSpread first = ecmp_spread(study);
  study.seed = 6;
  const EcmpSpread second = ecmp_spread(study);
  EXPECT_EQ(first.mean_rate_deviation, 0);
  study.seed = 5;
  study.trials = 2;
  const EcmpSpread both = ecmp_spread(study);
  EXPECT_NEAR(both.mean_rate, (first.mean_rate + second.mean_rate) / 2, 1e-12);
  EXPECT_NEAR(both.least_rate, (first.least_rate + second.least_rate) / 2, 1e-12);
  EXPECT_NEAR(both.mean_rate_deviation,
              std::abs(first.mean_rate - second.mean_rate) / std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(both.worst_load_deviation,
              std::abs(first.worst_load - second.worst_load) / std::sqrt(2.0), 1e-9);
}

}  // namespace
}  // namespace orrery::fabric
