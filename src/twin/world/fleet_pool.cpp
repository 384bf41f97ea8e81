#include "twin/world/fleet_pool.h"

#include <algorithm>

#include "model/design/slurm_fleets.h"

namespace orrery::world {
namespace {

// Returns the leaves below one spine of a fat tree with three tiers; all of them if there are two
// tiers.
int leaves_below_spine(const fabric::Topology& t) {
  return t.tiers > 2 ? std::max(1, t.spec.radix / 2)
                     : static_cast<int>(std::max<std::int64_t>(1, t.leaves));
}

cluster::NodeTree tree_of(const machine::Network& network, int hosts) {
  if (!network.topology || network.topology->leaves <= 0)
    return cluster::even_tree(hosts, hosts, 1);
  return cluster::even_tree(hosts, machine::leaf_set(network, hosts).hosts,
                            leaves_below_spine(*network.topology));
}

}  // namespace

cluster::NodePool pool_of(const machine::Machine& machine) {
  std::vector<int> gpus;
  for (const machine::Fleet& fleet : machine.fleets) {
    if (fleet.fleet->partition != design::Partition::slurm) continue;
    if (fleet.accelerators_per_host <= 0) continue;
    gpus.insert(gpus.end(), static_cast<std::size_t>(fleet.hosts), fleet.accelerators_per_host);
  }
  const bool knows = machine.design().scheduler.topology != design::PlacementTopology::none;
  const int hosts = static_cast<int>(gpus.size());
  if (!knows || hosts < 2) return cluster::NodePool(std::move(gpus));
  return cluster::NodePool(std::move(gpus), cluster::PlacementRule::tree,
                           tree_of(machine.main_networks().compute, hosts));
}

cluster::NodePool pool_of_fleet(const machine::Machine& machine, const machine::Fleet& fleet,
                                int spares, int slots) {
  const int hosts = fleet.hosts + spares;
  std::vector<int> gpus(static_cast<std::size_t>(hosts), slots);
  const bool knows = machine.design().scheduler.topology != design::PlacementTopology::none;
  if (!knows || hosts < 2) return cluster::NodePool(std::move(gpus));
  return cluster::NodePool(std::move(gpus), cluster::PlacementRule::tree,
                           tree_of(machine.networks_of(fleet).compute, hosts));
}

cluster::BackfillVariant backfill_of(const machine::Machine& machine, const machine::Fleet& fleet) {
  return is_slurms(machine.design(), *fleet.fleet) ? variant_of(machine.design().scheduler.backfill)
                                                   : cluster::BackfillVariant::best_effort;
}

cluster::BackfillVariant variant_of(design::Backfill backfill) {
  switch (backfill) {
    case design::Backfill::none:
      return cluster::BackfillVariant::fifo;
    case design::Backfill::easy:
      return cluster::BackfillVariant::easy;
    case design::Backfill::conservative:
      return cluster::BackfillVariant::conservative;
    case design::Backfill::slurm:
      return cluster::BackfillVariant::slurm;
  }
  return cluster::BackfillVariant::easy;
}

}  // namespace orrery::world
