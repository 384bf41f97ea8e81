// Where data lives and when it goes, as a pure policy: what is seen and remembered in, actions out.
//
// An item is what is kept or deleted as one: a checkpoint of a run, an object. A place is where
// copies of items can be: the folder that a trainer writes to, a file system, a bucket. Rules say
// which items each place should hold (lifecycle_wants.h); this header says how to get there without
// ever losing anything:
//   verify   a copy is read, and its digest remembered with its stamp (lifecycle_memory.h)
//   copy     from a good copy to a place that should hold the item; never over a good one, and
//            never to a place that others write to
//   remove   a copy from a place that should not hold it
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
//  6. An action that fails is asked for again, later and later, and delays no other.
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

// As one look found it. The copies of a place that is away are not listed.
struct LifecycleLook {
  Seconds now;
  std::vector<std::string> away;  // places that could not be seen
  std::vector<ItemView> items;    // sorted by id

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
};

enum class LifecycleActionKind { verify, copy, remove, alert };
inline constexpr Word<LifecycleActionKind> kLifecycleActionWords[] = {
    {LifecycleActionKind::verify, "verify"},
    {LifecycleActionKind::copy, "copy"},
    {LifecycleActionKind::remove, "remove"},
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

  bool operator==(const LifecycleAction&) const = default;
};

struct LifecycleDecision {
  std::vector<LifecycleEvent> events;    // to journal, then to apply to the memory
  std::vector<LifecycleAction> actions;  // to carry out in this order, after the events are safe

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
};
// The events that follow from it, to journal and apply.
std::vector<LifecycleEvent> learn(const LifecycleAction& action, const LifecycleOutcome& outcome,
                                  const LifecycleMemory& memory, const LifecyclePolicy& policy,
                                  Seconds now);

}  // namespace orrery::storage
