// Quantile, median and mean of a sample: one definition for every room.
//
// The quantile of share q among n sorted values is at position p = q (n - 1), counted from 0, so q
// = 0 is the smallest value and q = 1 the largest (Hyndman and Fan's type 7, numpy's default).
// Between the neighbours of p, with f = p - floor p:
//   linear   below + f (above - below)
//   mixed    (1 - f) below + f above: differs from linear in the last digit only; scores print it
//   lower    the neighbour below, which is a value of the sample
//   higher   the neighbour above
// The median is the middle value, or half the sum of the two middle ones. An empty sample gives
// T{}; a caller that needs a real value checks first. Values must be ordered: no NaN.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace orrery {

enum class Between { linear, mixed, lower, higher };

// The values may be in any order. They are passed by value because selecting rearranges them.
template <class T>
T quantile(std::vector<T> values, double share, Between between = Between::linear) {
  if (values.empty()) return T{};
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(below);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, at);
  if (part == 0 || between == Between::lower) return *at;
  const T above = *std::min_element(at + 1, values.end());
  if (between == Between::higher) return above;
  if (between == Between::mixed) return static_cast<T>(*at * (1 - part) + above * part);
  return static_cast<T>(*at + part * (above - *at));
}

template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

inline double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The weighted mean of values that arrive one by one.
template <class T>
class WeightedMean {
 public:
  void add(const T& value, double weight) {
    sum_ += value * weight;
    weight_ += weight;
  }
  // Returns `otherwise` if no value with a weight above 0 was added.
  T value_or(const T& otherwise) const { return weight_ > 0 ? sum_ / weight_ : otherwise; }

 private:
  T sum_{};
  double weight_ = 0;
};

}  // namespace orrery
