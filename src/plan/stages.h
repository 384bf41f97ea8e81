// What the stages of a review find, in the order in which they run. Later stages read earlier ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "design/design.h"
#include "failure/interval.h"
#include "plan/cost_view.h"
#include "machine/fleet.h"
#include "machine/network.h"
#include "plan/serve_view.h"
#include "plan/site_view.h"
#include "machine/tier.h"
#include "plan/train_view.h"
#include "plan/work_view.h"

namespace orrery {

struct Review {
  const design::Design& design;
  const Catalog& catalog;
  std::vector<FleetView> fleets;
  NetworkViews networks;
  std::vector<TierView> tiers;  // in the design's order
  std::vector<TrainView> trains;
  std::vector<ServeView> serves;
  std::vector<JobsView> jobs;
  std::vector<BatchView> batches;
  std::vector<MigView> mig;
  std::vector<SiteView> sites;
  CostView cost;
};

}  // namespace orrery
