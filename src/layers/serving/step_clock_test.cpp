#include "layers/serving/step_clock.h"

#include <gtest/gtest.h>

#include "layers/serving/test_costs.h"

namespace orrery::serving {
namespace {

// The tables and the one-off sum do the same arithmetic in a different order.
TEST(StepClock, clock_gives_the_time_of_the_whole_iteration) {
  StepClock clock = toy_clock();
  const Replica& r = clock.replica();
  ServingCosts costs;
  costs.kernel = [](const workload::Operation& op) {
    return ServingOpCost{.time = Seconds(std::max(workload::bytes_of(op).base() / 2e12,
                                                  workload::flops_of(op).base() / 4e14))};
  };
  costs.collective = [](const workload::CollectiveCall&) { return Seconds(0); };
  costs.settle = [](const ServingOpCost& c, Seconds w) {
    return SettledWork{.time = c.time + w, .power = Watts(0)};
  };
  const double decode = step_time(r, {.decoding = 8, .context = 700}, costs).total.base();
  EXPECT_NEAR(clock.time({.decoding = 8, .decode_keys = 5600, .sampled = 8}).base(), decode,
              decode * 1e-12);
  // Two chunks of 256 tokens after 512 cached ones, beside 8 decoding requests.
  const Iteration mixed{
      .decoding = 8, .context = 700, .prompts = 2, .prompt_tokens = 256, .prompt_cached = 512};
  const engines::StepSums sums{.decoding = 8,
                               .decode_keys = 5600,
                               .prompts = 2,
                               .prompt_tokens = 512,
                               .prompt_pairs = 2 * (256 * 512 + 256.0 * 257 / 2),
                               .sampled = 10};
  const double whole = step_time(r, mixed, costs).total.base();
  EXPECT_NEAR(clock.time(sums).base(), whole, whole * 1e-9);
}

TEST(StepClock, empty_step_takes_no_time) {
  StepClock clock = toy_clock();
  EXPECT_EQ(clock.time({}).base(), 0);
}

}  // namespace
}  // namespace orrery::serving
