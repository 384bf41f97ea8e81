// A fleet as the review sees it: the design's entry with its catalog rows, counted out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/design.h"
#include "model/design/indices.h"

namespace orrery::machine {

// What each of its accelerators is cut into (MIG).
struct FleetSlice {
  const catalog::MigProfile* profile = nullptr;
  int each = 1;  // of them on one accelerator
};

// Id of a host that serves models by itself.
inline constexpr std::string_view kHostDevice = "cpu";

struct Fleet {
  design::FleetIndex index;
  const design::Fleet* fleet = nullptr;
  const design::Site* site = nullptr;
  design::SiteIndex site_index;
  const catalog::GridRegion* region = nullptr;  // of the site; nullptr where the catalog has none
  design::FleetNode node;
  std::string path;      // "fleet[0]"
  int hosts = 0;         // an NVL72 node is 18
  int accelerators = 0;  // in service, spares apart
  int accelerators_per_host = 0;
  std::vector<FleetSlice> slices;  // empty: they are whole

  // What a replica of a model runs on, nullptr where accelerators are whole. A design with services
  // cuts into one size (design_text/check_service.cpp).
  const FleetSlice* slice() const { return slices.empty() ? nullptr : &slices.front(); }

  // Of a fleet without accelerators its hosts, each as one device: what their cores and memory do.
  std::shared_ptr<const catalog::Accelerator> host;
  // What a model is served on.
  const catalog::Accelerator* device() const { return accelerator() ? accelerator() : host.get(); }
  int devices() const { return accelerator() ? accelerators : hosts; }

  // Hosts of one of its nodes: 18 of an NVL72.
  int hosts_per_node() const;

  bool rented() const { return fleet->rent.has_value(); }
  const catalog::Accelerator* accelerator() const { return node.accelerator; }
};

using Fleets = IndexedVector<design::FleetIndex, Fleet>;

Fleets build_fleets(const design::Design& design, const catalog::Catalog& catalog);
// The fleet a workload runs on: by name, or the first.
const Fleet* find_fleet(const Fleets& fleets, const std::string& name);
const Fleet* fleet_of(const Fleets& fleets, const design::Workload& workload);

// "workloads[1].serve": where the file has it. The workload is one of a numbered design.
std::string path_of(const design::Workload& workload);

}  // namespace orrery::machine
