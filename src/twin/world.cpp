#include "twin/world.h"

#include <fmt/core.h>

#include "base/math.h"
#include "twin/host_lives.h"
#include "twin/train_process.h"

namespace orrery::twin {
namespace {

// The fleet's true rate over the published one: a split log-normal with p10 and p90 at its range.
double rate_factor(const machine::FailureSource& source, RandomStream random) {
  constexpr double kDeviationsToP90 = 1.2815515655446004;
  const double draw = random.normal() / kDeviationsToP90;
  const double bound = draw < 0 ? source.low : source.high;
  if (bound <= 0 || bound == 1) return 1;
  return math::exp(draw * (draw < 0 ? -math::log(bound) : math::log(bound)));
}

}  // namespace

World::World(const Scenario& scenario, std::uint64_t seed, bool is_first, Recorder* recorder)
    : scenario_(scenario),
      recorder_(recorder),
      kernel_(seed, recorder),
      sites_(scenario.machine->sites.size()) {
  if (recorder_) {
    for (const Word<Share>& w : words_of(Share{}).rows()) {
      share_columns_.push_back(recorder_->add_column(fmt::format("{}_accelerators", w.word)));
    }
    for (const machine::Site& s : scenario.machine->sites) {
      site_columns_.push_back(recorder_->add_column(fmt::format("{}_it_w", s.site->name)));
    }
  }
  std::vector<double> factors;
  fleets_.reserve(scenario.fleets.size());
  for (const FleetPart& part : scenario.fleets) {
    const std::size_t f = fleets_.size();
    fleets_.emplace_back(part);
    desks_.emplace_back(part.hosts);
    factors.push_back(is_first ? 1
                               : rate_factor(*part.failures,
                                             kernel_.stream("failure/rate/" + std::to_string(f))));
    const double all = part.all_hosts() * static_cast<double>(part.accelerators_per_host);
    if (recorder_) recorder_->change(kernel_.now(), share_columns_.back(), all);
    const Watts idle = part.host_power.idle * part.all_hosts();
    meter(part.site, idle, idle);
    fleets_[f].gpus.move(kernel_.now(), Cause::idle, Cause::reserve,
                         std::int64_t{part.spares} * part.accelerators_per_host);
  }
  lives_ = std::make_unique<HostLives>(*this, factors);
  for (std::size_t t = 0; t < scenario.trains.size(); ++t) {
    trains_.push_back(
        std::make_unique<TrainProcess>(*this, scenario.trains[t], static_cast<int>(t)));
  }
}

World::~World() = default;

bool World::run(const std::function<bool()>& on) {
  for (const auto& train : trains_) train->submit();
  const sim::SimTime end = sim::SimTime::from(scenario_.horizon);
  for (std::int64_t part = 1; part <= kParts; ++part) {
    if (on && !on()) return false;
    kernel_.run(sim::SimTime::nanoseconds(end.ns() / kParts * part));
  }
  kernel_.run(end);
  for (const auto& train : trains_) train->stop();
  for (FleetState& f : fleets_) f.gpus.settle(end);
  for (std::size_t s = 0; s < sites_.size(); ++s) meter(s, Watts(), Watts());
  return true;
}

void World::meter(std::size_t site, Watts delta, Watts highest_delta) {
  SiteMeter& m = sites_[site];
  m.energy += m.now * (kernel_.now() - m.settled).seconds();
  m.settled = kernel_.now();
  m.now += delta;
  m.highest_now += highest_delta;
  m.highest = max(m.highest, m.highest_now);
  if (recorder_ && delta != Watts())
    recorder_->change(kernel_.now(), site_columns_[site], delta.base());
}

void World::shift(std::size_t fleet, int hosts, const HostUse& from, const HostUse& to) {
  FleetState& f = fleets_[fleet];
  const std::int64_t gpus = std::int64_t{hosts} * f.part->accelerators_per_host;
  f.gpus.move(kernel_.now(), from.cause, to.cause, gpus);
  meter(f.part->site, (to.draw - from.draw) * hosts, (to.highest - from.highest) * hosts);
  if (recorder_ == nullptr) return;
  const auto column = [&](Cause c) {
    return share_columns_[static_cast<std::size_t>(share_of(c))];
  };
  // Steps are marked by their means (mark_steps).
  const auto count = static_cast<double>(gpus);
  if (from.cause != Cause::productive) recorder_->change(kernel_.now(), column(from.cause), -count);
  if (to.cause != Cause::productive) recorder_->change(kernel_.now(), column(to.cause), count);
}

void World::mark_steps(const std::array<double, kShares>& accelerators, double sign) {
  if (recorder_ == nullptr) return;
  for (std::size_t s = 0; s < kShares; ++s) {
    if (accelerators[s] != 0) {
      recorder_->change(kernel_.now(), share_columns_[s], sign * accelerators[s]);
    }
  }
}

HostUse World::resting(std::size_t fleet, Cause cause) const {
  const facility::NodePower& p = fleets_[fleet].part->host_power;
  const auto level = [&](double l) { return p.idle + (p.peak - p.idle) * l; };
  switch (cause) {
    case Cause::detect:
      // The other ranks spin in a collective that does not come.
      return {cause, level(facility::kCommunicationLevel), level(facility::kCommunicationLevel)};
    case Cause::restore:
      return {cause, level(facility::kCheckpointLevel), level(facility::kCheckpointLevel)};
    default:
      return {cause, p.idle, p.idle};
  }
}

void World::record_host(std::size_t fleet, int host) {
  if (recorder_ == nullptr) return;
  const HostPool& pool = fleets_[fleet].pool;
  recorder_->record_host({.at = kernel_.now(),
                          .fleet = static_cast<std::uint32_t>(fleet),
                          .host = static_cast<std::uint32_t>(host),
                          .state = pool.state(host),
                          .holder = pool.holder(host)});
}

void World::strike(std::size_t fleet, int host, const failure::FaultCause& cause) {
  FleetState& f = fleets_[fleet];
  if (f.pool.state(host) == HostState::repair) return;
  kernel_.trace(sim::TraceKind::instant, f.part->fleet->fleet->name, cause.name, host);
  const int holder = f.pool.holder(host);
  const bool takes_host = cause.scope == failure::FaultScope::host;
  if (holder >= 0) trains_[static_cast<std::size_t>(holder)]->on_fault(host, cause);
  if (!takes_host) return;
  const Cause before = f.pool.state(host) == HostState::reserve ? Cause::reserve : Cause::idle;
  // A job has put its own host aside already.
  shift(fleet, 1, resting(fleet, holder >= 0 ? Cause::idle : before),
        resting(fleet, Cause::repair));
  f.pool.break_down(host);
  record_host(fleet, host);
  lives_->send_to_repair(fleet, host);
  // Nobody's host: its health check says so at once.
  if (holder < 0) seen_down(fleet, host, {});
}

void World::corrupt(std::size_t fleet, int host) {
  const int holder = fleets_[fleet].pool.holder(host);
  if (holder >= 0) trains_[static_cast<std::size_t>(holder)]->on_corruption(host);
}

bool World::mend(std::size_t fleet, int host) {
  FleetState& f = fleets_[fleet];
  const RecoveryDesk::Call call = desks_[fleet].host_back(kernel_.now(), host);
  if (!call.lemons.empty()) {
    ++lemons_found_;
    kernel_.trace(sim::TraceKind::instant, f.part->fleet->fleet->name, kLemon, host);
    lives_->send_to_hands(fleet, host);
    return false;
  }
  f.pool.mend(host);
  record_host(fleet, host);
  const Cause after = f.pool.state(host) == HostState::reserve ? Cause::reserve : Cause::idle;
  shift(fleet, 1, resting(fleet, Cause::repair), resting(fleet, after));
  kernel_.trace(sim::TraceKind::instant, f.part->fleet->fleet->name, kHostRepaired, host);
  offer_hosts(fleet);
  return true;
}

void World::obey(std::size_t fleet, const RecoveryDesk::Call& call) {
  FleetState& f = fleets_[fleet];
  for (const int host : call.spares) {
    if (f.pool.state(host) != HostState::reserve) continue;
    f.pool.call_spare(host);
    record_host(fleet, host);
    shift(fleet, 1, resting(fleet, Cause::reserve), resting(fleet, Cause::idle));
  }
  if (!call.spares.empty()) offer_hosts(fleet);
}

void World::offer_hosts(std::size_t fleet) {
  for (const auto& train : trains_) {
    if (train->fleet() == fleet) train->on_hosts_free();
  }
}

void World::job_runs(std::size_t fleet, const std::string& job) {
  desks_[fleet].job_runs(kernel_.now(), job);
}

void World::seen_down(std::size_t fleet, int host, const std::string& job) {
  const int spare = fleets_[fleet].pool.first_in_reserve();
  obey(fleet, desks_[fleet].host_down(kernel_.now(), host, job, spare));
}

bool World::may_start(std::size_t fleet, const std::string& job) {
  return desks_[fleet].job_waits(kernel_.now(), job).is_released;
}

}  // namespace orrery::twin
