#include "model/machine/partitions.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/design/slurm_fleets.h"

namespace orrery::machine {
namespace {

// A partition that names no fleet belongs to Slurm's first one.
bool is_of(const design::SchedulerPartition& partition, const design::Design& design,
           const Fleets& fleets, const Fleet& fleet) {
  if (!partition.fleet.empty()) return fleet.fleet->name == partition.fleet;
  const auto first =
      std::ranges::find_if(fleets, [&](const Fleet& f) { return is_slurms(design, *f.fleet); });
  return first != fleets.end() && first->index == fleet.index;
}

}  // namespace

std::vector<FleetPartition> partitions_of(const design::Design& design, const Fleets& fleets,
                                          const Fleet& fleet) {
  std::vector<FleetPartition> out;
  if (!is_slurms(design, *fleet.fleet)) return out;
  const int per_node = fleet.fleet->count > 0 ? fleet.hosts / fleet.fleet->count : 0;
  int taken = 0;
  const auto& wanted = design.scheduler.partitions;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const design::SchedulerPartition& p = wanted[i];
    if (!is_of(p, design, fleets, fleet)) continue;
    const int hosts = p.nodes ? *p.nodes * per_node : fleet.hosts;
    out.push_back({.partition = &p,
                   .path = fmt::format("scheduler.partitions[{}]", i),
                   .first = p.nodes ? taken : 0,
                   .hosts = hosts});
    if (p.nodes) taken += hosts;
  }
  return out;
}

std::size_t partition_of(const std::vector<FleetPartition>& partitions,
                         const design::Workload& workload) {
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    if (partitions[i].partition->name == workload.terms.partition) return i;
  }
  return 0;
}

const Fleet* reserved_fleet(const design::Design& design, const Fleets& fleets,
                            const design::Reservation& reservation) {
  for (const Fleet& f : fleets) {
    const bool is_named = f.fleet->name == reservation.fleet;
    if (reservation.fleet.empty() ? is_slurms(design, *f.fleet) : is_named) return &f;
  }
  return nullptr;
}

}  // namespace orrery::machine
