// What a run reports on a site: draw, PUE, energy, carbon; whether its feed carries the draw, and
// which caps would help; the spectral lines of synchronous steps, and their cheapest cure.
#pragma once

#include "layers/facility/hours.h"
#include "model/figures/assumptions.h"
#include "twin/run/over_replications.h"

namespace orrery::run {

using figures::assumptions::kSwingShareMax;

// Adds the racks and power units of all fleets, and for each fleet a section on those that exceed
// their limit.
void tell_racks(Run& run, const processes::Scenario& scenario, const Replication& first);

// Returns 1, with the error of the draw that every replication meters.
Estimate power_model();

// Adds the site's section and energy to the run.
// Returns PUE and carbon by the hour at the run's mean draw; empty if the site names no hours.
facility::Hours hours_of_run(const processes::Scenario& scenario, const OverReplications& over,
                             design::SiteIndex site);

void tell_site(Run& run, const processes::Scenario& scenario, const OverReplications& over,
               design::SiteIndex site);

}  // namespace orrery::run
