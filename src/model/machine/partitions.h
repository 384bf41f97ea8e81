// A fleet's partitions under Slurm, and the hosts in each.
//
// Partitions with a number of nodes do not overlap and follow each other in the design's order;
// those without one have the whole fleet. A spare that is put to use can serve any of them. A
// workload that names none runs in the fleet's first one, like a job without `--partition` in the
// default partition.
#pragma once

#include <string>
#include <vector>

#include "model/machine/fleet.h"

namespace orrery::machine {

struct FleetPartition {
  const design::SchedulerPartition* partition = nullptr;
  std::string path;  // "scheduler.partitions[0]"
  int first = 0;     // index of its first host, counted from 0
  int hosts = 0;
};

// Returns nothing if the design has no partitions for the fleet.
std::vector<FleetPartition> partitions_of(const design::Design& design, const Fleets& fleets,
                                          const Fleet& fleet);
// Returns a workload's index into the partitions of its fleet.
std::size_t partition_of(const std::vector<FleetPartition>& partitions,
                         const design::Workload& workload);
// Returns the fleet whose last nodes a reservation takes: the one that it names, or the first that
// Slurm runs.
const Fleet* reserved_fleet(const design::Design& design, const Fleets& fleets,
                            const design::Reservation& reservation);

}  // namespace orrery::machine
