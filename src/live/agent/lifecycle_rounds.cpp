#include "live/agent/lifecycle_rounds.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/printable.h"
#include "core/base/units.h"

namespace orrery::agent {
namespace {

// After this many failures in a row an action is left to the next run.
constexpr int kOnceFailuresMax = 3;
constexpr Seconds kPauseMin = seconds(0.02);
constexpr Seconds kPauseAfterWork = seconds(0.2);

// Returns `text` if it differs from `before`.
std::string if_new(std::string& before, std::string text) {
  if (text == before) return {};
  before = std::move(text);
  return before;
}

}  // namespace

std::string LifecycleRounds::said_of(const LifecycleTick& tick) {
  if (++looks_ == 1) first_look_ = tick.at;
  for (const LifecycleDone& done : tick.done) {
    if (done.action.kind == storage::LifecycleActionKind::alert) told_.insert(done.action.key);
  }
  std::string away, quiet;
  for (std::size_t i = 0; i < tick.away.size(); ++i) {
    away += "away: " + tick.away[i];
    if (i < tick.away_why.size()) away += ": " + printable(tick.away_why[i]);
    away += '\n';
  }
  for (const storage::LifecycleWait& wait : tick.waits) {
    if (wait.kind == storage::WaitKind::quiet) quiet += ' ' + printable(wait.key);
  }
  if (!quiet.empty() && o_.quiet > Seconds()) {
    quiet = fmt::format("waiting until these have not changed for {} (--quiet):{}\n",
                        brief(o_.quiet), quiet);
  } else {
    quiet.clear();
  }
  return if_new(away_, std::move(away)) + if_new(quiet_, std::move(quiet));
}

bool LifecycleRounds::is_waited_for(const storage::LifecycleWait& wait, Seconds now) const {
  switch (wait.kind) {
    case storage::WaitKind::quiet:
      // A checkpoint that changes again and again must not delay the end for ever.
      return now - first_look_ < 2 * o_.quiet + 2 * o_.interval;
    case storage::WaitKind::pace:
      return !o_.only_read;
    case storage::WaitKind::retry:
      return !o_.only_read && wait.failures <= kOnceFailuresMax;
    case storage::WaitKind::grace:
      return !o_.only_read && wait.until <= now;
    case storage::WaitKind::hours:
      return false;
  }
  return false;
}

std::optional<RoundsEnd> LifecycleRounds::end_of(const LifecycleTick& tick) {
  if (!o_.ends || !tick.done.empty() || looks_ < 2) return std::nullopt;
  int failed = 0, late = 0;
  for (const storage::LifecycleWait& wait : tick.waits) {
    if (is_waited_for(wait, tick.at)) return std::nullopt;
    if (wait.kind == storage::WaitKind::retry && !o_.only_read) ++failed;
    if (wait.kind == storage::WaitKind::hours) ++late;
  }
  RoundsEnd end;
  for (const storage::LifecycleAction& alert : tick.standing) {
    if (told_.insert(alert.key).second) end.alerts.push_back(alert);
  }
  const auto add = [&end](std::size_t count, const char* what) {
    if (count > 0) end.text += fmt::format("{} {}\n", count, what);
  };
  add(static_cast<std::size_t>(late), "moves are waiting for the permitted hours of their places");
  add(static_cast<std::size_t>(failed), "actions failed; run the command again to retry them");
  add(tick.aside, "items are set aside until --grace has passed");
  add(tick.standing.size(), "alerts");
  end.text += fmt::format("{} items checked; nothing more to do now\n", tick.items);
  end.is_good = tick.away.empty() && tick.standing.empty() && failed == 0;
  return end;
}

Seconds LifecycleRounds::pause_after(const LifecycleTick& tick) const {
  Seconds pause = tick.done.empty() ? o_.interval : min(o_.interval, kPauseAfterWork);
  for (const storage::LifecycleWait& wait : tick.waits) {
    if (is_waited_for(wait, tick.at)) pause = min(pause, max(kPauseMin, wait.until - tick.at));
  }
  return pause;
}

}  // namespace orrery::agent
