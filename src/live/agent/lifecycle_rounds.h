// What a run of the lifecycle agent says between its looks, how long it waits, and when a run that
// is to end (--once, --dry-run) has nothing more to do.
//
// Two looks are the least: what a trainer writes counts as finished once nothing changed between
// two. A run that is to end waits for what comes by itself and soon: the quiet time, the pace of a
// place, a few retries, a removal whose time is over. It does not wait for the hours of a place or
// for the grace period.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/agent/lifecycle.h"

namespace orrery::agent {

struct RoundsOptions {
  bool ends = false;       // --once, --dry-run
  bool only_read = false;  // --dry-run
  Seconds quiet;
  Seconds interval;
};

struct RoundsEnd {
  std::vector<storage::LifecycleAction> alerts;  // that hold, and that this run has not shown yet
  std::string text;                              // lines for a person
  bool is_good = false;                          // nothing needs a person
};

class LifecycleRounds {
 public:
  explicit LifecycleRounds(RoundsOptions options) : o_(options) {}

  // Lines about this tick that differ from those about the one before: places that are away, and
  // what is waited for.
  std::string said_of(const LifecycleTick& tick);
  // Nothing while there is something to do or to wait for.
  std::optional<RoundsEnd> end_of(const LifecycleTick& tick);
  Seconds pause_after(const LifecycleTick& tick) const;

 private:
  bool is_waited_for(const storage::LifecycleWait& wait, Seconds now) const;

  RoundsOptions o_;
  std::string away_, quiet_;
  std::set<std::string> told_;
  Seconds first_look_;
  int looks_ = 0;
};

}  // namespace orrery::agent
