#include "machine/fleet.h"

#include <fmt/core.h>

#include <algorithm>

namespace orrery::machine {

std::vector<Fleet> build_fleets(const design::Design& design, const catalog::Catalog& catalog) {
  std::vector<Fleet> views;
  for (std::size_t i = 0; i < design.fleet.size(); ++i) {
    const design::Fleet& fleet = design.fleet[i];
    Fleet v{.fleet = &fleet, .path = fmt::format("fleet[{}]", i)};
    v.site = find_site(design, fleet.site);
    v.region = v.site ? catalog.region(v.site->region) : nullptr;
    v.node = resolve_node(fleet, catalog);
    const catalog::Node& part = v.node.part;
    v.accelerators = fleet.count * part.accelerators;
    v.accelerators_per_host =
        part.accelerators_per_host > 0 ? part.accelerators_per_host : part.accelerators;
    const int hosts_per_node =
        v.accelerators_per_host > 0 ? std::max(1, part.accelerators / v.accelerators_per_host) : 1;
    v.hosts = fleet.count * hosts_per_node;
    views.push_back(std::move(v));
  }
  return views;
}

const Fleet* find_fleet(const std::vector<Fleet>& fleets, const std::string& name) {
  for (const Fleet& v : fleets) {
    if (name.empty() || v.fleet->name == name) return &v;
  }
  return nullptr;
}

const Fleet* fleet_of(const std::vector<Fleet>& fleets, const design::Workload& workload) {
  return find_fleet(fleets, workload.terms.fleet);
}

std::string path_of(const design::Design& design, const design::Workload& workload) {
  const auto index = &workload - design.workloads.data();
  return fmt::format("workloads[{}].{}", index, kind_of(workload));
}

}  // namespace orrery::machine
