// Which fleets Slurm runs: all, none, or those that say so where both schedulers do.
#pragma once

#include "model/design/design.h"

namespace orrery::design {

inline bool is_slurms(const Design& design, const Fleet& fleet) {
  const SchedulerKind kind = design.scheduler.kind;
  if (kind != SchedulerKind::both) return kind == SchedulerKind::slurm;
  return fleet.partition == Partition::slurm;
}

}  // namespace orrery::design
