#include "core/base/estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/math.h"

namespace orrery {
namespace {

Basis weaker(Basis a, Basis b) { return std::max({a, b, Basis::derived}); }

std::string joined(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  if (b.empty()) return a;
  return a + "; " + b;
}

double quadrature(double a, double b) { return std::sqrt(a * a + b * b); }

// Returns the Estimate of a sum; the half-widths are absolute.
Estimate sum(double value, double down_a, double up_a, double down_b, double up_b) {
  return {.value = value,
          .low = value - quadrature(down_a, down_b),
          .high = value + quadrature(up_a, up_b)};
}

struct LogWidths {
  double down = 0;
  double up = 0;
};

LogWidths log_widths(const Estimate& e) {
  const bool positive = e.value > 0 && e.low > 0;
  if (!positive) return {};
  return {math::log(e.value / e.low), math::log(e.high / e.value)};
}

Estimate product(double value, LogWidths a, LogWidths b) {
  return {.value = value,
          .low = value * math::exp(-quadrature(a.down, b.down)),
          .high = value * math::exp(quadrature(a.up, b.up))};
}

Estimate with_origin(Estimate e, const Estimate& a, const Estimate& b) {
  e.basis = weaker(a.basis, b.basis);
  e.reference = joined(a.reference, b.reference);
  return e;
}

}  // namespace

Estimate exact(double value, Basis basis, std::string reference) {
  return {value, value, value, basis, std::move(reference)};
}

Estimate within(double value, double below, double above, Basis basis, std::string reference) {
  return {value, value * (1 - below), value * (1 + above), basis, std::move(reference)};
}

Estimate operator+(const Estimate& a, const Estimate& b) {
  return with_origin(
      sum(a.value + b.value, a.value - a.low, a.high - a.value, b.value - b.low, b.high - b.value),
      a, b);
}

Estimate operator-(const Estimate& a, const Estimate& b) {
  return with_origin(
      sum(a.value - b.value, a.value - a.low, a.high - a.value, b.high - b.value, b.value - b.low),
      a, b);
}

Estimate operator*(const Estimate& a, const Estimate& b) {
  return with_origin(product(a.value * b.value, log_widths(a), log_widths(b)), a, b);
}

Estimate operator/(const Estimate& a, const Estimate& b) {
  const LogWidths w = log_widths(b);
  return with_origin(product(a.value / b.value, log_widths(a), {w.up, w.down}), a, b);
}

Estimate operator*(const Estimate& a, double factor) {
  Estimate e = a;
  e.value *= factor;
  e.low *= factor;
  e.high *= factor;
  if (factor < 0) std::swap(e.low, e.high);
  return e;
}

}  // namespace orrery
