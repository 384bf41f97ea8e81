// The slots of one fleet: which process holds how many, what they do, and why the others are free.
//
// A slot is an accelerator, or a whole host if the fleet has none. Every change of what a host does
// goes through shift(), which books slots, watts and recorded levels in one place, so the three
// cannot disagree. Every free slot has one cause: the slots that a requeued run or a run that waits
// for hosts could use are booked to its wait, run by run; then the slots that other waiting jobs
// could use are stranded (free, but too scattered for a job to fit); the rest is idle.
//   free = claimed + stranded + idle
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/sim/kernel.h"
#include "twin/world/cause.h"
#include "twin/world/host_index.h"
#include "twin/world/host_use.h"
#include "twin/world/power_meters.h"
#include "twin/world/run_recorder.h"

namespace orrery::world {

class Process;

// Called after slots at a site came free.
class FreeSlotsObserver {
 public:
  virtual void slots_came_free(design::SiteIndex site) = 0;

 protected:
  ~FreeSlotsObserver() = default;
};

class SlotBook {
 public:
  // The arguments must outlive the book.
  SlotBook(const FleetPart& fleet, const sim::Kernel& kernel, PowerMeters& meters,
           RunRecorder& recorder, FreeSlotsObserver& observer);

  // Moves `slots` from one use to another; from free to a use; and back.
  void shift(std::int64_t slots, const HostUse& from, const HostUse& to);
  void take(std::int64_t slots, const HostUse& to);
  void give(std::int64_t slots, const HostUse& from);
  // A waiting run says how many of the free slots it could use; 0: it waits no more.
  void claim(ProcessIndex process, std::int64_t slots, Cause cause);
  // Waiting jobs ask for `slots` more, or fewer if negative.
  void want(std::int64_t slots);
  // Registers a process that holds fewer slots than it could use, to be notified when some come
  // free; or removes it.
  void call_for_room(Process& process, bool wants);
  // Marks slots of jobs and services that compute for a share of the time and otherwise wait, in
  // the series.
  void mark_busy(double slots, double share = 1);

  const GpuLedger& ledger() const { return ledger_; }
  void settle(sim::SimTime now) { ledger_.settle(now); }
  // Moves what was booked under `from` and belongs under `to`, if this becomes known only
  // afterwards.
  void correct(Cause from, Cause to, GpuTime amount) { ledger_.correct(from, to, amount); }
  std::int64_t free() const { return free_; }

 private:
  struct Claim {
    std::int64_t slots = 0;
    Cause cause = Cause::requeue;
  };

  void book_free(Cause cause, std::int64_t slots);
  void recount();

  const FleetPart& fleet_;
  const sim::Kernel& kernel_;
  PowerMeters& meters_;
  RunRecorder& recorder_;
  FreeSlotsObserver& observer_;
  GpuLedger ledger_;
  std::int64_t free_;
  std::map<ProcessIndex, Claim> claims_;  // of waiting runs
  std::vector<Process*> growers_;         // processes that could use more slots than they hold
  std::int64_t wanted_ = 0;               // by other waiting jobs
  ByCause<std::int64_t> of_free_{};       // free slots that are not booked as idle, by cause
};

}  // namespace orrery::world
