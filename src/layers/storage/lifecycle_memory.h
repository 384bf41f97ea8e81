// What the lifecycle policy remembers: the fold of its events, so that a journal of events is
// enough to be again where one was.
//
// A look shows which copies there are; whether a copy is good only reading it can tell, and that is
// what is remembered: "this copy, with this stamp, was read and is good". The stamp is whatever
// changes when the bytes may have (size and times of a folder, the ETag of an object); a copy whose
// stamp is another one is a copy that nobody has read. apply() is the only thing that changes a
// memory, and it looks at no clock and no storage.
//
// What was set aside is remembered with the time that it has certainly lain there. That time is
// counted on a clock that nobody can set (LifecycleClock), so that a wall clock that jumps never
// shortens it: while one boot lasts, by the difference; over a reboot, by what was counted before
// it and what the new boot has seen itself. The time in between does not count.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace orrery::storage {

enum class LifecycleEventKind {
  verified,   // item, place, stamp, digest: read, and as it should be
  corrupt,    // item, place, stamp: read, and not as it should be
  conflict,   // item, place, stamp: good by itself, and other than the item was
  tried,      // key, good: the driver carried out an action; not good: why
  paced,      // place, until: its budget is used until then
  gone,       // item: it is nowhere to be seen
  back,       // item: it is seen again, as it was
  forgotten,  // item: it was gone for long, or its name was taken for another
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

// A clock that runs on whatever the wall clock is set to: time since the machine was started, and
// which start that was.
struct LifecycleClock {
  std::string boot;  // empty: there is no such clock, and nothing that was set aside ever goes
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
  Seconds made;  // aside: the item

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
  std::string digest;                      // of the first good copy that was read
  std::map<std::string, CopyFact> copies;  // by place
  std::optional<Seconds> gone;             // since when none of it was seen

  bool operator==(const ItemMemory&) const = default;
};

struct LifecycleAttempt {
  int count = 0;  // in a row without success
  Seconds last;
  bool good = false;
  std::string why;  // of the last one, if it failed

  bool operator==(const LifecycleAttempt&) const = default;
};

// A copy that this driver has set aside, or was about to.
struct AsideFact {
  std::string item;
  std::string place;
  std::string stamp;
  std::string digest;    // of the item at that time
  Seconds made;          // the item
  bool is_seen = false;  // it was seen there: time counts
  Seconds waited;        // in earlier boots
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
  std::map<std::string, LifecycleAttempt> attempts;  // by action key: "verb/place/item"
  std::map<std::string, Seconds> busy_until;         // by place
  std::map<std::string, Seconds> paced_at;           // by place: a clock set back ends the wait
  std::set<std::string> alerted;
  std::map<std::string, AsideFact> aside;  // by "place/name"
  LifecycleClock clock;                    // the last sign of life
  Seconds clock_at;                        // the wall clock at that sign; 0: not known
  ClockDoubt doubt;

  bool operator==(const LifecycleMemory&) const = default;
};

void apply(LifecycleMemory& memory, const LifecycleEvent& event);

}  // namespace orrery::storage
