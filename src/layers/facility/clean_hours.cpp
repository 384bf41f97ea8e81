#include "layers/facility/clean_hours.h"

#include <algorithm>
#include <cmath>

namespace orrery::facility {
namespace {

constexpr double kHour = 3600;
// Means of equal hours may differ from the bound by rounding.
constexpr double kHourRounding = 1e-9;
// Number of arrival times that are averaged: a prime, so that they cover all hours of the day.
constexpr double kMostComings = 1009;

}  // namespace

HourCurve::HourCurve(std::span<const GramsPerJoule> by_hour) : sums_{0} {
  for (const GramsPerJoule value : by_hour) sums_.push_back(sums_.back() + value.base());
}

Seconds HourCurve::period() const { return hours(static_cast<double>(sums_.size() - 1)); }

GramsPerJoule HourCurve::mean() const {
  return GramsPerJoule(sums_.back() / static_cast<double>(sums_.size() - 1));
}

double HourCurve::until(double at) const {
  const auto all = static_cast<double>(sums_.size() - 1);
  const double periods = std::floor(at / all);
  const double within = std::clamp(at - periods * all, 0.0, all);
  const auto hour = std::min(static_cast<std::size_t>(within), sums_.size() - 2);
  const double part = within - static_cast<double>(hour);
  return periods * sums_.back() + sums_[hour] + part * (sums_[hour + 1] - sums_[hour]);
}

GramsPerJoule HourCurve::mean(Seconds from, Seconds span) const {
  const double begin = from.base() / kHour;
  const double length = std::max(span.base(), 1.0) / kHour;
  return GramsPerJoule((until(begin + length) - until(begin)) / length);
}

Seconds clean_start(const HourCurve& grid, const CleanRule& rule, Seconds now, Seconds takes) {
  if (grid.is_empty()) return now;
  const GramsPerJoule below = rule.below.value_or(grid.mean()) * (1 + kHourRounding);
  // After one full period of the hours nothing new appears.
  const Seconds latest = now + min(rule.wait, grid.period());
  Seconds start = now;
  while (start <= latest) {
    if (grid.mean(start, takes) <= below) return start;
    start = hours(std::floor(start.base() / kHour) + 1);
  }
  return now;
}

CleanEffect effect_of(const HourCurve& grid, const CleanRule& rule, Seconds every,
                      const CleanTimes& work) {
  if (grid.is_empty()) return {};
  const Seconds step = max(every, grid.period() / kMostComings);
  const double comings =
      every > Seconds(0) ? std::max(1.0, std::ceil(grid.period() / step * (1 - kHourRounding))) : 1;
  CleanEffect sum;
  for (double i = 0; i < comings; ++i) {
    const Seconds now = step * i;
    const Seconds start = clean_start(grid, rule, now, work.said);
    sum.held += start - now;
    sum.with += grid.mean(start, work.takes);
    sum.without += grid.mean(now, work.takes);
  }
  return {.held = sum.held / comings, .with = sum.with / comings, .without = sum.without / comings};
}

}  // namespace orrery::facility
