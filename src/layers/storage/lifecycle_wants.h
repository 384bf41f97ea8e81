// Which places should hold which items, by the places' rules.
//
// "The newest N" counts good items. A complete item that was never read is wanted in addition,
// because it may turn out to be bad; an item that is being written is not counted at all. A window
// counts from when an item was made; of the items in it, the first of every `spacing` is wanted. A
// cache holds what is used next, as far as that is known, then what was read last. It is filled in
// that order, so nothing in it is evicted for an item that is used later.
#pragma once

#include <vector>

#include "layers/storage/lifecycle.h"

namespace orrery::storage {

enum class CopyState { absent, unfinished, unread, good, corrupt, conflict, odd };

// An item with what is known of its copies, in the policy's order of places.
struct ItemState {
  const ItemView* view = nullptr;
  std::vector<const CopyView*> copies;  // null: no copy at that place
  std::vector<CopyState> states;
  std::vector<bool> wanted;

  bool is_good_at(std::size_t place) const { return states[place] == CopyState::good; }
  bool is_good_anywhere() const;
  bool is_complete_anywhere() const;  // complete, and not known to be bad
  bool is_wanted() const;
  bool has(CopyState state) const;
};

// Returns the items in the order of the look, with `wanted` filled in.
std::vector<ItemState> states_of(const LifecycleLook& look, const LifecycleMemory& memory,
                                 const LifecyclePolicy& policy);

// Orders items of one run from old to new by when they were made, because a run that was rolled
// back repeats its step numbers.
bool is_older(const ItemView& a, const ItemView& b);

}  // namespace orrery::storage
