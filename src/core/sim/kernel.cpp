#include "core/sim/kernel.h"

#include <algorithm>

namespace orrery::sim {
namespace {

constexpr std::size_t kArity = 4;
// Leaves room for 2^56 events per run, more than any machine can process.
constexpr int kRankShift = 56;

}  // namespace

TimerId Kernel::schedule(SimTime at, EventRank rank, EventHandler& handler, std::uint32_t kind,
                         std::uint64_t data) {
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& s = slots_[slot];
  s.handler = &handler;
  s.data = data;
  s.kind = kind;
  const std::uint64_t order = static_cast<std::uint64_t>(rank) << kRankShift | scheduled_++;
  push({.time = std::max(at, now_).ns(), .order = order, .slot = slot, .generation = s.generation});
  return {slot, s.generation};
}

void Kernel::release(std::uint32_t slot) {
  Slot& s = slots_[slot];
  s.handler = nullptr;
  ++s.generation;
  free_slots_.push_back(slot);
}

bool Kernel::is_pending(TimerId timer) const {
  return timer.slot < slots_.size() && slots_[timer.slot].generation == timer.generation &&
         slots_[timer.slot].handler != nullptr;
}

void Kernel::cancel(TimerId timer) {
  if (!is_pending(timer)) return;
  release(timer.slot);
  ++cancelled_;
  // Entries of cancelled timers stay in the heap until they reach the top. If most of the heap is
  // cancelled, it is rebuilt.
  if (cancelled_ > 64 && cancelled_ > heap_.size() / 2) compact();
}

void Kernel::forget(const EventHandler& handler) {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].handler == &handler) cancel({slot, slots_[slot].generation});
  }
}

void Kernel::compact() {
  std::erase_if(heap_, [&](const Entry& e) { return slots_[e.slot].generation != e.generation; });
  cancelled_ = 0;
  for (std::size_t i = heap_.size() / kArity + 1; i-- > 0;) {
    if (i < heap_.size()) sift_down(i, heap_[i]);
  }
}

void Kernel::push(Entry e) {
  std::size_t at = heap_.size();
  heap_.push_back(e);
  while (at > 0) {
    const std::size_t parent = (at - 1) / kArity;
    if (!e.before(heap_[parent])) break;
    heap_[at] = heap_[parent];
    at = parent;
  }
  heap_[at] = e;
}

void Kernel::sift_down(std::size_t at, Entry e) {
  const std::size_t size = heap_.size();
  for (;;) {
    const std::size_t first = at * kArity + 1;
    if (first >= size) break;
    const std::size_t last = std::min(first + kArity, size);
    std::size_t least = first;
    for (std::size_t c = first + 1; c < last; ++c) {
      if (heap_[c].before(heap_[least])) least = c;
    }
    if (!heap_[least].before(e)) break;
    heap_[at] = heap_[least];
    at = least;
  }
  heap_[at] = e;
}

void Kernel::pop_top() {
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
}

// Removes cancelled events from the top of the heap; returns false if no event is left that will
// run.
bool Kernel::drop_cancelled() {
  while (!heap_.empty()) {
    const Entry& top = heap_.front();
    if (slots_[top.slot].generation == top.generation) return top.time != SimTime::never().ns();
    pop_top();
    --cancelled_;
  }
  return false;
}

bool Kernel::step() {
  if (!drop_cancelled()) return false;
  const Entry top = heap_.front();
  pop_top();
  const Slot slot = slots_[top.slot];
  release(top.slot);
  now_ = SimTime::nanoseconds(top.time);
  ++events_run_;
  slot.handler->on_event(*this, slot.kind, slot.data);
  return true;
}

std::uint64_t Kernel::run(SimTime until) {
  const std::uint64_t before = events_run_;
  stopped_ = false;
  while (!stopped_ && drop_cancelled() && heap_.front().time <= until.ns()) step();
  if (!stopped_ && !until.is_never()) now_ = std::max(now_, until);
  return events_run_ - before;
}

}  // namespace orrery::sim
