#include "twin/world/site_lives.h"

#include <algorithm>
#include <cmath>

#include "layers/facility/power_cap.h"
#include "model/machine/site_load.h"
#include "twin/world/host_lives.h"
#include "twin/world/world.h"

namespace orrery::world {

SiteLives::SiteLives(World& world) : world_(world) {
  for (const design::SiteIndex s : world.spec().machine->sites.indices()) {
    sites_.push_back(made_of(s));
  }
  for (const design::SiteIndex s : sites_.indices()) {
    Site& site = sites_[s];
    const design::Site& wanted = *site.wanted;
    if (wanted.outage_mtbf) {
      after(Seconds(site.power.exponential(wanted.outage_mtbf->base())), kOutage, s);
    }
    if (wanted.cooling_unit_mtbf) {
      for (int u = 0; u < site.plant.installed(); ++u) {
        after(Seconds(site.cooling.exponential(wanted.cooling_unit_mtbf->base())), kUnitLost, s);
      }
    }
    if (has_weather(site)) after(Seconds(0), kLook, s);
  }
}

SiteLives::~SiteLives() { world_.kernel().forget(*this); }

SiteLives::Site SiteLives::made_of(design::SiteIndex number) {
  const machine::Machine& m = *world_.spec().machine;
  const machine::SiteLoad load = machine::load_of(m, number);
  const design::Site& wanted = *m.sites[number].site;
  const std::string name = "facility/" + wanted.name;
  Site site{.wanted = &wanted,
            .hours = m.sites[number].hours,
            .nameplate = load.hosts_nameplate + load.constant,
            .constant = load.constant,
            .plant = machine::cooling_plant(wanted, load.hosts_nameplate + load.constant),
            .power = world_.kernel().stream(name + "/outage"),
            .cooling = world_.kernel().stream(name + "/cooling")};
  site.loop = facility::CoolingLoop(site.plant);
  return site;
}

void SiteLives::after(Seconds wait, Kind kind, design::SiteIndex site) {
  sim::Kernel& kernel = world_.kernel();
  if (kernel.now().seconds() + wait > world_.spec().horizon) return;
  const sim::TimerId timer =
      kernel.schedule(kernel.now().after(wait), sim::EventRank::finish, *this, kind,
                      site.value());
  if (kind == kLook) sites_[site].look = timer;
}

bool SiteLives::has_weather(const Site& site) const {
  return site.wanted->cooling_design && site.hours != nullptr && !site.hours->dry_c.empty();
}

double SiteLives::dry_c(const Site& site) const {
  if (!has_weather(site)) return site.plant.design_c;
  const auto hour = static_cast<std::size_t>(world_.kernel().now().seconds() / hours(1));
  return site.hours->dry_c[hour % site.hours->dry_c.size()];
}

void SiteLives::on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) {
  const design::SiteIndex number(data);
  Site& site = sites_[number];
  switch (kind) {
    case kOutage:
      return fail_utility(number);
    case kDark:
      return darken(number);
    case kLit:
      site.is_dark = false;
      site.story.dark_ns += (kernel.now() - site.since).ns();
      return;
    case kCooled:
      site.is_uncooled = false;
      return look(number);
    case kUnitLost:
      ++site.story.units_lost;
      ++site.units_out;
      after(Seconds(site.cooling.exponential(facility::kCoolingRepair.base())), kUnitBack, number);
      return look(number);
    case kUnitBack:
      --site.units_out;
      after(Seconds(site.cooling.exponential(site.wanted->cooling_unit_mtbf->base())), kUnitLost,
            number);
      return look(number);
    default:
      return look(number);
  }
}

void SiteLives::fail_utility(design::SiteIndex number) {
  Site& site = sites_[number];
  const Seconds mean = site.wanted->outage.value_or(machine::kOutageLength);
  const Seconds length(site.power.exponential(mean.base()));
  const double share = (world_.meters().site(number).now + site.constant) / site.nameplate;
  site.outage = facility::live_through({site.wanted->battery, site.wanted->generator}, length,
                                       std::min(1.0, share));
  ++site.story.outages;
  world_.kernel().trace(sim::TraceKind::instant, site.wanted->name, outage_.name, kNoHostValue);
  if (site.outage.takes_hosts()) {
    after(site.outage.dark_from, kDark, number);
    after(site.outage.dark_to, kLit, number);
  }
  site.is_uncooled = true;
  after(site.outage.cooled_from, kCooled, number);
  after(length + Seconds(site.power.exponential(site.wanted->outage_mtbf->base())), kOutage,
        number);
  look(number);
}

void SiteLives::darken(design::SiteIndex number) {
  Site& site = sites_[number];
  sim::Kernel& kernel = world_.kernel();
  ++site.story.blackouts;
  site.is_dark = true;
  site.since = kernel.now();
  const sim::SimTime until = kernel.now().after(site.outage.dark_to - site.outage.dark_from);
  for (const design::FleetIndex f : world_.fleets()) {
    const FleetPart& part = world_.fleet(f).part();
    if (part.site != number || part.fleet->rented()) continue;
    for (int h = 0; h < part.all_hosts(); ++h) {
      world_.host_lives().hold(f, host_at(h), until);
    }
    world_.faults().strike_group(f, host_at(0), part.all_hosts(), outage_);
  }
}

void SiteLives::look(design::SiteIndex number) {
  Site& site = sites_[number];
  const Seconds now = world_.kernel().now().seconds();
  world_.kernel().cancel(site.look);
  const Watts load = world_.meters().site(number).now + site.constant;
  const Watts carried =
      site.is_uncooled ? Watts(0) : site.plant.carries(site.units_out, dry_c(site));
  site.loop.set(now, load, carried);
  const bool is_hot = site.loop.is_hot(now) && load > carried;
  throttle(number, is_hot ? carried / load : 1);
  const Seconds wait = next_look(site, load, carried);
  if (std::isfinite(wait.base())) after(wait, kLook, number);
}

Seconds SiteLives::next_look(const Site& site, Watts load, Watts carried) const {
  const Seconds now = world_.kernel().now().seconds();
  Seconds wait = site.loop.next_turn(now);
  // Slightly late, because a nanosecond early would be too soon.
  if (std::isfinite(wait.base())) wait += milliseconds(1);
  if (load > carried || carried < site.nameplate) wait = min(wait, kLookAgain);
  if (has_weather(site)) {
    wait = min(wait, hours(std::floor(now / hours(1)) + 1) - now + milliseconds(1));
  }
  return wait;
}

double SiteLives::lost_to_heat(design::FleetIndex fleet) const {
  const FleetPart& part = world_.fleet(fleet).part();
  const double carried = sites_[part.site].carried;
  if (carried >= 1 || part.fleet->rented()) return 0;
  const double cap = facility::accelerator_cap(part.host_power, part.host_power.peak * carried);
  // Below the lowest cap at which accelerators work, the hosts stop.
  if (cap < facility::kLowestCap) return 1;
  return 1 - facility::capped_speed(cap, facility::Boundness::compute);
}

void SiteLives::throttle(design::SiteIndex number, double carried) {
  Site& site = sites_[number];
  if (carried == site.carried) return;
  const sim::SimTime now = world_.kernel().now();
  if (site.carried < 1) site.story.throttled_ns += (now - site.since_throttled).ns();
  site.since_throttled = now;
  site.carried = carried;
  for (const auto& process : world_.processes()) {
    const design::FleetIndex fleet = process->fleet_number();
    if (world_.fleet(fleet).part().site != number) continue;
    process->set_back(Cause::heat, kStays, lost_to_heat(fleet));
  }
}

IndexedVector<design::SiteIndex, SiteStory> SiteLives::stories() const {
  IndexedVector<design::SiteIndex, SiteStory> all;
  const sim::SimTime now = world_.kernel().now();
  for (const Site& site : sites_) {
    SiteStory story = site.story;
    if (site.carried < 1) story.throttled_ns += (now - site.since_throttled).ns();
    if (site.is_dark) story.dark_ns += (now - site.since).ns();
    story.warmest_k = std::max(site.loop.warmest_k(), site.loop.warmer_k(now.seconds()));
    all.push_back(story);
  }
  return all;
}

}  // namespace orrery::world
