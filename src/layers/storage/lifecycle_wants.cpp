#include "layers/storage/lifecycle_wants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace orrery::storage {
namespace {

using Run = std::vector<ItemState*>;  // oldest first

CopyState state_of(const CopyView& copy, const ItemMemory* memory) {
  if (!copy.odd.empty()) return CopyState::odd;
  if (!copy.complete) return CopyState::unfinished;
  if (!memory) return CopyState::unread;
  const auto fact = memory->copies.find(copy.place);
  if (fact == memory->copies.end()) return CopyState::unread;
  // A good copy whose bytes have changed becomes a conflict only once it was read again.
  if (fact->second.stamp != copy.stamp) return CopyState::unread;
  switch (fact->second.finding) {
    case CopyFinding::good:
      return CopyState::good;
    case CopyFinding::corrupt:
      return CopyState::corrupt;
    case CopyFinding::conflict:
      return CopyState::conflict;
  }
  return CopyState::unread;
}

ItemState state_of(const ItemView& item, const LifecycleMemory& memory,
                   const LifecyclePolicy& policy) {
  const auto known = memory.items.find(item.id);
  const ItemMemory* remembered = known == memory.items.end() ? nullptr : &known->second;
  const std::size_t places = policy.places.size();
  ItemState state{.view = &item,
                  .copies = std::vector<const CopyView*>(places, nullptr),
                  .states = std::vector<CopyState>(places, CopyState::absent),
                  .wanted = std::vector<bool>(places, false)};
  for (const CopyView& copy : item.copies) {
    const auto at = std::ranges::find(policy.places, copy.place, &KeepPlace::name);
    if (at == policy.places.end()) continue;
    const auto place = static_cast<std::size_t>(at - policy.places.begin());
    state.copies[place] = &copy;
    state.states[place] = state_of(copy, remembered);
  }
  return state;
}

void want_newest(Run& run, std::size_t place, int count) {
  int good = 0;
  for (auto item = run.rbegin(); item != run.rend() && good < count; ++item) {
    if (!(*item)->is_complete_anywhere()) continue;
    (*item)->wanted[place] = true;
    if ((*item)->is_good_anywhere()) ++good;
  }
}

// Wants the first item in every `spacing`, counted from the clock's zero, so the choice does not
// change when other items are removed.
void want_window(Run& run, std::size_t place, const KeepRule& keep, Seconds now) {
  double last_slot = -1;
  for (ItemState* item : run) {
    if (!item->is_complete_anywhere()) continue;
    if (keep.spacing > Seconds()) {
      const double slot = std::floor(item->view->made / keep.spacing);
      if (slot == last_slot) continue;
      last_slot = slot;
    }
    if (now - item->view->made < keep.window) item->wanted[place] = true;
  }
}

bool is_milestone(const ItemView& item, const KeepRule& keep) {
  if (item.milestone && keep.milestones) return true;
  return keep.milestone_every > 0 && item.step % keep.milestone_every == 0;
}

Bytes size_of(const ItemState& item) {
  Bytes size;
  for (const CopyView* copy : item.copies) {
    if (copy) size = max(size, copy->size);
  }
  return size;
}

// Orders items by next use, soonest first; then those without a known use, last read first.
void fill_cache(std::vector<ItemState>& items, std::size_t place, Bytes capacity) {
  std::vector<ItemState*> order;
  for (ItemState& item : items) {
    const bool is_used = item.view->next_use || item.view->last_read > Seconds();
    if (is_used && item.is_complete_anywhere()) order.push_back(&item);
  }
  std::ranges::stable_sort(order, [](const ItemState* a, const ItemState* b) {
    const auto rank = [](const ItemState* item) {
      const ItemView& view = *item->view;
      return view.next_use ? std::tuple(0, view.next_use->base())
                           : std::tuple(1, -view.last_read.base());
    };
    return rank(a) < rank(b);
  });
  Bytes used;
  for (ItemState* item : order) {
    const Bytes size = size_of(*item);
    if (used + size > capacity) return;
    used += size;
    item->wanted[place] = true;
  }
}

void apply_keep(Run& run, std::size_t place, const KeepRule& keep, Seconds now) {
  if (keep.newest > 0) want_newest(run, place, keep.newest);
  if (keep.window > Seconds()) want_window(run, place, keep, now);
  for (ItemState* item : run) {
    const bool named = keep.everything || is_milestone(*item->view, keep);
    if (named && item->is_complete_anywhere()) item->wanted[place] = true;
  }
}

// The owner's rules replace those of the places.
void apply_owners(ItemState& item, const LifecyclePolicy& policy) {
  if (!item.view->wanted) return;
  for (std::size_t p = 0; p < policy.places.size(); ++p) {
    const std::vector<std::string>& names = *item.view->wanted;
    item.wanted[p] = std::ranges::find(names, policy.places[p].name) != names.end();
  }
}

}  // namespace

bool ItemState::is_good_anywhere() const { return has(CopyState::good); }

bool ItemState::is_complete_anywhere() const {
  return has(CopyState::good) || has(CopyState::unread);
}

bool ItemState::is_wanted() const { return std::ranges::find(wanted, true) != wanted.end(); }

bool ItemState::has(CopyState state) const {
  return std::ranges::find(states, state) != states.end();
}

bool is_older(const ItemView& a, const ItemView& b) {
  return std::tuple(a.made.base(), a.step, std::string_view(a.id)) <
         std::tuple(b.made.base(), b.step, std::string_view(b.id));
}

std::vector<ItemState> states_of(const LifecycleLook& look, const LifecycleMemory& memory,
                                 const LifecyclePolicy& policy) {
  std::vector<ItemState> items;
  items.reserve(look.items.size());
  for (const ItemView& item : look.items) items.push_back(state_of(item, memory, policy));
  std::map<std::string_view, Run> runs;
  for (ItemState& item : items) runs[item.view->run].push_back(&item);
  for (auto& [name, run] : runs) {
    std::ranges::sort(
        run, [](const ItemState* a, const ItemState* b) { return is_older(*a->view, *b->view); });
    for (std::size_t p = 0; p < policy.places.size(); ++p) {
      apply_keep(run, p, policy.places[p].keep, look.now);
    }
  }
  for (std::size_t p = 0; p < policy.places.size(); ++p) {
    if (policy.places[p].keep.cache > Bytes()) fill_cache(items, p, policy.places[p].keep.cache);
  }
  for (ItemState& item : items) apply_owners(item, policy);
  return items;
}

}  // namespace orrery::storage
