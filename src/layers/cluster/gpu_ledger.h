// Accounts for GPU-seconds: how many accelerators are under each cause now, and the time booked so
// far, in whole GPU-nanoseconds.
//
//   sum over causes of booked(cause) = accelerators x time, to the last nanosecond
// Accelerators only move from one cause to another, so the sum holds by construction unless a move
// takes more than there are. That is checked: such a move marks the ledger as unsound (`is_sound`),
// and the run then reports that instead of its figures. What is known only afterwards (work that a
// fault destroyed) is corrected by moving an amount between causes.
#pragma once

#include <cstdint>

#include "core/sim/sim_time.h"
#include "layers/cluster/cause.h"

namespace orrery::cluster {

// In GPU-nanoseconds. 131,072 accelerators for a year are 4e21, which exceeds 64 bits.
__extension__ typedef __int128 GpuTime;

class GpuLedger {
 public:
  explicit GpuLedger(std::int64_t accelerators) : accelerators_(accelerators) {
    held_[at(Cause::idle)] = accelerators;
  }

  void move(sim::SimTime now, Cause from, Cause to, std::int64_t accelerators);
  // Moves an amount that was booked under `from` to `to`.
  void correct(Cause from, Cause to, GpuTime amount);
  void settle(sim::SimTime now);

  std::int64_t accelerators() const { return accelerators_; }
  std::int64_t held(Cause cause) const { return held_[at(cause)]; }
  const ByCause<GpuTime>& booked() const { return booked_; }  // up to the last settle()
  bool is_sound() const { return is_sound_; }

 private:
  std::int64_t accelerators_;
  sim::SimTime settled_;
  ByCause<std::int64_t> held_{};
  ByCause<GpuTime> booked_{};
  bool is_sound_ = true;
};

// Returns whole GPU-seconds per share that add up to the total of `booked`: each share is rounded
// down, and the remaining seconds go to the largest remainders. `over` divides first, to average
// over that many ledgers.
std::array<std::int64_t, kShares> whole_seconds(const ByCause<GpuTime>& booked, std::int64_t over);

}  // namespace orrery::cluster
