// The nodes of a machine as a scheduler sees them: GPUs of every host, and the tree of its leaves.
//
// Only fleets that Slurm runs and that have accelerators count; spares are not offered. Hosts below
// one leaf switch (with rails: below one set of leaves) are neighbours.
#pragma once

#include "layers/cluster/backfill.h"
#include "model/machine/machine.h"

namespace orrery::world {

// Returns the pool. Gangs are placed below the lowest switch that holds them if the scheduler knows
// the topology.
cluster::NodePool pool_of(const machine::Machine& machine);
// Returns one fleet's hosts and then its spares, with `slots` on each.
cluster::NodePool pool_of_fleet(const machine::Machine& machine, const machine::Fleet& fleet,
                                int spares, int slots);
cluster::BackfillVariant variant_of(design::Backfill backfill);
// Returns the backfilling variant: under Slurm as the design says. Kubernetes admits what fits, in
// order (Kueue's BestEffortFIFO).
cluster::BackfillVariant backfill_of(const machine::Machine& machine, const machine::Fleet& fleet);

}  // namespace orrery::world
