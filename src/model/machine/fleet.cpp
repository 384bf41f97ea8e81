#include "model/machine/fleet.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/figures/assumptions.h"

namespace orrery::machine {
namespace {

using figures::assumptions::kHostMemory;
using figures::assumptions::kSocketMemory;
using figures::assumptions::kSocketProducts;

// Returns a host as a device that serves models. Its parameters are those of `cpu` in
// data/calibration.
std::shared_ptr<const catalog::Accelerator> host_of(const design::FleetNode& node) {
  const double sockets = std::max(1, node.part.host_cpus);
  catalog::Accelerator a{.id = std::string(kHostDevice), .name = node.part.name};
  a.dense_peak[static_cast<std::size_t>(catalog::Dtype::bf16)] =
      node.matrix_rate.value_or(kSocketProducts * sockets);
  a.memory = node.memory.value_or(kHostMemory);
  a.memory_bandwidth = node.memory_bandwidth.value_or(kSocketMemory * sockets);
  a.scaleup_link = "none";
  a.pcie_generation = 5;
  a.tdp = node.part.max_power;
  a.idle = node.part.idle_power;
  a.provenance = node.part.provenance;
  return std::make_shared<const catalog::Accelerator>(std::move(a));
}

std::vector<FleetSlice> cut_of(const design::Fleet& fleet, const catalog::Accelerator& accelerator,
                               const catalog::Catalog& catalog) {
  std::vector<FleetSlice> slices;
  for (const design::MigSlices& wanted : fleet.mig) {
    for (const catalog::MigProfile& p : catalog.mig_profiles) {
      if (p.accelerator_id != accelerator.id || p.profile != wanted.profile) continue;
      slices.push_back({.profile = &p, .each = std::max(1, wanted.count)});
    }
  }
  return slices;
}

}  // namespace

Fleets build_fleets(const design::Design& design, const catalog::Catalog& catalog) {
  Fleets views;
  for (std::size_t i = 0; i < design.fleet.size(); ++i) {
    const design::Fleet& fleet = design.fleet[i];
    Fleet v{.index = design::FleetIndex(i), .fleet = &fleet, .path = fmt::format("fleet[{}]", i)};
    if (const auto site = site_index(design, fleet.site)) {
      v.site = &design.sites[site->value()];
      v.site_index = *site;
    }
    v.region = v.site ? catalog.region(v.site->region) : nullptr;
    v.node = resolve_node(fleet, catalog);
    const catalog::Node& part = v.node.part;
    v.accelerators = fleet.count * part.accelerators;
    v.accelerators_per_host =
        part.accelerators_per_host > 0 ? part.accelerators_per_host : part.accelerators;
    const int hosts_per_node =
        v.accelerators_per_host > 0 ? std::max(1, part.accelerators / v.accelerators_per_host) : 1;
    v.hosts = fleet.count * hosts_per_node;
    if (v.accelerator() != nullptr) {
      v.slices = cut_of(fleet, *v.accelerator(), catalog);
    } else {
      v.host = host_of(v.node);
    }
    views.push_back(std::move(v));
  }
  return views;
}

int Fleet::hosts_per_node() const { return std::max(1, hosts / std::max(1, fleet->count)); }

const Fleet* find_fleet(const Fleets& fleets, const std::string& name) {
  for (const Fleet& v : fleets) {
    if (name.empty() || v.fleet->name == name) return &v;
  }
  return nullptr;
}

const Fleet* fleet_of(const Fleets& fleets, const design::Workload& workload) {
  return find_fleet(fleets, workload.terms.fleet);
}

std::string path_of(const design::Workload& workload) {
  return fmt::format("workloads[{}].{}", workload.index.value(), kind_of(workload));
}

}  // namespace orrery::machine
