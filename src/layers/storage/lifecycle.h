// Where data lives and when it goes, as a pure policy: what is seen and remembered in, actions out.
//
// An item is what is kept or deleted as one: a checkpoint of a run, an object. A place is where
// copies of items can be: the folder that a trainer writes to, a file system, a bucket. Rules say
// which items each place should hold (lifecycle_wants.h); this header says how to get there without
// ever losing anything:
//   verify   a copy is read, and its digest remembered with its stamp (lifecycle_memory.h)
//   copy     from a good copy to a place that should hold the item; never over a good one, and
//            never to a place that others write to
//   remove   a copy from a place that should not hold it; with a `grace`, it is set aside first
//   purge    what was set aside, once the grace is over and the same rules would remove it again
// A driver (agent/ on real storage, store/ on its own tiers, the twin in simulated time) calls
// decide() again and again. Nothing is a step of a script: each action follows from what is seen
// now and from the memory. A driver killed at any point goes on where it was.
//
// What holds whatever fails and whatever is killed when, and is tested so:
//  1. An item that is being written is never read, counted, copied or removed.
//  2. The newest item of a run with a good copy keeps all its good copies; so does the newest with
//     a good copy at a durable place.
//  3. No copy of an item that a durable place should hold is removed before `copies_min` good
//     copies of it are seen at such places.
//  4. An item that none should hold goes only where a newer one of its run is good at a durable
//     place; one of no run never goes.
//  5. A held item keeps `copies_min` good copies. A copy nobody has read proves nothing.
//  6. A copy that fails a check is removed only if a good copy of the same item is seen elsewhere.
//  7. An item with a copy that is odd (a link, a special file, a path that leads out) is left
//  alone.
//  8. What was set aside goes only if this driver's memory says that it put it there, and the grace
//     is counted on a clock that nobody can set (lifecycle_memory.h).
//  9. Nothing is removed while the wall clock is in doubt (lifecycle_clock.h).
// 10. An action that fails is asked for again, later and later, and delays no other.
// An action names the copies it relies on (`needs`), so that the port can look once more before it
// removes anything. Where it is wrong: a copy that rots after it was read counts as good until it
// is read again (`reread`), and a copy that was rewritten in place under the same name is a
// conflict, of which all copies are left alone until a person decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/storage/lifecycle_memory.h"

namespace orrery::storage {

struct CopyView {
  std::string place;
  Bytes size;
  bool complete = false;  // its writer is done with it
  std::string stamp;      // another one where the bytes may be others
  Seconds written;        // the last write
  std::string odd;        // why it is left alone: the file, and what it is; empty: it is not
  Seconds quiet_at;       // its writer seems done: it is complete then, if nothing changes; 0: no

  bool operator==(const CopyView&) const = default;
};

struct ItemView {
  std::string id;
  std::string run;  // whose newest are counted; empty: it stands for itself, and `wanted` says all
  std::int64_t step = 0;
  Seconds made;  // order within the run
  bool milestone = false;
  bool held = false;                               // by law or by a person
  std::optional<Seconds> next_use;                 // known from a seeded order
  Seconds last_read;                               // 0: never
  std::optional<std::vector<std::string>> wanted;  // by rules of its owner, instead of the places'
  std::vector<CopyView> copies;                    // at most one a place

  bool operator==(const ItemView&) const = default;
};

// A copy that was set aside. Nothing counts it.
struct AsideView {
  std::string place;
  std::string name;   // the place's name for it
  ItemView item;      // without copies
  std::string stamp;  // as it was before
  Bytes size;
  std::string odd;        // as of a copy
  bool is_going = false;  // its removal has begun

  bool operator==(const AsideView&) const = default;
};

// As one look found it. The copies of a place that is away are not listed.
struct LifecycleLook {
  Seconds now;
  std::vector<std::string> away;  // places that could not be seen
  std::vector<ItemView> items;    // sorted by id
  std::vector<AsideView> aside;   // sorted by place and name
  LifecycleClock clock;
  std::vector<std::string> away_why;  // in the order of `away`, where a place knows

  bool operator==(const LifecycleLook&) const = default;
};

// Which items a place should hold: those that any of these names.
struct KeepRule {
  bool everything = false;
  int newest = 0;                    // good ones of a run
  Seconds window;                    // made less than so long ago,
  Seconds spacing;                   // one in so long; 0: all of them
  bool milestones = false;           // those marked,
  std::int64_t milestone_every = 0;  // and those whose step is a multiple
  Bytes cache;                       // filled by next use, then by last read; 0: no cache
};

struct KeepPlace {
  std::string name;
  bool durable = true;   // outlives the nodes that write
  bool written = false;  // by others: what is unfinished there is theirs
  KeepRule keep;
  BytesPerSecond pace;  // 0: as fast as it goes
  // Seconds of the day (UTC) between which data moves; equal: always.
  Seconds opens;
  Seconds closes;
};

struct LifecyclePolicy {
  std::vector<KeepPlace> places;  // the fastest first
  int copies_min = 1;  // at most as many as there are durable places that should hold the item
  int moves_max = 4;   // copies and reads asked for at once
  Seconds settle = seconds(5);       // before a failed action is asked for again; doubles
  Seconds settle_max = minutes(30);  // to this at most
  Seconds stale = hours(6);          // an item is written to for longer: somebody should know
  Seconds reread;                    // good copies are read again after so long; 0: never
  Seconds forget = days(30);         // what is gone is remembered for so long
  // How long a copy stays set aside before it goes for good. None: the places cannot set aside, and
  // a removal is final.
  std::optional<Seconds> grace;
  Seconds clock_rest = days(1);  // nothing is removed for so long after the wall clock was set
};

enum class LifecycleActionKind { verify, copy, remove, purge, alert };
inline constexpr Word<LifecycleActionKind> kLifecycleActionWords[] = {
    {LifecycleActionKind::verify, "verify"},
    {LifecycleActionKind::copy, "copy"},
    {LifecycleActionKind::remove, "remove"},
    {LifecycleActionKind::purge, "purge"},
    {LifecycleActionKind::alert, "alert"}};
constexpr WordTable<LifecycleActionKind> words_of(LifecycleActionKind) {
  return kLifecycleActionWords;
}

// A copy that must still be there, unchanged.
struct CopyNeed {
  std::string item;
  std::string place;
  std::string stamp;

  bool operator==(const CopyNeed&) const = default;
};

struct LifecycleAction {
  LifecycleActionKind kind = LifecycleActionKind::alert;
  std::string item;
  std::string place;  // of the copy that is read, made or removed
  std::string from;   // copy: whence
  std::string stamp;  // verify, remove: of the copy that is meant
  Bytes size;
  std::vector<CopyNeed> needs;
  std::string why;  // one line, shown
  std::string key;  // "verb/place/item"
  // The name under which a copy is set aside (remove, and copy over one that is bad) or lies there
  // (purge). Empty: removed for good.
  std::string aside;
  std::string replaces;  // copy: stamp of the bad copy that makes room

  bool operator==(const LifecycleAction&) const = default;
};

// What is left to do and not to be done yet.
enum class WaitKind { pace, hours, retry, quiet, grace };
struct LifecycleWait {
  WaitKind kind = WaitKind::retry;
  std::string key;  // of the action, or "quiet/place/item"
  Seconds until;
  int failures = 0;  // retry: in a row

  bool operator==(const LifecycleWait&) const = default;
};

struct LifecycleDecision {
  std::vector<LifecycleEvent> events;    // to journal, then to apply to the memory
  std::vector<LifecycleAction> actions;  // to carry out in this order, after the events are safe
  std::vector<LifecycleWait> waits;
  std::vector<LifecycleAction> standing;  // every alert that holds now, told before or not

  bool operator==(const LifecycleDecision&) const = default;
};

LifecycleDecision decide(const LifecycleLook& look, const LifecycleMemory& memory,
                         const LifecyclePolicy& policy);

// What an action brought: the stamp of the copy that was read and what its bytes came to.
struct LifecycleOutcome {
  bool good = false;          // the action was carried out
  std::optional<bool> sound;  // verify: the copy agrees with its own manifest
  std::string stamp;
  std::string digest;
  std::string why;  // not sound: the file, and the check that it failed
};
// The events that follow from it, to journal and apply.
std::vector<LifecycleEvent> learn(const LifecycleAction& action, const LifecycleOutcome& outcome,
                                  const LifecycleMemory& memory, const LifecyclePolicy& policy,
                                  Seconds now);

}  // namespace orrery::storage
