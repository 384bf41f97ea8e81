// Events of a site: the utility fails, cooling units fail, an hour is hot.
//
// Batteries and generators bridge an outage (exponential, `outage_mtbf` and `outage`;
// facility/ride_through.h). If they do not last, all owned hosts of the site stop at once, are
// `without power` and come back together. The cooling stops until a generator or the utility
// carries it. Cooling units also fail (`cooling_unit_mtbf`). If the plant removes less heat than
// the hosts draw, the loop warms (facility/cooling_loop.h), and beyond its margin the training runs
// of the site are slowed to what the plant can remove: `throttled by heat`. The loop is evaluated
// when something changes, when it would reach its margin or its set point, every hour if the
// weather matters, and every kLookAgain while the plant is short. Wrong if services, batches and
// streams would be slowed too; a run that is slowed is metered at its full draw.
#pragma once

#include <vector>

#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "layers/facility/cooling_loop.h"
#include "layers/facility/ride_through.h"
#include "layers/failure/causes.h"
#include "twin/world/world_spec.h"

namespace orrery::world {

class World;

inline constexpr Seconds kLookAgain = minutes(5);

// What happened at one site in one replication.
struct SiteStory {
  std::uint64_t outages = 0;
  std::uint64_t blackouts = 0;  // outages that stopped the hosts
  std::int64_t dark_ns = 0;
  std::uint64_t units_lost = 0;  // cooling units that failed
  std::int64_t throttled_ns = 0;
  double warmest_k = 0;  // highest rise above the set point
};

class SiteLives final : public sim::EventHandler {
 public:
  explicit SiteLives(World& world);
  ~SiteLives();
  SiteLives(const SiteLives&) = delete;
  SiteLives& operator=(const SiteLives&) = delete;

  bool is_dark(design::SiteIndex site) const { return sites_[site].is_dark; }
  // Returns the share of a run's step time that heat takes on this fleet.
  double lost_to_heat(design::FleetIndex fleet) const;
  IndexedVector<design::SiteIndex, SiteStory> stories() const;

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kOutage, kDark, kLit, kCooled, kUnitLost, kUnitBack, kLook };
  struct Site {
    const design::Site* wanted = nullptr;
    const catalog::SiteHours* hours = nullptr;
    Watts nameplate;  // of all IT
    Watts constant;
    facility::CoolingPlant plant;
    facility::CoolingLoop loop{facility::CoolingPlant{}};
    RandomStream power;
    RandomStream cooling;
    facility::Outage outage;
    bool is_dark = false;
    bool is_uncooled = false;
    int units_out = 0;
    // share of the draw that the cooling carries while runs are throttled; 1: they are not
    double carried = 1;
    sim::SimTime since;  // when it lost power
    sim::SimTime since_throttled;
    sim::TimerId look;
    SiteStory story;
  };

  Site made_of(design::SiteIndex number);
  void after(Seconds wait, Kind kind, design::SiteIndex site);
  void fail_utility(design::SiteIndex number);
  void darken(design::SiteIndex number);
  void look(design::SiteIndex number);
  void throttle(design::SiteIndex number, double carried);
  Seconds next_look(const Site& site, Watts load, Watts carried) const;
  double dry_c(const Site& site) const;
  bool has_weather(const Site& site) const;

  World& world_;
  IndexedVector<design::SiteIndex, Site> sites_;
  failure::FaultCause outage_{.name = "utility outage",
                              .group = failure::FaultGroup::host,
                              .scope = failure::FaultScope::host,
                              .sight = failure::FaultSight::at_once};
};

}  // namespace orrery::world
