// A service joined across the layers: does the model fit, how fast does it answer, how many
// replicas.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "design/design.h"
#include "plan/fleet_view.h"

namespace orrery {

struct ServeView {
  const design::Workload* workload = nullptr;
  const design::Serve* serve = nullptr;
  std::string label;
  std::string path;
  const FleetView* fleet = nullptr;
  const ModelShape* model = nullptr;
  std::string infeasible;

  bool feasible() const { return infeasible.empty(); }
};

}  // namespace orrery
