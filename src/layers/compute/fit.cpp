#include "layers/compute/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/base/math.h"
#include "core/base/random.h"
#include "core/base/simplex.h"
#include "core/base/statistics.h"

namespace orrery::compute {
namespace {

constexpr double kOutlier = 0.3;  // log error above which the loss grows more slowly
constexpr double kOutlierSlope = 0.3;
constexpr double kOutsideBounds = 100;  // far above any mean log error
constexpr double kHeldOut = 1.0 / 3;

double predicted(const DeviceModel& device, const KernelSample& sample) {
  double seconds = 0;
  for (const workload::Operation& op : sample.kernels) seconds += kernel_time(device, op).base();
  return seconds;
}

double outlier_shy(double log_error) {
  const double e = std::abs(log_error);
  return e < kOutlier ? e : kOutlier + kOutlierSlope * (e - kOutlier);
}

// Chosen at random rather than every third, because measured rows come in cycles (three layouts of
// a product).
std::vector<bool> held_out_of(std::size_t samples) {
  RandomStream draw(1, "fit/held-out");
  std::vector<bool> held(samples);
  for (std::size_t i = 0; i < samples; ++i) held[i] = draw.uniform() < kHeldOut;
  return held;
}

}  // namespace

Calibration with_values(Calibration base, const std::vector<CalibrationValue>& values) {
  for (const CalibrationValue& v : values) base.set(v);
  return base;
}

FitResult fit_kernels(const catalog::Accelerator& accelerator, const Calibration& base,
                      const DeviceOptions& options, const std::vector<FitParameter>& parameters,
                      std::span<const KernelSample> samples) {
  std::vector<CalibrationValue> values;
  Point start;
  Point steps;
  for (const FitParameter& p : parameters) {
    const bool attention = p.name.find('.') != std::string::npos && !p.name.starts_with("grouped.");
    values.push_back({.accelerator = accelerator.id,
                      .library = attention ? options.attention : options.products,
                      .dtype = p.dtype,
                      .parameter = p.name,
                      .value = p.start});
    start.push_back(p.start);
    steps.push_back(p.step);
  }
  Calibration trial = with_values(base, values);
  const auto device_at = [&](const Point& point) {
    for (std::size_t i = 0; i < point.size(); ++i) values[i].value = point[i];
    trial = with_values(std::move(trial), values);
    return device_model(accelerator, trial, options);
  };
  const std::vector<bool> held_out = held_out_of(samples.size());
  const auto loss = [&](const Point& point) {
    double outside = 0;
    for (std::size_t i = 0; i < point.size(); ++i) {
      outside += std::max(0.0, parameters[i].low - point[i]);
      outside += std::max(0.0, point[i] - parameters[i].high);
    }
    if (outside > 0) return kOutsideBounds * (1 + outside);
    const DeviceModel device = device_at(point);
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (held_out[i]) continue;
      sum += outlier_shy(math::log(predicted(device, samples[i]) / samples[i].measured.base()));
    }
    return sum / static_cast<double>(samples.size());
  };
  const DeviceModel device = device_at(minimise(loss, start, steps));

  std::vector<double> errors;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!held_out[i]) continue;
    errors.push_back(std::abs(predicted(device, samples[i]) / samples[i].measured.base() - 1));
  }
  return {.values = values,
          .fitted_on = static_cast<int>(samples.size() - errors.size()),
          .held_out = static_cast<int>(errors.size()),
          .median_error = quantile(errors, 0.5),
          .p90_error = quantile(errors, 0.9)};
}

std::vector<FitParameter> gemm_parameters(catalog::Dtype dtype) {
  const std::string d(to_text(dtype));
  return {
      {.dtype = d, .name = "launch_us", .start = 2.5, .step = 0.5, .low = 0.3, .high = 30},
      {.dtype = d, .name = "efficiency", .start = 0.85, .step = 0.05, .low = 0.05, .high = 1},
      {.dtype = d,
       .name = "memory_efficiency",
       .start = 0.85,
       .step = 0.05,
       .low = 0.05,
       .high = 1},
      {.dtype = d, .name = "k_overhead", .start = 130, .step = 40, .low = 0, .high = 3000},
      {.dtype = d, .name = "tail", .start = 0.1, .step = 0.2, .low = 0, .high = 1},
      {.dtype = d, .name = "overlap_loss", .start = 0.3, .step = 0.2, .low = 0, .high = 1},
      {.dtype = d, .name = "split_us", .start = 2.8, .step = 0.5, .low = 0, .high = 30},
      {.dtype = d, .name = "split_cost", .start = 1, .step = 1, .low = 0, .high = 10},
      {.dtype = d, .name = "latency_ns", .start = 0.2, .step = 0.3, .low = 0, .high = 5},
  };
}

std::vector<FitParameter> attention_parameters(AttentionKernel kernel) {
  constexpr std::array<const char*, kAttentionKernels> kNames = {"prefill", "backward", "decode",
                                                                 "latent"};
  const std::string k = std::string(kNames[static_cast<std::size_t>(kernel)]) + ".";
  return {
      {.dtype = "bf16", .name = k + "launch_us", .start = 12, .step = 3, .low = 1, .high = 200},
      {.dtype = "bf16",
       .name = k + "efficiency",
       .start = 0.7,
       .step = 0.1,
       .low = 0.05,
       .high = 1},
      {.dtype = "bf16", .name = k + "pair_flop", .start = 50, .step = 50, .low = 0, .high = 2000},
      {.dtype = "bf16",
       .name = k + "key_overhead",
       .start = 250,
       .step = 100,
       .low = 0,
       .high = 3000},
      {.dtype = "bf16", .name = k + "tail", .start = 0.2, .step = 0.2, .low = 0, .high = 1},
      {.dtype = "bf16", .name = k + "overlap_loss", .start = 0.4, .step = 0.3, .low = 0, .high = 1},
      {.dtype = "bf16",
       .name = k + "memory_efficiency",
       .start = 0.85,
       .step = 0.05,
       .low = 0.05,
       .high = 1},
  };
}

std::vector<FitParameter> pass_parameters() {
  return {
      {.dtype = "", .name = "pass_launch_us", .start = 2.5, .step = 1, .low = 0.3, .high = 50},
      {.dtype = "", .name = "pass_efficiency", .start = 0.85, .step = 0.05, .low = 0.05, .high = 1},
  };
}

}  // namespace orrery::compute
