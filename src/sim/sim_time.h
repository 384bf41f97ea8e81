// Simulated time as an integer: picoseconds since the start of the simulation.
//
// Integer time makes "at the same instant" exact and the order of events independent of rounding.
// 2^63 ps are 106 days, the longest run; a later instant saturates to SimTime::never().
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "base/quantity.h"

namespace orrery {

class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime picoseconds(std::int64_t ps) { return SimTime(ps); }
  static constexpr SimTime never() { return SimTime(std::numeric_limits<std::int64_t>::max()); }
  // To the nearest picosecond; negative time is the start, time past the range is never().
  static SimTime from(Seconds s) {
    const double ps = s.base() * 1e12;
    if (!(ps > 0)) return SimTime(0);
    if (ps >= 9.2e18) return never();
    return SimTime(std::llround(ps));
  }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr Seconds seconds() const { return Seconds(static_cast<double>(ps_) * 1e-12); }
  constexpr bool is_never() const { return *this == never(); }

  // Time and a span, itself a SimTime from zero; never() absorbs.
  friend constexpr SimTime operator+(SimTime a, SimTime b) {
    return a.ps_ > never().ps_ - b.ps_ ? never() : SimTime(a.ps_ + b.ps_);
  }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return SimTime(a.ps_ - b.ps_); }
  friend constexpr auto operator<=>(SimTime, SimTime) = default;

 private:
  constexpr explicit SimTime(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

}  // namespace orrery
