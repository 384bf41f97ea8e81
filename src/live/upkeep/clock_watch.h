// Detects that the wall clock was set forward, so that lifecycle rules do not remove at once what
// should stay for months.
//
// The wall clock is compared with the steady clock, which cannot be set. If the wall clock gains an
// hour on it, or if a store starts a month or more after the last time that it recorded, the rules
// remove nothing for one of their days: time enough to see the warning and to correct the clock. A
// clock that is set back removes nothing early, so the rules continue at once.
//
// Limits: a machine that was asleep for an hour looks the same. A clock that was set forward by
// less than a month while the store did not run is not detected.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "live/rows/records.h"

namespace orrery::upkeep {

enum class ClockChange { set_forward, set_back };

class ClockWatch {
 public:
  // `day_ms` is the length of a day for the rules; tests shorten it.
  explicit ClockWatch(rows::TimeMs day_ms)
      : day_ms_(day_ms), jump_ms_(std::clamp(day_ms / 24, kMinuteMs, 60 * kMinuteMs)) {}

  // Called at the start. `noted_ms` is the last time that an earlier run recorded, or 0 if there is
  // none.
  std::optional<ClockChange> begin(rows::TimeMs wall_ms, rows::TimeMs steady_ms,
                                   rows::TimeMs noted_ms) {
    offset_ms_ = wall_ms - steady_ms;
    if (noted_ms == 0) return std::nullopt;
    if (wall_ms < noted_ms - jump_ms_) return ClockChange::set_back;
    if (wall_ms < noted_ms + kAwayMs) return std::nullopt;
    rest(steady_ms, noted_ms - steady_ms);
    return ClockChange::set_forward;
  }

  // Called a few times per second. Reports each change once.
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

  // Returns whether the rules remove nothing at this time.
  bool rests(rows::TimeMs steady_ms) const { return steady_ms < rests_until_ms_; }

 private:
  static constexpr rows::TimeMs kMinuteMs = 60'000;
  static constexpr rows::TimeMs kAwayMs = 30 * 24 * 60 * kMinuteMs;

  // If the clock changes several times, the offset before the first change is trusted.
  void rest(rows::TimeMs steady_ms, rows::TimeMs trusted_ms) {
    if (!rests(steady_ms)) trusted_ms_ = trusted_ms;
    rests_until_ms_ = steady_ms + day_ms_;
  }

  rows::TimeMs day_ms_;
  rows::TimeMs jump_ms_;
  rows::TimeMs offset_ms_ = 0;   // wall clock minus steady clock
  rows::TimeMs trusted_ms_ = 0;  // the offset before the clock was set forward
  rows::TimeMs rests_until_ms_ = 0;
};

}  // namespace orrery::upkeep
