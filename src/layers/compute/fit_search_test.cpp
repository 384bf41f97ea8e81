// Where a fit of kernels ends: searches that begin outside their bounds, the pull of odd samples,
// and the rest of the parameters, which no fit moves.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "layers/compute/fit.h"

namespace orrery::compute {
namespace {

catalog::Accelerator searched_device() {
  catalog::Accelerator a;
  a.id = "new";
  a.dense_peak[static_cast<std::size_t>(catalog::Dtype::bf16)] = FlopsPerSecond(400e12);
  a.memory_bandwidth = BytesPerSecond(1e12);
  return a;
}

// A pass of 10^9 bytes at a share of 1 TB/s, after a launch of 2.5 us.
KernelSample pass_at(double efficiency) {
  return {.kernels = {workload::MemoryPass{.read = Bytes(1e9)}},
          .measured = Seconds(1e-3 / efficiency + 2.5e-6)};
}

FitParameter efficiency_from(double start, double step, double low, double high) {
  return {.dtype = "",
          .name = "pass_efficiency",
          .start = start,
          .step = step,
          .low = low,
          .high = high};
}

double searched(const FitParameter& p, const std::vector<KernelSample>& samples) {
  return fit_kernels(searched_device(), {}, {}, {p}, samples).values.at(0).value;
}

// The further outside, the worse: a search finds its way in from either side.
TEST(FitSearch, a_search_that_begins_outside_its_bounds_comes_in) {
  const std::vector<KernelSample> samples(9, pass_at(0.3));
  EXPECT_NEAR(searched(efficiency_from(0.9, 0.05, 0.1, 0.4), samples), 0.3, 0.003);
  EXPECT_NEAR(searched(efficiency_from(0.01, 0.02, 0.2, 0.4), samples), 0.3, 0.003);
}

// Two parameters: each side of the first simplex is as long as its own step.
TEST(FitSearch, several_parameters_are_found_together) {
  std::vector<KernelSample> samples;
  for (int i = 0; i < 30; ++i) {
    const double bytes = 1e6 * (1 + i);
    samples.push_back({.kernels = {workload::MemoryPass{.read = Bytes(bytes)}},
                       .measured = Seconds(bytes / 0.6e12 + 7e-6)});
  }
  const FitResult r = fit_kernels(searched_device(), {}, {}, pass_parameters(), samples);
  ASSERT_EQ(r.values.size(), 2U);
  EXPECT_EQ(r.values[0].parameter, "pass_launch_us");
  EXPECT_NEAR(r.values[0].value, 7, 0.1);
  EXPECT_EQ(r.values[1].parameter, "pass_efficiency");
  EXPECT_NEAR(r.values[1].value, 0.6, 0.01);
  EXPECT_LT(r.p90_error, 0.01);
}

std::vector<bool> held_out(std::size_t count) {
  RandomStream draw(1, "fit/held-out");
  std::vector<bool> held;
  for (std::size_t i = 0; i < count; ++i) held.push_back(draw.uniform() < 1.0 / 3);
  return held;
}

// Samples at 0.4 and one at `other`, all of them fitted; the mean of their losses by hand.
double least_loss_at(const std::vector<double>& logs) {
  const auto loss = [&](double at) {
    double sum = 0;
    for (const double x : logs) {
      const double e = std::abs(x - at);
      sum += e < 0.3 ? e : 0.3 + 0.3 * (e - 0.3);
    }
    return sum;
  };
  double best = -2.4;
  for (double at = -2.4; at < 0; at += 1e-3) {
    if (loss(at) < loss(best)) best = at;
  }
  return best;
}

// Two camps that are more than 0.3 apart: the larger one wins however far the smaller is, and a
// camp that is near pulls by its numbers alone.
TEST(FitSearch, far_samples_pull_three_tenths_as_hard) {
  const std::vector<bool> held = held_out(40);
  for (const double other : {0.32, 0.2, 0.1}) {
    std::vector<KernelSample> samples;
    std::vector<double> logs;
    int fitted = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!held[i]) ++fitted;
      // Of five that are fitted two are of the other camp, and one is between.
      const double at = fitted % 5 == 0 || fitted % 5 == 2 ? other
                        : fitted % 5 == 1                  ? std::sqrt(0.4 * other)
                                                           : 0.4;
      samples.push_back(pass_at(at));
      if (!held[i]) logs.push_back(std::log(at));
    }
    const double best = std::exp(least_loss_at(logs));
    EXPECT_NEAR(searched(efficiency_from(0.9 * best, 0.02, 0.05, 1), samples), best, 0.01 * best)
        << other;
  }
}

// Parameters that are not fitted are those of the base: here half of the launch.
TEST(FitSearch, the_rest_is_what_the_base_says) {
  const Calibration base = with_values({}, {{.accelerator = "new",
                                             .library = "",
                                             .dtype = "",
                                             .parameter = "pass_launch_us",
                                             .value = 500}});
  std::vector<KernelSample> samples(
      9, {.kernels = {workload::MemoryPass{.read = Bytes(1e9)}}, .measured = Seconds(2.5e-3)});
  const FitResult r =
      fit_kernels(searched_device(), base, {}, {efficiency_from(0.4, 0.05, 0.1, 1)}, samples);
  ASSERT_EQ(r.values.size(), 1U);
  EXPECT_NEAR(r.values[0].value, 0.5, 0.003) << "1 ms / 0.5 + 0.5 ms";
  EXPECT_EQ(r.values[0].accelerator, "new");
  EXPECT_EQ(r.values[0].dtype, "");
}

}  // namespace
}  // namespace orrery::compute
