// A fleet's partitions under Slurm: which of its hosts each has.
//
// Those with a number of nodes lie apart, one after the other in the design's order; those without
// have the whole fleet. A spare that is called in serves any of them. A workload that names none
// is of the fleet's first one, as a job without `--partition` is of the default.
#pragma once

#include <string>
#include <vector>

#include "model/machine/fleet.h"

namespace orrery::machine {

struct FleetPartition {
  const design::SchedulerPartition* partition = nullptr;
  std::string path;  // "scheduler.partitions[0]"
  int first = 0;     // of its hosts, counted from 0
  int hosts = 0;
};

// Empty where the design divides the fleet by none.
std::vector<FleetPartition> partitions_of(const design::Design& design, const Fleets& fleets,
                                          const Fleet& fleet);
// Of a workload of this fleet, the index into its partitions.
std::size_t partition_of(const std::vector<FleetPartition>& partitions,
                         const design::Workload& workload);
// Whose last nodes a reservation takes: the fleet that it names, or the first that Slurm runs.
const Fleet* reserved_fleet(const design::Design& design, const Fleets& fleets,
                            const design::Reservation& reservation);

}  // namespace orrery::machine
