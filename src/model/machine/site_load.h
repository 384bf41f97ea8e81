// What draws power at a site besides the hosts in time: switches and storage, which draw the same
// all day, and what chain and cooling are sized for; and work that waits for its clean hours.
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

  // The site's chain and plant at a mean IT draw.
  facility::SitePowerRequest request(Watts it_mean) const;
};

SiteLoad load_of(const Machine& machine, design::SiteIndex site);

using figures::assumptions::kGridSpread;
using figures::assumptions::kMeanPowerSpread;
using figures::assumptions::kOutageLength;

// What carries the heat of so much IT, as the design has it or by default.
facility::CoolingPlant cooling_plant(const design::Site& site, Watts heat);

// A workload that waits for clean hours: its rule, and what the grid of its site emits by the hour.
struct CleanWork {
  facility::CleanRule rule;
  facility::HourCurve grid;
};

// None where it does not wait, or nothing is known of the hours.
std::optional<CleanWork> clean_work(const Machine& machine, const design::Workload& workload);

}  // namespace orrery::machine
