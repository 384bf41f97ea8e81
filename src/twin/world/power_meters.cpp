#include "twin/world/power_meters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/machine/site_load.h"

namespace orrery::world {
namespace {

constexpr std::int64_t kHourNs = 3'600'000'000'000;

}  // namespace

void SiteMeter::settle(sim::SimTime until) {
  energy += now * (until - settled).seconds();
  while (!by_hour.empty() && settled < until) {
    const std::size_t hour = static_cast<std::size_t>(settled.ns() / kHourNs);
    const auto end = sim::SimTime::nanoseconds(static_cast<std::int64_t>(hour + 1) * kHourNs);
    const sim::SimTime to = std::min(until, end);
    by_hour[std::min(hour, by_hour.size() - 1)] += now * (to - settled).seconds();
    settled = to;
  }
  settled = until;
}

PowerMeters::PowerMeters(const sim::Kernel& kernel, RunRecorder& recorder, const WorldSpec& spec)
    : kernel_(kernel), recorder_(recorder), sites_(spec.machine->sites.size()) {
  for (const design::SiteIndex s : sites_.indices()) {
    if (spec.machine->sites[s].hours == nullptr) continue;
    sites_[s].by_hour.resize(static_cast<std::size_t>(std::ceil(spec.horizon / hours(1))));
  }
  if (spec.machine->design().scheduler.power_aware) measure_rooms(spec);
}

void PowerMeters::measure_rooms(const WorldSpec& spec) {
  const machine::Machine& m = *spec.machine;
  for (const design::SiteIndex s : m.sites.indices()) {
    const machine::SiteLoad load = machine::load_of(m, s);
    facility::PowerRoom room{.feed = Watts(std::numeric_limits<double>::infinity())};
    const auto power = site_power(m.catalog(), load.request(load.hosts_nameplate + load.constant));
    if (m.sites[s].site->power && power) {
      room = {.feed = *m.sites[s].site->power,
              .pue = power->pue.middle,
              .always = load.constant};
    }
    for (const FleetPart& part : spec.fleets) {
      if (part.site == s && !part.fleet->rented()) {
        room.always += part.host_power.idle * part.all_hosts();
      }
    }
    rooms_.push_back(room);
  }
}

void PowerMeters::change(design::SiteIndex site, Watts delta, Watts highest_delta) {
  SiteMeter& m = sites_[site];
  m.settle(kernel_.now());
  m.now += delta;
  m.highest_now += highest_delta;
  m.highest = max(m.highest, m.highest_now);
  recorder_.change_watts(site, delta);
}

void PowerMeters::settle() {
  for (SiteMeter& m : sites_) m.settle(kernel_.now());
}

}  // namespace orrery::world
