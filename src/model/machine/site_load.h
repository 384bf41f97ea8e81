// What draws power at a site besides hosts: switches and storage, which draw the same all day, and
// the power that chain and cooling are sized for; and work that waits for clean hours.
#pragma once

#include <optional>

#include "layers/facility/clean_hours.h"
#include "layers/facility/cooling_loop.h"
#include "layers/facility/site_power.h"
#include "model/figures/assumptions.h"
#include "model/machine/machine.h"

namespace orrery::machine {

struct SiteLoad {
  const Site* site = nullptr;
  Watts hosts_nameplate;  // of owned fleets
  Watts constant;         // networks and storage
  std::string climate;

  // Returns the site's power chain and cooling plant at a mean IT draw.
  facility::SitePowerRequest request(Watts it_mean) const;
};

SiteLoad load_of(const Machine& machine, design::SiteIndex site);

using figures::assumptions::kGridSpread;
using figures::assumptions::kMeanPowerSpread;
using figures::assumptions::kOutageLength;

// Returns the cooling plant for that much heat, as the design gives it or by default.
facility::CoolingPlant cooling_plant(const design::Site& site, Watts heat);

// A workload that waits for clean hours: its rule, and the hourly carbon intensity of its site's
// grid.
struct CleanWork {
  facility::CleanRule rule;
  facility::HourCurve grid;
};

// Returns nothing if the workload does not wait, or the hours are unknown.
std::optional<CleanWork> clean_work(const Machine& machine, const design::Workload& workload);

}  // namespace orrery::machine
