#include "twin/host_lives.h"

#include <string>

#include "twin/world.h"

namespace orrery::twin {
namespace {

constexpr std::uint64_t kHostBits = 32;

std::uint64_t packed(std::size_t fleet, int host) {
  return static_cast<std::uint64_t>(fleet) << kHostBits | static_cast<std::uint64_t>(host);
}

}  // namespace

HostLives::HostLives(World& world, const std::vector<double>& rate_factors)
    : world_(world), faults_(world.scenario().machine->models().fault_causes.size() + 1, 0) {
  const sim::Kernel& kernel = world.kernel();
  for (std::size_t f = 0; f < world.fleets(); ++f) {
    const FleetPart& part = world.fleet(f).part();
    spot_rate_.push_back(part.failures->spot.base());
    std::vector<Host>& hosts = hosts_.emplace_back();
    for (int h = 0; h < part.all_hosts(); ++h) {
      const std::string name = "failure/" + part.fleet->fleet->name + "/" + std::to_string(h);
      Host host{.random = kernel.stream(name), .base_rate = part.failures->base.base()};
      host.base_rate *= rate_factors[f];
      host.common_rate = host.base_rate;
      if (host.random.uniform() < part.lemons.share) host.base_rate *= part.lemons.multiplier;
      world.fleet(f).slow[static_cast<std::size_t>(h)] =
          host.random.uniform() < part.straggler_share;
      hosts.push_back(host);
      renew(f, h);
    }
  }
}

HostLives::~HostLives() { world_.kernel().forget(*this); }

void HostLives::renew(std::size_t fleet, int number) {
  Host& h = host(fleet, number);
  const double rate = h.base_rate + spot_rate_[fleet];
  if (rate <= 0) return;
  const Seconds wait(h.random.exponential(1 / rate));
  const sim::Kernel& kernel = world_.kernel();
  // What lies beyond the run's end need not wait in the queue.
  if (kernel.now().seconds() + wait > world_.scenario().horizon) return;
  after(wait, kFault, fleet, number);
}

void HostLives::after(Seconds wait, Kind kind, std::size_t fleet, int number) {
  sim::Kernel& kernel = world_.kernel();
  kernel.schedule(kernel.now().after(wait), sim::EventRank::finish, *this, kind,
                  packed(fleet, number));
}

void HostLives::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  const auto fleet = static_cast<std::size_t>(data >> kHostBits);
  const auto number = static_cast<int>(data & 0xffffffff);
  if (kind == kFault) return fail(fleet, number);
  if (kind == kFound) return find(fleet, number);
  if (world_.mend(fleet, number)) renew(fleet, number);
}

const failure::FaultCause& HostLives::draw_cause(Host& h, std::size_t fleet) {
  const double spot_share = spot_rate_[fleet] / (h.base_rate + spot_rate_[fleet]);
  const double draw = h.random.uniform();
  const auto& causes = world_.scenario().machine->models().fault_causes;
  const bool is_spot = draw < spot_share || causes.empty();
  const failure::FaultCause& cause = is_spot
                                         ? world_.fleet(fleet).part().taken_back
                                         : cause_at(causes, (draw - spot_share) / (1 - spot_share));
  ++faults_[is_spot ? causes.size() : static_cast<std::size_t>(&cause - causes.data())];
  return cause;
}

void HostLives::fail(std::size_t fleet, int number) {
  Host& h = host(fleet, number);
  const failure::FaultCause& cause = draw_cause(h, fleet);
  if (cause.sight == failure::FaultSight::silent) {
    ++silent_;
    world_.corrupt(fleet, number);
    after(Seconds(h.random.exponential(kSilentMean.base())), kFound, fleet, number);
    return;
  }
  world_.strike(fleet, number, cause, h.random.uniform());
  if (cause.scope == failure::FaultScope::process) renew(fleet, number);
}

void HostLives::find(std::size_t fleet, int number) {
  --silent_;
  for (const failure::FaultCause& cause : world_.scenario().machine->models().fault_causes) {
    if (cause.sight == failure::FaultSight::silent) return world_.strike(fleet, number, cause, 0);
  }
}

void HostLives::send_to_repair(std::size_t fleet, int number) {
  const FleetPart& part = world_.fleet(fleet).part();
  Host& h = host(fleet, number);
  Seconds span = part.repair.reset;
  if (part.fleet->rented()) {
    span = kProviderSwap;
  } else if (part.repair_given) {
    span = Seconds(h.random.exponential(part.repair_given->base()));
  } else if (h.random.uniform() < part.repair.hands_share) {
    span += part.repair.hands;
  }
  after(span, kMended, fleet, number);
}

void HostLives::send_to_hands(std::size_t fleet, int number) {
  const FleetPart& part = world_.fleet(fleet).part();
  host(fleet, number).base_rate = host(fleet, number).common_rate;
  after(part.fleet->rented() ? kProviderSwap : part.repair.hands, kMended, fleet, number);
}

}  // namespace orrery::twin
