#include "layers/storage/lifecycle_clock.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/units.h"

namespace orrery::storage {
namespace {

// How often a sign of life is noted: the most that a reboot can hide.
constexpr Seconds kLifeSign = minutes(10);
// Less is the work of a time service, or of a file server with a clock of its own.
constexpr Seconds kJump = hours(1);
// An agent that was off for longer looks like a clock that was set forward.
constexpr Seconds kOffMost = days(30);

bool is_jump(Seconds span) { return std::abs(span.base()) >= kJump.base(); }

// How far the wall clock was set forward (or back: negative) since it was noted last.
Seconds gained_since(const LifecycleMemory& memory, const LifecycleLook& look) {
  if (memory.clock.boot.empty() || memory.clock_at == Seconds()) return {};
  const Seconds passed = look.now - memory.clock_at;
  if (memory.clock.boot == look.clock.boot) return passed - (look.clock.up - memory.clock.up);
  return passed < Seconds() || passed > kOffMost ? passed : Seconds();
}

}  // namespace

ClockView view_clock(const LifecycleLook& look, const LifecycleMemory& memory,
                     const LifecyclePolicy& policy) {
  ClockView view;
  const LifecycleClock& up = look.clock;
  if (up.boot.empty()) return view;
  const auto note = [&](LifecycleEventKind kind, const LifecycleClock& clock, Seconds offset) {
    view.events.push_back({.kind = kind, .at = look.now, .until = offset, .clock = clock});
  };
  const Seconds offset = look.now - up.up;
  const Seconds gained = gained_since(memory, look);
  const ClockDoubt& before = memory.doubt;
  const bool is_same_boot = before.since.boot == up.boot;
  LifecycleClock since = before.since;
  if (is_jump(gained)) {
    const bool is_right_again = is_same_boot && !is_jump(offset - before.offset);
    since = is_right_again ? LifecycleClock{} : up;
    const Seconds offset_before = is_same_boot ? before.offset : offset - gained;
    note(LifecycleEventKind::jumped, since, is_right_again ? Seconds() : offset_before);
  } else if (!since.boot.empty() && !is_same_boot) {
    since = up;  // the rest begins again: what the machine was off for does not count
    note(LifecycleEventKind::jumped, since, offset);
  } else if (!since.boot.empty() && up.up - since.up >= policy.clock_rest) {
    since = {};
    note(LifecycleEventKind::jumped, since, {});
  }
  const bool lives_on = memory.clock.boot == up.boot && memory.clock_at != Seconds() &&
                        up.up - memory.clock.up < kLifeSign && !is_jump(gained);
  if (!lives_on) note(LifecycleEventKind::ticked, up, {});
  if (since.boot.empty()) return view;
  view.key = fmt::format("clock/{}/{:.0f}", since.boot, since.up.base());
  view.doubt = fmt::format(
      "the clock of this machine was set{}, or no agent looked for a month: nothing is removed for "
      "{}; set the clock right if it is wrong",
      is_jump(gained) ? fmt::format(" {} by {}", gained > Seconds() ? "forward" : "back",
                                    brief(Seconds(std::abs(gained.base()))))
                      : "",
      brief(policy.clock_rest));
  return view;
}

std::map<std::string_view, const ItemView*> runs_ahead(const std::vector<ItemState>& items,
                                                       Seconds now) {
  std::map<std::string_view, const ItemView*> ahead;
  for (const ItemState& item : items) {
    const bool counts = !item.view->run.empty() && item.is_complete_anywhere();
    if (counts && item.view->made >= now + kJump) ahead.emplace(item.view->run, item.view);
  }
  return ahead;
}

}  // namespace orrery::storage
