// A site with everything in it: power, racks, cooling, PUE, nodes that fit, carbon, schedule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "layers/facility/cdu.h"
#include "layers/facility/energy.h"
#include "layers/facility/hours.h"
#include "layers/facility/node_power.h"
#include "layers/facility/power_chain.h"
#include "layers/facility/pue.h"
#include "layers/facility/rack.h"
#include "layers/facility/schedule.h"
#include "layers/facility/site_budget.h"
#include "layers/facility/swing.h"
#include "model/design/design.h"
#include "model/machine/machine.h"
#include "plan/review/train_view.h"

namespace orrery::review {

// An owned fleet in its hall. Rented fleets draw their provider's power.
struct FleetPower {
  const machine::Fleet* fleet = nullptr;
  facility::NodePower node;
  facility::PhaseShares shares;  // shares of wall time, over all that runs on it
  std::vector<catalog::PowerPhase> phases;
  Watts mean;  // per node in service
  Watts all;   // all nodes, with spares idle
  facility::RackFit rack;
  int racks = 0;
  std::optional<facility::Swing> swing;
};

struct SiteView {
  design::SiteIndex index;
  const design::Site* site = nullptr;
  std::string path;
  const catalog::GridRegion* region = nullptr;
  const catalog::CoolingMethod* cooling = nullptr;
  std::vector<FleetPower> fleets;
  Watts fleet_nameplate;
  Watts fabric;
  Watts storage;
  Watts it_nameplate;
  Watts it_mean;
  int racks = 0;
  facility::ChainResult chain;
  std::optional<facility::PueBreakdown> breakdown;  // none if the design gives the PUE
  facility::PueRange pue;
  facility::Hours hours;                        // empty if the site names none
  const catalog::SiteHours* weather = nullptr;  // the file of the hours
  // nameplate times PUE: what the power contract must cover
  Watts draw_peak;
  Watts draw_mean;
  std::optional<facility::SiteBudget>
      budget;                       // for the largest fleet, if the site's power is given
  design::FleetIndex budget_fleet;  // the fleet that `budget` is for
  std::optional<facility::CduPlan> cdu;
  facility::Footprint year;
  std::optional<facility::BuildSchedule> schedule;

  bool has_machines() const { return !fleets.empty(); }
  // Returns the fleet that the budget is for; the first one if there is no budget.
  const FleetPower& budgeted() const;
};

struct SiteContext {
  const machine::Machine& machine;
  const machine::Ledger& ledger;
  const std::vector<TrainView>& trains;
  // Views of a design with the same build schedule, which then need not be drawn again.
  const std::vector<SiteView>* earlier = nullptr;
};

// Returns the site's mean draw as a share of its nameplate.
inline double load_share(const SiteView& v) {
  return v.it_nameplate > Watts(0) ? std::min(1.0, v.it_mean / v.it_nameplate) : 1;
}

std::vector<SiteView> view_sites(const SiteContext& context);

}  // namespace orrery::review
