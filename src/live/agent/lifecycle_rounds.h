// What the lifecycle agent prints between its looks, how long it waits, and when a run with --once
// or --dry-run has nothing more to do.
//
// Such a run looks at least twice, because an item is finished once nothing changed between two
// looks. It waits for everything that will soon happen without a person: the quiet time, the pace
// of a place, a few retries, a removal that is due. It does not wait for the permitted hours of a
// place or for the grace period.
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
  std::vector<storage::LifecycleAction> alerts;  // active alerts that this run has not shown yet
  std::string text;                              // lines for people
  bool is_good = false;                          // nothing needs a person
};

class LifecycleRounds {
 public:
  explicit LifecycleRounds(RoundsOptions options) : o_(options) {}

  // Returns the lines that changed since the last tick: places that are away, and what the agent
  // waits for.
  std::string said_of(const LifecycleTick& tick);
  // Returns nullopt while there is something to do or to wait for.
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
