#include "layers/compute/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/catalog/shipped_fixture.h"
#include "layers/compute/calibration.h"
#include "layers/compute/kernel.h"

namespace orrery::compute {
namespace {

const CalibrationValue* value_of(const FitResult& r, std::string_view name) {
  for (const CalibrationValue& v : r.values) {
    if (v.parameter == name) return &v;
  }
  return nullptr;
}

// Times made by the model with known parameters give these parameters back.
TEST(Fit, finds_the_parameters_that_made_the_times) {
  const catalog::Catalog catalog = *catalog::load_embedded_catalog();
  const Calibration base = read_calibration(catalog::shipped()).value();
  const catalog::Accelerator h100 = *catalog.accelerator("h100-sxm");
  const Calibration known = with_values(base, {{.accelerator = "h100-sxm",
                                                .library = "",
                                                .dtype = "bf16",
                                                .parameter = "efficiency",
                                                .value = 0.7},
                                               {.accelerator = "h100-sxm",
                                                .library = "",
                                                .dtype = "bf16",
                                                .parameter = "memory_efficiency",
                                                .value = 0.6}});
  const DeviceModel truth = device_model(h100, known);
  std::vector<KernelSample> samples;
  for (const double m : {1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0}) {
    for (const double n : {512.0, 2048.0, 8192.0, 16384.0}) {
      for (const double k : {512.0, 1024.0, 4096.0, 16384.0}) {
        const workload::Gemm g{.m = m, .n = n, .k = k};
        samples.push_back({.kernels = {g}, .measured = kernel_time(truth, g)});
      }
    }
  }
  const FitResult r = fit_kernels(h100, base, {}, gemm_parameters(catalog::Dtype::bf16), samples);
  EXPECT_EQ(r.fitted_on + r.held_out, static_cast<int>(samples.size()));
  EXPECT_LT(r.median_error, 0.01);
  EXPECT_NEAR(value_of(r, "efficiency")->value, 0.7, 0.03);
  EXPECT_NEAR(value_of(r, "memory_efficiency")->value, 0.6, 0.03);
}

TEST(Fit, bad_row_is_refused) {
  std::vector<catalog::EmbeddedFile> files;
  for (catalog::EmbeddedFile file : catalog::embedded_files()) {
    if (file.path.starts_with("calibration/")) {
      file.text = file.path.ends_with("relatives.csv")
                      ? "accelerator,measured,units\nx,,0\n"
                      : "accelerator,library,dtype,parameter,value\nh100-sxm,,bf16,tail,much\n";
    }
    files.push_back(file);
  }
  const auto loaded = read_calibration(load_knowledge(files).value());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().size(), 5u);  // one per file
  EXPECT_EQ(loaded.error()[0].code, "calibration.row");
}

catalog::Accelerator fitted_device() {
  catalog::Accelerator a;
  a.id = "new";
  a.dense_peak[static_cast<std::size_t>(catalog::Dtype::bf16)] = FlopsPerSecond(400e12);
  a.memory_bandwidth = BytesPerSecond(1e12);
  return a;
}

// Bounds without room keep the parameter at its start.
FitParameter held(const char* name, double at) {
  return {.dtype = "", .name = name, .start = at, .step = 0.01, .low = at, .high = at};
}

// Passes of 10^9 bytes at half of 1 TB/s: 2 ms and a launch of 2.5 us; sample i was measured i
// percent faster than that.
std::vector<KernelSample> passes(int count) {
  std::vector<KernelSample> samples;
  for (int i = 0; i < count; ++i) {
    const double predicted = 2e-3 + 2.5e-6;
    samples.push_back({.kernels = {workload::MemoryPass{.read = Bytes(6e8), .written = Bytes(4e8)}},
                       .measured = Seconds(predicted / (1 + 0.01 * i))});
  }
  return samples;
}

// A fixed stream draws a third of the samples, which are not fitted; the stated errors are theirs.
TEST(Fit, errors_are_of_held_out_samples) {
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
  // They rise by 0.01 each, so the quantiles at 0.5 and 0.9 are between two of them.
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

TEST(Fit, kernels_measured_together_add_up) {
  const workload::MemoryPass pass{.read = Bytes(1e9)};
  const std::vector<KernelSample> samples(
      9, {.kernels = {pass, pass}, .measured = Seconds(2 * (2e-3 + 2.5e-6))});
  const FitResult r = fit_kernels(fitted_device(), {}, {}, {held("pass_efficiency", 0.5)}, samples);
  EXPECT_NEAR(r.p90_error, 0, 1e-9);
}

// Times that imply half and a hundredth of the bandwidth, while 0.1 to 0.4 is allowed.
TEST(Fit, parameters_stay_within_their_bounds) {
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

// Most samples at half of the bandwidth and some at a tenth: the few do not distort the fit.
TEST(Fit, outliers_do_not_bend_the_fit) {
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

// Attention parameters are named by their kernel; those of grouped products belong to products.
TEST(Fit, values_belong_to_the_library_that_ran) {
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

// Where each search begins, how large its first step is, and its bounds.
TEST(Fit, search_starts_near_known_devices) {
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

TEST(Fit, values_replace_those_of_the_same_name) {
  const Calibration base = with_values(
      {}, {{.accelerator = "a", .library = "", .dtype = "", .parameter = "tail", .value = 1}});
  const Calibration both = with_values(
      base, {{.accelerator = "a", .library = "", .dtype = "", .parameter = "tail", .value = 2},
             {.accelerator = "b", .library = "", .dtype = "", .parameter = "tail", .value = 3}});
  EXPECT_EQ(both.values.size(), 2U);
  EXPECT_EQ(both.find("a", "", "", "tail")->value, 2);
  EXPECT_EQ(both.find("b", "", "", "tail")->value, 3);
}

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

// The loss grows with the distance outside, so a search finds its way in from either side.
TEST(Fit, search_from_outside_moves_into_the_bounds) {
  const std::vector<KernelSample> samples(9, pass_at(0.3));
  EXPECT_NEAR(searched(efficiency_from(0.9, 0.05, 0.1, 0.4), samples), 0.3, 0.003);
  EXPECT_NEAR(searched(efficiency_from(0.01, 0.02, 0.2, 0.4), samples), 0.3, 0.003);
}

// Two parameters: each side of the first simplex is as long as its own step.
TEST(Fit, several_parameters_are_fitted_together) {
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

// Samples at 0.4 and one at `other`, all of them fitted; returns the mean of their losses, computed
// by hand.
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

// Two groups more than 0.3 apart: the larger one wins however far away the smaller is. A group that
// is near counts by its number of samples alone.
TEST(Fit, far_samples_have_less_weight) {
  const std::vector<bool> held = held_out(40);
  for (const double other : {0.32, 0.2, 0.1}) {
    std::vector<KernelSample> samples;
    std::vector<double> logs;
    int fitted = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!held[i]) ++fitted;
      // Two of five fitted samples are in the other group and one is in between.
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

// Parameters that are not fitted keep the base's values: here half of the launch time.
TEST(Fit, unfitted_parameters_keep_the_base) {
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
