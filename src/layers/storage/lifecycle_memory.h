// What the lifecycle policy remembers, computed only from its events, so a journal of events is
// enough to restore it.
//
// A look shows which copies exist. Only reading a copy can tell whether it is good, and that is
// what is remembered: "this copy, with this stamp, was read and is good". The stamp is anything
// that changes if the bytes may have changed (size and times of a folder, the ETag of an object); a
// copy with a different stamp counts as never read. apply() is the only function that changes a
// memory, and it uses no clock and no storage.
//
// For a copy that was set aside, the memory holds how long it has certainly been there. That time
// is counted on a clock that cannot be set (LifecycleClock), so a jump of the wall clock never
// shortens it: within one boot, by the difference; over a reboot, by what was counted before it
// plus what the new boot has seen. The time in between does not count.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace orrery::storage {

enum class LifecycleEventKind {
  verified,   // item, place, stamp, digest: read, and correct
  corrupt,    // item, place, stamp: read, and not correct
  conflict,   // item, place, stamp: correct by itself, but different from what the item was
  tried,      // key, good: the driver carried out an action; if not good: why
  paced,      // place, until: its budget is used up until then
  gone,       // item: no longer seen anywhere
  back,       // item: seen again, unchanged
  forgotten,  // item: gone for long, or its name now belongs to another
  alerted,    // key
  aside,      // key (place/name), item, place, stamp, digest: about to be set aside; with `good`,
              // seen there: from `clock` on, after `waited`
  purged,     // key: what was set aside is no longer there
  ticked,     // clock: a sign of life, by which a later boot knows how long this one lasted
  jumped      // clock: the wall clock is in doubt since then; none: no longer; until: its offset to
              // the machine's clock before
};
inline constexpr Word<LifecycleEventKind> kLifecycleEventWords[] = {
    {LifecycleEventKind::verified, "verified"}, {LifecycleEventKind::corrupt, "corrupt"},
    {LifecycleEventKind::conflict, "conflict"}, {LifecycleEventKind::tried, "tried"},
    {LifecycleEventKind::paced, "paced"},       {LifecycleEventKind::gone, "gone"},
    {LifecycleEventKind::back, "back"},         {LifecycleEventKind::forgotten, "forgotten"},
    {LifecycleEventKind::alerted, "alerted"},   {LifecycleEventKind::aside, "aside"},
    {LifecycleEventKind::purged, "purged"},     {LifecycleEventKind::ticked, "ticked"},
    {LifecycleEventKind::jumped, "jumped"}};
constexpr WordTable<LifecycleEventKind> words_of(LifecycleEventKind) {
  return kLifecycleEventWords;
}

// A clock that continues whatever the wall clock is set to: time since the machine started, and
// which start that was.
struct LifecycleClock {
  std::string boot;  // empty: there is no such clock, and nothing set aside is ever removed
  Seconds up;

  bool operator==(const LifecycleClock&) const = default;
};

struct LifecycleEvent {
  LifecycleEventKind kind = LifecycleEventKind::alerted;
  Seconds at;
  std::string item;
  std::string place;
  std::string stamp;
  std::string digest;
  std::string key;
  Seconds until;
  bool good = false;
  std::string why;  // corrupt: the file and the check that it failed; tried: what went wrong
  LifecycleClock clock;
  Seconds waited;
  Seconds made;  // aside: when the item was made

  bool operator==(const LifecycleEvent&) const = default;
};

enum class CopyFinding { good, corrupt, conflict };

struct CopyFact {
  std::string stamp;
  CopyFinding finding = CopyFinding::good;
  std::string why;  // corrupt: the file and the check that it failed

  bool operator==(const CopyFact&) const = default;
};

struct ItemMemory {
  std::string digest;                      // digest of the first good copy that was read
  std::map<std::string, CopyFact> copies;  // keyed by place
  std::optional<Seconds> gone;             // time since which no copy was seen

  bool operator==(const ItemMemory&) const = default;
};

struct LifecycleAttempt {
  int count = 0;  // consecutive attempts without success
  Seconds last;
  bool good = false;
  std::string why;  // why the last one failed

  bool operator==(const LifecycleAttempt&) const = default;
};

// A copy that this driver has set aside, or was about to set aside.
struct AsideFact {
  std::string item;
  std::string place;
  std::string stamp;
  std::string digest;    // digest of the item when it was set aside
  Seconds made;          // when the item was made
  bool is_seen = false;  // it was seen set aside, so its time counts
  Seconds waited;        // time counted in earlier boots
  LifecycleClock since;

  bool operator==(const AsideFact&) const = default;
};

// The wall clock was set (lifecycle_clock.h).
struct ClockDoubt {
  LifecycleClock since;  // no boot: the wall clock is believed
  Seconds offset;        // of the wall clock to the machine's, before it was set

  bool operator==(const ClockDoubt&) const = default;
};

struct LifecycleMemory {
  std::map<std::string, ItemMemory> items;
  std::map<std::string, LifecycleAttempt> attempts;  // keyed by action: "verb/place/item"
  std::map<std::string, Seconds> busy_until;         // keyed by place
  // By place; shows a clock set back, which ends the wait.
  std::map<std::string, Seconds> paced_at;
  std::set<std::string> alerted;
  std::map<std::string, AsideFact> aside;  // by "place/name"
  LifecycleClock clock;                    // the last sign of life
  Seconds clock_at;                        // the wall clock at that sign; 0: not known
  ClockDoubt doubt;

  bool operator==(const LifecycleMemory&) const = default;
};

void apply(LifecycleMemory& memory, const LifecycleEvent& event);

}  // namespace orrery::storage
