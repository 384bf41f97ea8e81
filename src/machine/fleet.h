// A fleet as the review sees it: the design's entry with its catalog rows, counted out.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "design/design.h"

namespace orrery::machine {

struct Fleet {
  const design::Fleet* fleet = nullptr;
  const design::Site* site = nullptr;
  const catalog::GridRegion* region = nullptr;  // of the site; nullptr where the catalog has none
  design::FleetNode node;
  std::string path;      // "fleet[0]"
  int hosts = 0;         // an NVL72 node is 18
  int accelerators = 0;  // in service, spares apart
  int accelerators_per_host = 0;

  bool rented() const { return fleet->rent.has_value(); }
  const catalog::Accelerator* accelerator() const { return node.accelerator; }
};

std::vector<Fleet> build_fleets(const design::Design& design, const catalog::Catalog& catalog);
// The fleet a workload runs on: by name, or the first.
const Fleet* find_fleet(const std::vector<Fleet>& fleets, const std::string& name);
const Fleet* fleet_of(const std::vector<Fleet>& fleets, const design::Workload& workload);

// "workloads[1].serve": where a field of it stands in the file.
std::string path_of(const design::Design& design, const design::Workload& workload);

}  // namespace orrery::machine
