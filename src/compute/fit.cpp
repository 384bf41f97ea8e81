#include "compute/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/math.h"
#include "base/random.h"
#include "base/statistics.h"

namespace orrery::compute {
namespace {

using Point = std::vector<double>;

constexpr int kSteps = 250;
constexpr int kRestarts = 3;
constexpr double kOutlier = 0.3;  // a log error beyond which the loss grows slower
constexpr double kOutlierSlope = 0.3;
constexpr double kOutsideBounds = 100;  // far above any mean log error
constexpr double kHeldOut = 1.0 / 3;

struct Simplex {
  std::vector<Point> points;
  std::vector<double> losses;

  void sort() {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return losses[a] < losses[b]; });
    Simplex sorted;
    for (const std::size_t i : order) {
      sorted.points.push_back(points[i]);
      sorted.losses.push_back(losses[i]);
    }
    *this = std::move(sorted);
  }
};

// The point at `reach` times the way from the centre of all but the worst to the worst.
Point towards_worst(const Simplex& s, double reach) {
  const std::size_t n = s.points.size() - 1;
  Point at(n);
  for (std::size_t j = 0; j < n; ++j) {
    double centre = 0;
    for (std::size_t i = 0; i < n; ++i) centre += s.points[i][j] / static_cast<double>(n);
    at[j] = centre + reach * (s.points[n][j] - centre);
  }
  return at;
}

template <class Loss>
void shrink(Simplex& s, const Loss& loss) {
  for (std::size_t i = 1; i < s.points.size(); ++i) {
    for (std::size_t j = 0; j < s.points[i].size(); ++j) {
      s.points[i][j] = (s.points[0][j] + s.points[i][j]) / 2;
    }
    s.losses[i] = loss(s.points[i]);
  }
}

template <class Loss>
void step(Simplex& s, const Loss& loss) {
  s.sort();
  const std::size_t worst = s.points.size() - 1;
  const auto take = [&](Point p, double l) {
    s.points[worst] = std::move(p);
    s.losses[worst] = l;
  };
  Point reflected = towards_worst(s, -1);
  const double l = loss(reflected);
  if (l < s.losses[0]) {
    Point expanded = towards_worst(s, -2);
    const double e = loss(expanded);
    return e < l ? take(std::move(expanded), e) : take(std::move(reflected), l);
  }
  if (l < s.losses[worst - 1]) return take(std::move(reflected), l);
  Point contracted = towards_worst(s, l < s.losses[worst] ? -0.5 : 0.5);
  const double c = loss(contracted);
  if (c < std::min(l, s.losses[worst])) return take(std::move(contracted), c);
  shrink(s, loss);
}

template <class Loss>
Point minimise(const Loss& loss, Point start, const Point& steps) {
  for (int restart = 0; restart < kRestarts; ++restart) {
    Simplex s{.points = {start}, .losses = {loss(start)}};
    for (std::size_t j = 0; j < start.size(); ++j) {
      Point p = start;
      p[j] += steps[j] / (1 << restart);
      s.losses.push_back(loss(p));
      s.points.push_back(std::move(p));
    }
    for (int i = 0; i < kSteps; ++i) step(s, loss);
    s.sort();
    start = s.points[0];
  }
  return start;
}

double predicted(const DeviceModel& device, const KernelSample& sample) {
  double seconds = 0;
  for (const workload::Operation& op : sample.kernels) seconds += kernel_time(device, op).base();
  return seconds;
}

double outlier_shy(double log_error) {
  const double e = std::abs(log_error);
  return e < kOutlier ? e : kOutlier + kOutlierSlope * (e - kOutlier);
}

// Drawn, not every third: measured rows come in cycles (three layouts of a product).
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
  constexpr std::array<const char*, kAttentionKernels> kNames = {"prefill", "backward", "decode"};
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
