#include "twin/world/world.h"

#include <algorithm>
#include <string>

#include "core/base/math.h"
#include "model/figures/assumptions.h"
#include "twin/world/host_lives.h"
#include "twin/world/shared_lives.h"
#include "twin/world/site_lives.h"

namespace orrery::world {
namespace {

using figures::assumptions::kRankPeriod;

// Draws the ratio of the fleet's true rate to the published one: a split log-normal with p10 and
// p90 at its range.
double rate_factor(const machine::FailureSource& source, RandomStream random) {
  constexpr double kDeviationsToP90 = 1.2815515655446004;
  const double draw = random.normal() / kDeviationsToP90;
  const double bound = draw < 0 ? source.low : source.high;
  if (bound <= 0 || bound == 1) return 1;
  return math::exp(draw * (draw < 0 ? -math::log(bound) : math::log(bound)));
}

}  // namespace

World::World(const WorldSpec& spec, std::uint64_t seed, bool is_first, Recorder* recorder)
    : spec_(spec),
      kernel_(seed, recorder),
      recorder_(kernel_, recorder, *spec.machine),
      meters_(kernel_, recorder_, spec) {
  IndexedVector<design::FleetIndex, double> factors;
  for (const FleetPart& part : spec.fleets) {
    const design::FleetIndex f(fleets_.size());
    fleets_.push_back(std::make_unique<FleetState>(*this, f));
    const auto random = kernel_.stream("failure/rate/" + std::to_string(f.value()));
    factors.push_back(is_first ? 1 : rate_factor(*part.failures, random));
    recorder_.add_idle(part.all_hosts() * static_cast<double>(part.accelerators_per_host));
    const Watts idle = part.host_power.idle * part.all_hosts();
    meters_.change(part.site, idle, idle);
    fleets_[f]->slots().shift(std::int64_t{part.spares} * part.slots_per_host,
                              resting(part, Cause::idle), resting(part, Cause::reserve));
  }
  faults_ = std::make_unique<FaultBoard>(*this);
  host_lives_ = std::make_unique<HostLives>(*this, factors);
  shared_lives_ = std::make_unique<SharedLives>(*this);
  site_lives_ = std::make_unique<SiteLives>(*this);
}

World::~World() { kernel_.forget(*this); }

bool World::run(const std::function<bool()>& on) {
  if (spec_.machine->design().scheduler.fair_share) {
    kernel_.schedule(kernel_.now().after(kRankPeriod), sim::EventRank::control, *this);
  }
  for (const auto& process : processes_) process->begin();
  for (Activity* activity : activities_) activity->begin();
  const sim::SimTime end = sim::SimTime::from(spec_.horizon);
  for (std::int64_t part = 1; part <= kParts; ++part) {
    if (on && !on()) return false;
    kernel_.run(sim::SimTime::nanoseconds(end.ns() / kParts * part));
    check();
  }
  kernel_.run(end);
  for (const auto& process : processes_) process->close();
  for (Activity* activity : activities_) activity->close();
  for (const auto& f : fleets_) f->slots().settle(end);
  meters_.settle();
  check();
  return true;
}

// Checks that the slots that the books call free are those that the queues may assign.
void World::check() {
  for (const auto& f : fleets_) {
    const SlotBook& slots = f->slots();
    is_sound_ =
        is_sound_ && slots.ledger().is_sound() && slots.free() == f->queue().pool().free_gpus();
  }
}

void World::slots_came_free(design::SiteIndex site) {
  if (!meters_.has_rooms()) return;
  for (const auto& f : fleets_) {
    if (f->part().site == site) f->queue().look_again();
  }
}

// Ranks the fair shares again.
void World::on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t) {
  for (const auto& f : fleets_) f->rank_users();
  kernel.schedule(kernel.now().after(kRankPeriod), sim::EventRank::control, *this);
}

}  // namespace orrery::world
