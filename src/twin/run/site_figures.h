// What a run says of a site: draw, PUE, energy, carbon; whether its feed carries the draw, and
// which caps would keep it; the lines that synchronous steps draw in it, and their cheapest cure.
#pragma once

#include "layers/facility/hours.h"
#include "model/figures/assumptions.h"
#include "twin/run/over_replications.h"

namespace orrery::run {

using figures::assumptions::kSwingShareMax;

// Adds the racks and power units of all fleets, and a section of each fleet with those that pass
// their limit.
void tell_racks(Run& run, const processes::Scenario& scenario, const Replication& first);

// 1, with the error of the draw that every replication meters.
Estimate power_model();

// Adds the site's section and energy to the run.
// PUE and carbon by the hour at the run's mean draw; empty where the site names no hours.
facility::Hours hours_of_run(const processes::Scenario& scenario, const OverReplications& over,
                             design::SiteIndex site);

void tell_site(Run& run, const processes::Scenario& scenario, const OverReplications& over,
               design::SiteIndex site);

}  // namespace orrery::run
