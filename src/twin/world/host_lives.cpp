#include "twin/world/host_lives.h"

#include <algorithm>
#include <string>
#include <utility>

#include "layers/failure/lifetime.h"
#include "twin/world/world.h"

namespace orrery::world {
std::vector<std::string> fault_names(const std::vector<failure::FaultCause>& causes) {
  std::vector<std::string> names;
  for (const failure::FaultCause& c : causes) names.push_back(c.name);
  names.emplace_back("spot host taken back");
  names.emplace_back(kLinkFault);
  names.emplace_back(kStormFault);
  for (const auto& w : words_of(machine::SharedPart{}).rows()) names.emplace_back(w.word);
  names.emplace_back("utility outage");
  return names;
}

HostLives::HostLives(World& world,
                     const IndexedVector<design::FleetIndex, double>& rate_factors)
    : world_(world), faults_(world.spec().machine->models().fault_causes.size() + 3, 0) {
  const sim::Kernel& kernel = world.kernel();
  for (const design::FleetIndex f : world.fleets()) {
    const FleetPart& part = world.fleet(f).part();
    spot_rate_.push_back(part.failures->spot.base());
    link_rate_.push_back(part.failures->links.base());
    storm_rate_.push_back(part.failures->storms.base());
    IndexedVector<HostIndex, Host>& hosts = hosts_[hosts_.push_back({})];
    for (int h = 0; h < part.all_hosts(); ++h) {
      const std::string name = "failure/" + part.fleet->fleet->name + "/" + std::to_string(h);
      Host host{.random = kernel.stream(name), .base_rate = part.failures->base.base()};
      host.base_rate *= rate_factors[f];
      host.common_rate = host.base_rate;
      if (host.random.uniform() < part.lemons.share) host.base_rate *= part.lemons.multiplier;
      world.fleet(f).set_slow(host_at(h), host.random.uniform() < part.straggler_share);
      renew(f, hosts.push_back(host));
    }
  }
}

HostLives::~HostLives() { world_.kernel().forget(*this); }

// At shape 1, the first of two exponential times is exponential with the sum of their rates.
Seconds HostLives::next_fault(Host& h, design::FleetIndex fleet) {
  const double shape = world_.fleet(fleet).part().failures->shape;
  h.is_lone = false;
  const double lone = lone_rate(fleet);
  if (shape == 1 || h.base_rate <= 0)
    return Seconds(h.random.exponential(1 / (h.base_rate + lone)));
  const failure::Weibull life = failure::life_of(shape, Seconds(1 / h.base_rate));
  const Seconds own = failure::life_at(life, h.random.uniform());
  if (lone <= 0) return own;
  const Seconds other(h.random.exponential(1 / lone));
  h.is_lone = other < own;
  return min(own, other);
}

void HostLives::renew(design::FleetIndex fleet, HostIndex number) {
  Host& h = host(fleet, number);
  if (h.is_silent || h.base_rate + lone_rate(fleet) <= 0) return;
  const Seconds wait = next_fault(h, fleet);
  const sim::Kernel& kernel = world_.kernel();
  // An event after the end of the run need not be queued.
  if (kernel.now().seconds() + wait > world_.spec().horizon) return;
  h.next = after(wait, kFault, fleet, number);
}

sim::TimerId HostLives::after(Seconds wait, Kind kind, design::FleetIndex fleet, HostIndex number) {
  sim::Kernel& kernel = world_.kernel();
  return kernel.schedule(kernel.now().after(wait), sim::EventRank::finish, *this, kind,
                         HostOfFleet{fleet, number}.packed());
}

void HostLives::hold(design::FleetIndex fleet, HostIndex number, sim::SimTime until) {
  Host& h = host(fleet, number);
  h.held_until = std::max(h.held_until, until);
  const HostState state = world_.fleet(fleet).state(number);
  h.is_held = state == HostState::in_service || state == HostState::reserve;
  if (h.is_held && !h.is_silent) world_.kernel().cancel(h.next);
}

void HostLives::on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) {
  const auto [fleet, number] = HostOfFleet::from(data);
  if (kind == kFault) return fail(fleet, number);
  if (kind == kFound) return find(fleet, number);
  const sim::SimTime held = host(fleet, number).held_until;
  if (held > kernel.now()) {
    after((held - kernel.now()).seconds(), kMended, fleet, number);
    return;
  }
  if (world_.faults().mend(fleet, number)) renew(fleet, number);
}

const failure::FaultCause& HostLives::draw_cause(Host& h, design::FleetIndex fleet) {
  const auto& causes = world_.spec().machine->models().fault_causes;
  const bool is_mixed = world_.fleet(fleet).part().failures->shape == 1;
  // Decides whether the next fault comes from the spot market, a link, or the host itself.
  const double all = (is_mixed ? h.base_rate : 0) + lone_rate(fleet);
  const bool may_be_lone = is_mixed || h.is_lone;
  const double spot_share = may_be_lone ? spot_rate_[fleet] / all : 0;
  const double link_share = may_be_lone ? spot_share + link_rate_[fleet] / all : 0;
  const double lone_share = may_be_lone ? link_share + storm_rate_[fleet] / all : 0;
  const double draw = h.random.uniform();
  if (draw < spot_share || causes.empty()) {
    ++faults_[causes.size()];
    return world_.fleet(fleet).part().taken_back;
  }
  if (draw < lone_share || h.is_lone) {
    const bool is_link = draw < link_share || storm_rate_[fleet] <= 0;
    ++faults_[causes.size() + (is_link ? 1 : 2)];
    return is_link ? link_ : storm_;
  }
  const failure::FaultCause& cause = cause_at(causes, (draw - lone_share) / (1 - lone_share),
                                              world_.fleet(fleet).part().accelerators_per_host > 0);
  for (std::size_t c = 0; c < causes.size(); ++c) faults_[c] += &causes[c] == &cause ? 1 : 0;
  return cause;
}

void HostLives::fail(design::FleetIndex fleet, HostIndex number) {
  Host& h = host(fleet, number);
  const failure::FaultCause& cause = draw_cause(h, fleet);
  if (cause.sight == failure::FaultSight::silent) {
    ++silent_;
    h.is_silent = true;
    world_.faults().corrupt(fleet, number);
    h.next = after(Seconds(h.random.exponential(kSilentMean.base())), kFound, fleet, number);
    return;
  }
  if (&cause == &storm_) world_.faults().pause_network(fleet, number, h.random);
  world_.faults().strike(fleet, number, cause, h.random.uniform());
  if (cause.scope == failure::FaultScope::process) renew(fleet, number);
}

// If a shared part took the host down in the meantime, it is examined then.
void HostLives::find(design::FleetIndex fleet, HostIndex number) {
  --silent_;
  host(fleet, number).is_silent = false;
  for (const failure::FaultCause& cause : world_.spec().machine->models().fault_causes) {
    if (cause.sight == failure::FaultSight::silent)
      return world_.faults().strike(fleet, number, cause, 0);
  }
}

void HostLives::send_to_repair(design::FleetIndex fleet, HostIndex number) {
  const FleetPart& part = world_.fleet(fleet).part();
  Host& h = host(fleet, number);
  Seconds span = part.repair.reset;
  if (std::exchange(h.is_held, false)) {
    span = Seconds(0);  // the host itself is not faulty
  } else if (part.fleet->rented()) {
    span = kProviderSwap;
  } else if (part.repair_given) {
    span = Seconds(h.random.exponential(part.repair_given->base()));
  } else if (h.random.uniform() < part.repair.hands_share) {
    span += part.repair.hands;
  }
  after(span, kMended, fleet, number);
}

void HostLives::send_to_hands(design::FleetIndex fleet, HostIndex number) {
  const FleetPart& part = world_.fleet(fleet).part();
  host(fleet, number).base_rate = host(fleet, number).common_rate;
  after(part.fleet->rented() ? kProviderSwap : part.repair.hands, kMended, fleet, number);
}

}  // namespace orrery::world
