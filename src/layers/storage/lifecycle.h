// Where data is kept and when it is removed, as a pure policy: observations and memory in, actions
// out.
//
// An item is what is kept or deleted as one unit: a checkpoint of a run, an object. A place is
// where copies of items can be: the folder that a trainer writes to, a file system, a bucket. Rules
// say which items each place should hold (lifecycle_wants.h); this header says how to get there
// without ever losing anything:
//   verify   read a copy, and remember its digest with its stamp (lifecycle_memory.h)
//   copy     from a good copy to a place that should hold the item; never over a good one, and
//            never to a place that others write to
//   remove   a copy from a place that should not hold it; with a `grace`, it is set aside first
//   purge    what was set aside, once the grace is over and the same rules would remove it again
// A driver (agent/ on real storage, store/ on its own tiers, the twin in simulated time) calls
// decide() repeatedly. The policy is not a script: each action follows from what is seen now and
// from the memory. A driver killed at any point resumes where it was.
//
// The following holds whatever fails and whatever is killed at any time, and is tested that way:
//  1. An item that is being written is never read, counted, copied or removed.
//  2. The newest item of a run with a good copy keeps all its good copies; so does the newest with
//     a good copy at a durable place.
//  3. No copy of an item that a durable place should hold is removed before `copies_min` good
//     copies of it are seen at such places.
//  4. An item that no place should hold is removed only if a newer one of its run is good at a
//     durable place; an item without a run is never removed.
//  5. A held item keeps `copies_min` good copies. A copy that was never read proves nothing.
//  6. A copy that fails a check is removed only if a good copy of the same item is seen elsewhere.
//  7. An item with an odd copy (a link, a special file, a path that leads outside) is left alone.
//  8. What was set aside is removed only if this driver's memory says that it put it there; the
//     grace is counted on a clock that cannot be set (lifecycle_memory.h).
//  9. Nothing is removed while the wall clock is in doubt (lifecycle_clock.h).
// 10. An action that fails is requested again at growing intervals, and delays no other.
// An action names the copies it relies on (`needs`), so that the port can check them again before
// it removes anything. Weaknesses: a copy that decays after it was read counts as good until it is
// read again (`reread`), and a copy that was rewritten in place under the same name is a conflict;
// all its copies are left alone until an operator decides.
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
  bool complete = false;  // its writer has finished it
  std::string stamp;      // differs if the bytes may differ
  Seconds written;        // time of the last write
  // Why it is left alone: the file, and what it is; empty: it is a normal copy.
  std::string odd;
  // Its writer seems to have finished: complete at this time if nothing changes; 0: no.
  Seconds quiet_at;

  bool operator==(const CopyView&) const = default;
};

struct ItemView {
  std::string id;
  // The run whose newest items are counted; empty: no run, and `wanted` decides alone.
  std::string run;
  std::int64_t step = 0;
  Seconds made;  // order within the run
  bool milestone = false;
  bool held = false;                // held by law or by an operator
  std::optional<Seconds> next_use;  // known from a seeded order of reads
  Seconds last_read;                // 0: never
  // By the owner's rules, which replace those of the places.
  std::optional<std::vector<std::string>> wanted;
  std::vector<CopyView> copies;  // at most one per place

  bool operator==(const ItemView&) const = default;
};

// A copy that was set aside. It is not counted as a copy.
struct AsideView {
  std::string place;
  std::string name;   // the place's name for it
  ItemView item;      // the item, without its copies
  std::string stamp;  // its stamp before it was set aside
  Bytes size;
  std::string odd;        // as CopyView::odd
  bool is_going = false;  // its removal has begun

  bool operator==(const AsideView&) const = default;
};

// The result of one look. Copies at a place that is away are not listed.
struct LifecycleLook {
  Seconds now;
  std::vector<std::string> away;  // places that could not be seen
  std::vector<ItemView> items;    // sorted by id
  std::vector<AsideView> aside;   // sorted by place and name
  LifecycleClock clock;
  std::vector<std::string> away_why;  // in the order of `away`; empty if a place gives no reason

  bool operator==(const LifecycleLook&) const = default;
};

// Selects the items that a place should hold: those that match any of these criteria.
struct KeepRule {
  bool everything = false;
  int newest = 0;                    // this many newest good items of a run
  Seconds window;                    // made less than this long ago,
  Seconds spacing;                   // one per this time; 0: all of them
  bool milestones = false;           // items marked as milestones,
  std::int64_t milestone_every = 0;  // and those whose step is a multiple of this
  Bytes cache;                       // filled by next use, then by last read; 0: no cache
};

struct KeepPlace {
  std::string name;
  bool durable = true;   // survives the loss of the nodes that write
  bool written = false;  // others write here; unfinished items belong to them
  KeepRule keep;
  BytesPerSecond pace;  // 0: no limit
  // Time of day in seconds (UTC) between which data moves; equal values: always.
  Seconds opens;
  Seconds closes;
};

struct LifecyclePolicy {
  std::vector<KeepPlace> places;  // fastest first
  int copies_min = 1;             // at most the number of durable places that should hold the item
  int moves_max = 4;              // copies and reads requested at once
  // Wait before a failed action is requested again; doubles each time.
  Seconds settle = seconds(5);
  Seconds settle_max = minutes(30);  // up to this
  Seconds stale = hours(6);          // an item that is written to for longer raises an alert
  Seconds reread;                    // good copies are read again after this time; 0: never
  Seconds forget = days(30);         // what is gone is remembered this long
  // How long a copy stays set aside before it is removed for good. Nullopt: the places cannot set
  // copies aside, and a removal is final.
  std::optional<Seconds> grace;
  Seconds clock_rest = days(1);  // after the wall clock was set, nothing is removed for this time
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

// A copy that must still be there unchanged.
struct CopyNeed {
  std::string item;
  std::string place;
  std::string stamp;

  bool operator==(const CopyNeed&) const = default;
};

struct LifecycleAction {
  LifecycleActionKind kind = LifecycleActionKind::alert;
  std::string item;
  std::string place;  // place of the copy to read, make or remove
  std::string from;   // copy: the source place
  std::string stamp;  // verify, remove: stamp of the copy meant
  Bytes size;
  std::vector<CopyNeed> needs;
  std::string why;  // one line, for display
  std::string key;  // "verb/place/item"
  // The name under which a copy is set aside (remove, and copy over a bad copy) or was set aside
  // (purge). Empty: removed for good.
  std::string aside;
  std::string replaces;  // copy: stamp of the bad copy that is replaced

  bool operator==(const LifecycleAction&) const = default;
};

// Something left to do that may not be done yet.
enum class WaitKind { pace, hours, retry, quiet, grace };
struct LifecycleWait {
  WaitKind kind = WaitKind::retry;
  std::string key;  // key of the action, or "quiet/place/item"
  Seconds until;
  int failures = 0;  // retry: consecutive failures

  bool operator==(const LifecycleWait&) const = default;
};

struct LifecycleDecision {
  std::vector<LifecycleEvent> events;  // to journal, then to apply to the memory
  // To carry out in this order, once the events are journalled.
  std::vector<LifecycleAction> actions;
  std::vector<LifecycleWait> waits;
  std::vector<LifecycleAction> standing;  // every alert that holds now, reported before or not

  bool operator==(const LifecycleDecision&) const = default;
};

LifecycleDecision decide(const LifecycleLook& look, const LifecycleMemory& memory,
                         const LifecyclePolicy& policy);

// The result of an action: the stamp of the copy that was read and the digest of its bytes.
struct LifecycleOutcome {
  bool good = false;          // the action was carried out
  std::optional<bool> sound;  // verify: the copy agrees with its own manifest
  std::string stamp;
  std::string digest;
  std::string why;  // if not sound: the file, and the check that it failed
};
// Returns the events that follow from the outcome, to journal and apply.
std::vector<LifecycleEvent> learn(const LifecycleAction& action, const LifecycleOutcome& outcome,
                                  const LifecycleMemory& memory, const LifecyclePolicy& policy,
                                  Seconds now);

}  // namespace orrery::storage
