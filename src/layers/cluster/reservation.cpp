#include "layers/cluster/reservation.h"

#include <algorithm>
#include <cassert>

namespace orrery::cluster {

using sim::SimTime;

Reservation::Window Reservation::window_after(SimTime at) const {
  Window w{.begin = start, .end = start + length};
  if (at < w.end) return w;
  if (every.ns() <= 0) return {};
  const std::int64_t past = (at.ns() - w.end.ns()) / every.ns() + 1;
  const SimTime shift = SimTime::nanoseconds(every.ns() * past);
  return {.begin = w.begin + shift, .end = w.end + shift};
}

void ReservationBook::add(Reservation reservation) {
  assert(all_.size() < 64);
  all_.push_back(std::move(reservation));
}

bool ReservationBook::bars(std::size_t r, const QueuedJob& job, SimTime from) const {
  if ((job.guest_of >> r & 1) != 0) return false;
  const Reservation::Window w = all_[r].window_after(from);
  if (w.begin.is_never()) return false;
  return job.stays ? w.begin <= from : w.begin < from + job.limit;
}

const NodeMask* ReservationBook::open_to(const QueuedJob& job, const NodeMask* partition,
                                         SimTime from) const {
  const NodeMask* open = partition;
  for (std::size_t r = 0; r < all_.size(); ++r) {
    if (!bars(r, job, from)) continue;
    if (open != &open_) {
      if (partition != nullptr) {
        open_ = *partition;
      } else {
        open_.assign(all_[r].nodes.size(), ~std::uint64_t{0});
      }
      open = &open_;
    }
    for (std::size_t i = 0; i < open_.size(); ++i) open_[i] &= ~all_[r].nodes[i];
  }
  return open;
}

bool ReservationBook::is_open(const QueuedJob& job, std::span<const NodeShare> where,
                              SimTime from) const {
  for (std::size_t r = 0; r < all_.size(); ++r) {
    const auto is_in = [&](const NodeShare& s) { return all_[r].has(s.node); };
    if (std::ranges::any_of(where, is_in) && bars(r, job, from)) return false;
  }
  return true;
}

SimTime ReservationBook::next_change(SimTime at) const {
  SimTime next = SimTime::never();
  for (const Reservation& r : all_) {
    const Reservation::Window w = r.window_after(at);
    if (w.begin.is_never()) continue;
    next = std::min(next, at < w.begin ? w.begin : w.end);
  }
  return next;
}

int ReservationBook::barrier_of(const QueuedJob& job, SimTime from, SimTime& until) const {
  int barrier = -1;
  for (std::size_t r = 0; r < all_.size(); ++r) {
    if (!bars(r, job, from)) continue;
    const SimTime end = all_[r].window_after(from).end;
    if (barrier >= 0 && end <= until) continue;
    barrier = static_cast<int>(r);
    until = end;
  }
  return barrier;
}

}  // namespace orrery::cluster
