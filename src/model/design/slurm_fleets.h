// Which fleets Slurm runs: all, none, or, if both schedulers run, the fleets that say so.
#pragma once

#include "model/design/design.h"

namespace orrery::design {

inline bool is_slurms(const Design& design, const Fleet& fleet) {
  const SchedulerKind kind = design.scheduler.kind;
  if (kind != SchedulerKind::both) return kind == SchedulerKind::slurm;
  return fleet.partition == Partition::slurm;
}

}  // namespace orrery::design
