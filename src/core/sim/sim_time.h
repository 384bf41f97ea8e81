// Simulated time as an integer: nanoseconds since the start of the simulation.
//
// Integer time makes "at the same instant" exact and the order of events independent of rounding.
// 2^63 ns are 292 years. Any later time is never(), an instant that the clock does not reach: a
// timer set for it stays pending and does not fire (kernel.h), so a run that would exceed the range
// ends with timers left instead of a wrong date. Only from() and after(), which round a computed
// time, and never() itself can return it. A sum that exceeds the range, or a negative span, is a
// programming error and asserts.
#pragma once

#include <cassert>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "core/base/quantity.h"

namespace orrery::sim {

class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime nanoseconds(std::int64_t ns) { return SimTime(ns); }
  static constexpr SimTime never() { return SimTime(std::numeric_limits<std::int64_t>::max()); }
  // Rounds to the nearest nanosecond. Negative times become zero, times past the range never(). A
  // double that holds a year in seconds is itself accurate to 4 ns only, so in long runs add a span
  // to an instant.
  static SimTime from(Seconds s) {
    const double ns = s.base() * 1e9;
    if (!(ns > 0)) return SimTime(0);
    if (ns >= 9.2e18) return never();
    return SimTime(std::llround(ns));
  }

  // Returns the instant that is `span` later; never() if that is past the range.
  SimTime after(Seconds span) const {
    const SimTime s = from(span);
    return s.ns_ > never().ns_ - ns_ ? never() : SimTime(ns_ + s.ns_);
  }

  constexpr std::int64_t ns() const { return ns_; }
  constexpr Seconds seconds() const { return Seconds(static_cast<double>(ns_) / 1e9); }
  constexpr bool is_never() const { return *this == never(); }

  // Adds a span, written as a SimTime from zero, to an instant. If either is never(), so is the
  // sum.
  friend constexpr SimTime operator+(SimTime a, SimTime b) {
    if (a.is_never() || b.is_never()) return never();
    assert(a.ns_ <= never().ns_ - b.ns_);
    return SimTime(a.ns_ + b.ns_);
  }
  // Returns the span from instant b to the later instant a.
  friend constexpr SimTime operator-(SimTime a, SimTime b) {
    assert(b <= a && !b.is_never());
    return a.is_never() ? never() : SimTime(a.ns_ - b.ns_);
  }
  friend constexpr auto operator<=>(SimTime, SimTime) = default;

 private:
  constexpr explicit SimTime(std::int64_t ns) : ns_(ns) {}
  std::int64_t ns_ = 0;
};

}  // namespace orrery::sim
