// Rules of a fit: what is held out, which errors are told, bounds that are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "layers/compute/fit.h"

namespace orrery::compute {
namespace {

catalog::Accelerator fitted_device() {
  catalog::Accelerator a;
  a.id = "new";
  a.dense_peak[static_cast<std::size_t>(catalog::Dtype::bf16)] = FlopsPerSecond(400e12);
  a.memory_bandwidth = BytesPerSecond(1e12);
  return a;
}

// Bounds that leave no room keep the parameter where it starts.
FitParameter held(const char* name, double at) {
  return {.dtype = "", .name = name, .start = at, .step = 0.01, .low = at, .high = at};
}

// Passes of 10^9 bytes at half of 1 TB/s: 2 ms and a launch of 2.5 us; sample i was measured
// i percent quicker than that.
std::vector<KernelSample> passes(int count) {
  std::vector<KernelSample> samples;
  for (int i = 0; i < count; ++i) {
    const double predicted = 2e-3 + 2.5e-6;
    samples.push_back({.kernels = {workload::MemoryPass{.read = Bytes(6e8), .written = Bytes(4e8)}},
                       .measured = Seconds(predicted / (1 + 0.01 * i))});
  }
  return samples;
}

// A third is drawn by a fixed stream and not fitted to; its errors are those that are told.
TEST(FitRules, errors_are_of_the_samples_that_were_held_out) {
  const FitResult r =
      fit_kernels(fitted_device(), {}, {}, {held("pass_efficiency", 0.5)}, passes(60));
  RandomStream draw(1, "fit/held-out");
  std::vector<double> errors;
  for (int i = 0; i < 60; ++i) {
    if (draw.uniform() < 1.0 / 3) errors.push_back(0.01 * i);
  }
  ASSERT_GT(errors.size(), 10U);
  EXPECT_EQ(r.held_out, static_cast<int>(errors.size()));
  EXPECT_EQ(r.fitted_on, 60 - r.held_out);
  // They rise by 0.01 each, so half and nine tenths of the way lie between two of them.
  const auto between = [&](double share) {
    const double at = share * static_cast<double>(errors.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, errors.size() - 1);
    return std::pair(errors[low] - 1e-9, errors[high] + 1e-9);
  };
  EXPECT_GE(r.median_error, between(0.5).first);
  EXPECT_LE(r.median_error, between(0.5).second);
  EXPECT_GE(r.p90_error, between(0.9).first);
  EXPECT_LE(r.p90_error, between(0.9).second);
  EXPECT_EQ(r.values.at(0).value, 0.5);
}

TEST(FitRules, kernels_measured_together_take_the_sum_of_their_times) {
  const workload::MemoryPass pass{.read = Bytes(1e9)};
  const std::vector<KernelSample> samples(
      9, {.kernels = {pass, pass}, .measured = Seconds(2 * (2e-3 + 2.5e-6))});
  const FitResult r = fit_kernels(fitted_device(), {}, {}, {held("pass_efficiency", 0.5)}, samples);
  EXPECT_NEAR(r.p90_error, 0, 1e-9);
}

// Times of half and of a hundredth of the bandwidth, where 0.1 to 0.4 is allowed.
TEST(FitRules, a_parameter_stays_within_its_bounds) {
  const auto fitted = [](double efficiency) {
    const std::vector<KernelSample> samples(9,
                                            {.kernels = {workload::MemoryPass{.read = Bytes(1e9)}},
                                             .measured = Seconds(1e-3 / efficiency + 2.5e-6)});
    const FitParameter p{.dtype = "",
                         .name = "pass_efficiency",
                         .start = 0.2,
                         .step = 0.05,
                         .low = 0.1,
                         .high = 0.4};
    return fit_kernels(fitted_device(), {}, {}, {p}, samples).values.at(0).value;
  };
  const double high = fitted(0.5), low = fitted(0.01);
  EXPECT_NEAR(high, 0.4, 0.005);
  EXPECT_LE(high, 0.4);
  EXPECT_NEAR(low, 0.1, 0.005);
  EXPECT_GE(low, 0.1);
}

// Most samples at half of the bandwidth and some at a tenth: the few do not bend the fit.
TEST(FitRules, a_few_odd_kernels_do_not_bend_the_rest) {
  std::vector<KernelSample> samples;
  for (int i = 0; i < 60; ++i) {
    const double efficiency = i % 5 == 0 ? 0.1 : 0.5;
    samples.push_back({.kernels = {workload::MemoryPass{.read = Bytes(1e9)}},
                       .measured = Seconds(1e-3 / efficiency + 2.5e-6)});
  }
  const FitResult r = fit_kernels(
      fitted_device(), {}, {},
      {{.dtype = "", .name = "pass_efficiency", .start = 0.6, .step = 0.05, .low = 0, .high = 1}},
      samples);
  EXPECT_NEAR(r.values.at(0).value, 0.5, 0.005);
  EXPECT_LT(r.median_error, 0.01);
}

// Parameters of attention are named by its kernel; those of grouped products are products'.
TEST(FitRules, values_are_of_the_library_that_ran) {
  const FitResult r = fit_kernels(
      fitted_device(), {}, {.products = "vllm", .attention = "flash2"},
      {held("pass_efficiency", 0.5), held("grouped.tail", 0.3), held("decode.tail", 0.2)},
      passes(9));
  ASSERT_EQ(r.values.size(), 3U);
  EXPECT_EQ(r.values[0].library, "vllm");
  EXPECT_EQ(r.values[1].library, "vllm");
  EXPECT_EQ(r.values[2].library, "flash2");
  EXPECT_EQ(r.values[2].parameter, "decode.tail");
  EXPECT_EQ(r.values[2].accelerator, "new");
  EXPECT_EQ(r.values[2].dtype, "");
  EXPECT_EQ(r.values[2].value, 0.2);
}

struct Range {
  const char* name;
  double start, step, low, high;
};

void expect_ranges(const std::vector<FitParameter>& all, const std::string& dtype,
                   const std::string& kernel, const std::vector<Range>& ranges) {
  ASSERT_EQ(all.size(), ranges.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].dtype, dtype);
    EXPECT_EQ(all[i].name, kernel + ranges[i].name);
    EXPECT_EQ(all[i].start, ranges[i].start) << all[i].name;
    EXPECT_EQ(all[i].step, ranges[i].step) << all[i].name;
    EXPECT_EQ(all[i].low, ranges[i].low) << all[i].name;
    EXPECT_EQ(all[i].high, ranges[i].high) << all[i].name;
  }
}

// Where each search begins, how far its first step goes and what it may not leave.
TEST(FitRules, searches_begin_near_what_devices_have) {
  expect_ranges(gemm_parameters(catalog::Dtype::fp8), "fp8", "",
                {{"launch_us", 2.5, 0.5, 0.3, 30},
                 {"efficiency", 0.85, 0.05, 0.05, 1},
                 {"memory_efficiency", 0.85, 0.05, 0.05, 1},
                 {"k_overhead", 130, 40, 0, 3000},
                 {"tail", 0.1, 0.2, 0, 1},
                 {"overlap_loss", 0.3, 0.2, 0, 1},
                 {"split_us", 2.8, 0.5, 0, 30},
                 {"split_cost", 1, 1, 0, 10},
                 {"latency_ns", 0.2, 0.3, 0, 5}});
  const std::vector<Range> attention = {{"launch_us", 12, 3, 1, 200},
                                        {"efficiency", 0.7, 0.1, 0.05, 1},
                                        {"pair_flop", 50, 50, 0, 2000},
                                        {"key_overhead", 250, 100, 0, 3000},
                                        {"tail", 0.2, 0.2, 0, 1},
                                        {"overlap_loss", 0.4, 0.3, 0, 1},
                                        {"memory_efficiency", 0.85, 0.05, 0.05, 1}};
  expect_ranges(attention_parameters(AttentionKernel::prefill), "bf16", "prefill.", attention);
  expect_ranges(attention_parameters(AttentionKernel::backward), "bf16", "backward.", attention);
  expect_ranges(attention_parameters(AttentionKernel::decode), "bf16", "decode.", attention);
  expect_ranges(pass_parameters(), "", "",
                {{"pass_launch_us", 2.5, 1, 0.3, 50}, {"pass_efficiency", 0.85, 0.05, 0.05, 1}});
}

TEST(FitRules, values_are_set_over_those_of_the_same_names) {
  const Calibration base = with_values(
      {}, {{.accelerator = "a", .library = "", .dtype = "", .parameter = "tail", .value = 1}});
  const Calibration both = with_values(
      base, {{.accelerator = "a", .library = "", .dtype = "", .parameter = "tail", .value = 2},
             {.accelerator = "b", .library = "", .dtype = "", .parameter = "tail", .value = 3}});
  EXPECT_EQ(both.values.size(), 2U);
  EXPECT_EQ(both.find("a", "", "", "tail")->value, 2);
  EXPECT_EQ(both.find("b", "", "", "tail")->value, 3);
  const FitResult none;
  EXPECT_EQ(none.fitted_on + none.held_out, 0);
  EXPECT_EQ(none.median_error + none.p90_error, 0);
  const FitParameter p;
  EXPECT_EQ(p.start + p.step + p.low + p.high, 0);
}

}  // namespace
}  // namespace orrery::compute
