// Whether the wall clock was set forward, so that lifecycle rules do not remove in an instant what
// should stay for months.
//
// The wall clock is held against a clock that nobody sets. If it gains an hour on it, or if a store
// begins a month or more after the last time that it noted, the rules remove nothing for a day of
// theirs: time enough to see the warning and to set the clock right. Set back, the clock removes
// nothing early, so the rules go on at once.
// Where it may mislead: a machine that was asleep for an hour looks the same, and a clock that was
// set forward by less than a month while the store did not run is not found out.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "live/rows/records.h"

namespace orrery::upkeep {

enum class ClockChange { set_forward, set_back };

class ClockWatch {
 public:
  // `day_ms` is a day of the rules: shorter in tests.
  explicit ClockWatch(rows::TimeMs day_ms)
      : day_ms_(day_ms), jump_ms_(std::clamp(day_ms / 24, kMinuteMs, 60 * kMinuteMs)) {}

  // At the start; `noted_ms` is the last time that an earlier run noted, 0 if there is none.
  std::optional<ClockChange> begin(rows::TimeMs wall_ms, rows::TimeMs steady_ms,
                                   rows::TimeMs noted_ms) {
    offset_ms_ = wall_ms - steady_ms;
    if (noted_ms == 0) return std::nullopt;
    if (wall_ms < noted_ms - jump_ms_) return ClockChange::set_back;
    if (wall_ms < noted_ms + kAwayMs) return std::nullopt;
    rest(steady_ms, noted_ms - steady_ms);
    return ClockChange::set_forward;
  }

  // A few times a second. Reports each change once.
  std::optional<ClockChange> look(rows::TimeMs wall_ms, rows::TimeMs steady_ms) {
    const rows::TimeMs before = offset_ms_;
    offset_ms_ = wall_ms - steady_ms;
    if (std::abs(offset_ms_ - before) < jump_ms_) return std::nullopt;
    if (offset_ms_ > before) {
      rest(steady_ms, before);
      return ClockChange::set_forward;
    }
    if (offset_ms_ - trusted_ms_ < jump_ms_) rests_until_ms_ = 0;
    return ClockChange::set_back;
  }

  // Whether the rules remove nothing now.
  bool rests(rows::TimeMs steady_ms) const { return steady_ms < rests_until_ms_; }

 private:
  static constexpr rows::TimeMs kMinuteMs = 60'000;
  static constexpr rows::TimeMs kAwayMs = 30 * 24 * 60 * kMinuteMs;

  // Of several changes the offset before the first is trusted.
  void rest(rows::TimeMs steady_ms, rows::TimeMs trusted_ms) {
    if (!rests(steady_ms)) trusted_ms_ = trusted_ms;
    rests_until_ms_ = steady_ms + day_ms_;
  }

  rows::TimeMs day_ms_;
  rows::TimeMs jump_ms_;
  rows::TimeMs offset_ms_ = 0;   // the wall clock less the steady one
  rows::TimeMs trusted_ms_ = 0;  // the same, before the clock was set forward
  rows::TimeMs rests_until_ms_ = 0;
};

}  // namespace orrery::upkeep
