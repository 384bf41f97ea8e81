// The power of every site: what its hosts draw now, the energy so far, and what jobs may still
// draw.
//
// A change of draw is metered when it happens, so energy is exact: power x time between changes.
// The highest draw is what the site would draw if all hosts that step were in their highest phase
// at once. With a power-aware scheduler each site has a room (facility/power_admission.h); a site
// whose feed or PUE is unknown admits every job.
#pragma once

#include <vector>

#include "core/sim/kernel.h"
#include "layers/facility/power_admission.h"
#include "twin/world/run_recorder.h"
#include "twin/world/world_spec.h"

namespace orrery::world {

struct SiteMeter {
  Watts now;
  Watts highest_now;  // if all hosts that step were in their highest phase
  Watts highest;      // largest value of highest_now so far
  Joules energy;
  std::vector<Joules> by_hour;  // energy of the run; empty if the site names no hours
  sim::SimTime settled;

  // Adds the energy of the present draw up to `until`, to each hour that it falls into.
  void settle(sim::SimTime until);
};

class PowerMeters {
 public:
  // The arguments must outlive the meters.
  PowerMeters(const sim::Kernel& kernel, RunRecorder& recorder, const WorldSpec& spec);

  const SiteMeter& site(design::SiteIndex s) const { return sites_[s]; }
  // Changes the site's draw from now on.
  void change(design::SiteIndex site, Watts delta, Watts highest_delta);
  // Adds the energy up to now to every site.
  void settle();

  bool has_rooms() const { return !rooms_.empty(); }
  // Returns what jobs may draw at the site; null unless the scheduler is power-aware.
  facility::PowerRoom* room(design::SiteIndex s) { return rooms_.empty() ? nullptr : &rooms_[s]; }

 private:
  void measure_rooms(const WorldSpec& spec);

  const sim::Kernel& kernel_;
  RunRecorder& recorder_;
  IndexedVector<design::SiteIndex, SiteMeter> sites_;
  IndexedVector<design::SiteIndex, facility::PowerRoom> rooms_;
};

}  // namespace orrery::world
