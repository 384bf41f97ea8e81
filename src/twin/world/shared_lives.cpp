#include "twin/world/shared_lives.h"

#include <algorithm>
#include <string>

#include "twin/world/host_lives.h"
#include "twin/world/world.h"

namespace orrery::world {
namespace {

failure::FaultCause cause_of(machine::SharedPart part) {
  return {.name = std::string(word_of(part)),
          .group = part == machine::SharedPart::leaf_switch ? failure::FaultGroup::network
                                                            : failure::FaultGroup::host,
          .scope = failure::FaultScope::host,
          .keeps_disk = true};
}

}  // namespace

SharedLives::SharedLives(World& world)
    : world_(world), faults_(words_of(machine::SharedPart{}).rows().size(), 0) {
  for (const design::FleetIndex f : world.fleets()) {
    const FleetPart& fleet = world.fleet(f).part();
    for (const machine::SharedFault& shared : fleet.failures->shared) {
      for (int first = 0; first < fleet.all_hosts(); first += shared.hosts) {
        parts_.push_back({.fleet = f,
                          .first = host_at(first),
                          .hosts = std::min(shared.hosts, fleet.all_hosts() - first),
                          .kind = shared.part,
                          .rate = shared.rate.base(),
                          .random = world.kernel().stream("failure/" + fleet.fleet->fleet->name +
                                                          "/" + std::string(word_of(shared.part)) +
                                                          "/" + std::to_string(first))});
        renew(parts_.size() - 1, world.kernel().now());
      }
    }
  }
}

SharedLives::~SharedLives() { world_.kernel().forget(*this); }

void SharedLives::renew(std::size_t part, sim::SimTime from) {
  const Seconds wait(parts_[part].random.exponential(1 / parts_[part].rate));
  if (from.seconds() + wait > world_.spec().horizon) return;
  world_.kernel().schedule(from.after(wait), sim::EventRank::finish, *this, 0, part);
}

void SharedLives::on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t data) {
  Part& part = parts_[data];
  ++faults_[static_cast<std::size_t>(part.kind)];
  const sim::SimTime until =
      kernel.now().after(Seconds(part.random.exponential(machine::kSharedRepair.base())));
  for (int h = 0; h < part.hosts; ++h) {
    world_.host_lives().hold(part.fleet, host_at(node_of(part.first) + h), until);
  }
  world_.faults().strike_group(part.fleet, part.first, part.hosts, cause_of(part.kind));
  renew(data, until);
}

}  // namespace orrery::world
