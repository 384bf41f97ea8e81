// The book of GPU-seconds: how many accelerators are under which cause now, and for how long so
// far, in whole GPU-nanoseconds.
//
//   sum over causes of booked(cause) = accelerators x time, to the last nanosecond
// Accelerators only move from one cause to another, so the sum holds by construction as long as a
// move never takes more than there are; that is checked, and a move that does is a fault that
// spoils the book (`is_sound`), which a run reports instead of its figures. What is known only
// afterwards (work that a fault took back) is corrected between causes by amount.
#pragma once

#include <cstdint>

#include "core/sim/sim_time.h"
#include "layers/cluster/cause.h"

namespace orrery::cluster {

// GPU-nanoseconds: 131,072 accelerators for a year are 4e21, beyond 64 bits.
__extension__ typedef __int128 GpuTime;

class GpuLedger {
 public:
  explicit GpuLedger(std::int64_t accelerators) : accelerators_(accelerators) {
    held_[at(Cause::idle)] = accelerators;
  }

  void move(sim::SimTime now, Cause from, Cause to, std::int64_t accelerators);
  // What was booked under `from` and belongs under `to`.
  void correct(Cause from, Cause to, GpuTime amount);
  void settle(sim::SimTime now);

  std::int64_t accelerators() const { return accelerators_; }
  std::int64_t held(Cause cause) const { return held_[at(cause)]; }
  const ByCause<GpuTime>& booked() const { return booked_; }  // up to the last settle
  bool is_sound() const { return is_sound_; }

 private:
  std::int64_t accelerators_;
  sim::SimTime settled_;
  ByCause<std::int64_t> held_{};
  ByCause<GpuTime> booked_{};
  bool is_sound_ = true;
};

// Whole GPU-seconds a share that sum to the whole of `booked`: each rounded down, what that leaves
// goes to the largest remainders. `over` divides first: a mean over so many books.
std::array<std::int64_t, kShares> whole_seconds(const ByCause<GpuTime>& booked, std::int64_t over);

}  // namespace orrery::cluster
