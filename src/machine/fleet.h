// A fleet as the review sees it: the design's entry with its catalog rows, counted out.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "design/design.h"

namespace orrery {

struct FleetView {
  const design::Fleet* fleet = nullptr;
  const design::Site* site = nullptr;
  const GridRegion* region = nullptr;  // of the site; nullptr where the catalog has none
  design::FleetNode node;
  std::string path;      // "fleet[0]"
  int hosts = 0;         // an NVL72 node is 18
  int accelerators = 0;  // in service, spares apart
  int accelerators_per_host = 0;

  bool rented() const { return fleet->rent.has_value(); }
  const Accelerator* accelerator() const { return node.accelerator; }
};

std::vector<FleetView> view_fleets(const design::Design& design, const Catalog& catalog);
// The fleet a workload runs on: by name, or the first.
const FleetView* find_fleet_view(const std::vector<FleetView>& fleets, const std::string& name);
const FleetView* fleet_of(const std::vector<FleetView>& fleets, const design::Workload& workload);

// "workloads[1].serve": where a field of it stands in the file.
std::string path_of(const design::Design& design, const design::Workload& workload);

}  // namespace orrery
