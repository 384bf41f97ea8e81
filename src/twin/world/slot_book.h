// The slots of one fleet: who holds how many, what they do, and why the others are free.
//
// A slot is an accelerator, or a whole host if the fleet has none. Every change of what a host does
// goes through shift(), which books slots, watts and recorded levels in one place, so the three
// cannot disagree. Free slots have one cause each: as many as a run that was requeued or waits for
// hosts could use are booked to its wait, run by run; then as many as other waiting jobs could use
// are stranded (free, but not so that a job fits); the rest is idle.
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

// Told after slots at a site came free.
class FreeSlotsObserver {
 public:
  virtual void slots_came_free(design::SiteIndex site) = 0;

 protected:
  ~FreeSlotsObserver() = default;
};

class SlotBook {
 public:
  // All outlive it.
  SlotBook(const FleetPart& fleet, const sim::Kernel& kernel, PowerMeters& meters,
           RunRecorder& recorder, FreeSlotsObserver& observer);

  // `slots` go from one use to another; from free to a use; and back.
  void shift(std::int64_t slots, const HostUse& from, const HostUse& to);
  void take(std::int64_t slots, const HostUse& to);
  void give(std::int64_t slots, const HostUse& from);
  // A run that waits says what it could use of the free slots; 0: it waits no more.
  void claim(ProcessIndex process, std::int64_t slots, Cause cause);
  // Jobs that wait ask for `slots` more, or fewer if negative.
  void want(std::int64_t slots);
  // A process that holds fewer slots than it could use is told when some come free; or no more.
  void call_for_room(Process& process, bool wants);
  // Slots that compute for a share of the time and otherwise wait, in the series: of jobs and
  // services.
  void mark_busy(double slots, double share = 1);

  const GpuLedger& ledger() const { return ledger_; }
  void settle(sim::SimTime now) { ledger_.settle(now); }
  // What was booked under `from` and belongs under `to`: known only afterwards.
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
  std::map<ProcessIndex, Claim> claims_;  // of runs that wait
  std::vector<Process*> growers_;         // that could use more than they hold
  std::int64_t wanted_ = 0;               // by other jobs that wait
  ByCause<std::int64_t> of_free_{};       // of the free slots, those not booked as idle
};

}  // namespace orrery::world
