// A fleet as the review sees it: the design's entry with its catalog rows and its counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/design.h"
#include "model/design/indices.h"

namespace orrery::machine {

// What each accelerator of a fleet is cut into (MIG).
struct FleetSlice {
  const catalog::MigProfile* profile = nullptr;
  int each = 1;  // slices per accelerator
};

// Id of a host that serves models on its CPU cores.
inline constexpr std::string_view kHostDevice = "cpu";

struct Fleet {
  design::FleetIndex index;
  const design::Fleet* fleet = nullptr;
  const design::Site* site = nullptr;
  design::SiteIndex site_index;
  // region of the site; nullptr if the catalog has none
  const catalog::GridRegion* region = nullptr;
  design::FleetNode node;
  std::string path;      // "fleet[0]"
  int hosts = 0;         // in service; an NVL72 node has 18
  int accelerators = 0;  // in service, without spares
  int accelerators_per_host = 0;
  std::vector<FleetSlice> slices;  // empty: accelerators are whole

  // Returns the slice that a replica of a model runs on; nullptr if accelerators are whole. A
  // design with services cuts into one size (design_text/check_service.cpp).
  const FleetSlice* slice() const { return slices.empty() ? nullptr : &slices.front(); }

  // For a fleet without accelerators: its host as one device, with the rates of its cores and
  // memory.
  std::shared_ptr<const catalog::Accelerator> host;
  // Returns the device that a model is served on.
  const catalog::Accelerator* device() const { return accelerator() ? accelerator() : host.get(); }
  int devices() const { return accelerator() ? accelerators : hosts; }

  // Returns the hosts per node: 18 for an NVL72.
  int hosts_per_node() const;

  bool rented() const { return fleet->rent.has_value(); }
  const catalog::Accelerator* accelerator() const { return node.accelerator; }
};

using Fleets = IndexedVector<design::FleetIndex, Fleet>;

Fleets build_fleets(const design::Design& design, const catalog::Catalog& catalog);
// Returns the fleet that a workload runs on: by name, or the first.
const Fleet* find_fleet(const Fleets& fleets, const std::string& name);
const Fleet* fleet_of(const Fleets& fleets, const design::Workload& workload);

// Returns the workload's path in the file: "workloads[1].serve". The workload must be one of a
// numbered design.
std::string path_of(const design::Workload& workload);

}  // namespace orrery::machine
