#include "twin/world/fault_board.h"

#include <algorithm>

#include "core/base/math.h"
#include "twin/world/host_lives.h"
#include "twin/world/site_lives.h"
#include "twin/world/world.h"

namespace orrery::world {

FaultBoard::FaultBoard(World& world) : world_(world), unseen_(world.spec().fleets.size()) {
  for (const FleetPart& part : world.spec().fleets) {
    desks_.push_back(failure::RecoveryDesk(part.hosts));
  }
}

FaultBoard::~FaultBoard() { world_.kernel().forget(*this); }

void FaultBoard::see_after(Seconds wait, design::FleetIndex fleet, HostIndex host) {
  sim::Kernel& kernel = world_.kernel();
  kernel.schedule(kernel.now().after(wait), sim::EventRank::finish, *this, 0,
                  HostOfFleet{fleet, host}.packed());
}

void FaultBoard::on_event(sim::Kernel&, std::uint32_t, std::uint64_t data) {
  const HostOfFleet which = HostOfFleet::from(data);
  if (world_.fleet(which.fleet).state(which.host) == HostState::struck) {
    see(which.fleet, which.host);
  }
}

void FaultBoard::mark_struck(design::FleetIndex fleet, HostIndex host) {
  FleetState& f = world_.fleet(fleet);
  if (f.state(host) != HostState::in_service) return;
  f.set_state(host, HostState::struck);
  unseen_[fleet].push_back(host);
}

std::vector<JobTag> FaultBoard::tags_hit(FleetState& f, HostIndex host,
                                         const failure::FaultCause& cause, double where) {
  f.queue().jobs_on(node_of(host), there_);
  const bool takes_host = cause.scope == failure::FaultScope::host;
  std::vector<JobTag> tags;
  double slot = where * f.part().slots_per_host;
  for (const cluster::JobIndex job : there_) {
    if (takes_host) tags.push_back(JobTag::from(f.queue().tag(job)));
    if (takes_host || slot < 0) continue;
    for (const cluster::NodeShare& share : f.queue().job(job).shares) {
      if (share.node == node_of(host)) slot -= share.gpus;
    }
    // the slot belonged to this process
    if (slot < 0) tags.push_back(JobTag::from(f.queue().tag(job)));
  }
  return tags;
}

void FaultBoard::strike(design::FleetIndex fleet, HostIndex host, const failure::FaultCause& cause,
                        double where) {
  FleetState& f = world_.fleet(fleet);
  ++faults_;
  if (f.is_away(host)) return;
  world_.kernel().trace(sim::TraceKind::instant, f.part().fleet->fleet->name, cause.name,
                        node_of(host));
  const bool takes_host = cause.scope == failure::FaultScope::host;
  const std::vector<JobTag> tags = tags_hit(f, host, cause, where);
  if (takes_host) mark_struck(fleet, host);
  faults_told_ += tags.size();
  Seconds seen = years(1);
  for (const JobTag& tag : tags) {
    seen = min(seen, world_.process(tag.process).struck(tag.part, host, cause));
  }
  if (!takes_host) return;
  if (tags.empty()) return see(fleet, host);
  see_after(seen, fleet, host);
}

void FaultBoard::strike_group(design::FleetIndex fleet, HostIndex first, int hosts,
                              const failure::FaultCause& cause) {
  FleetState& f = world_.fleet(fleet);
  ++faults_;
  world_.kernel().trace(sim::TraceKind::instant, f.part().fleet->fleet->name, cause.name,
                        node_of(first));
  std::vector<std::pair<JobTag, HostIndex>> notified;  // the process's job, and one of its hosts
  std::vector<HostIndex> empty, held;
  for (int node = node_of(first); node < node_of(first) + hosts; ++node) {
    const HostIndex host = host_at(node);
    if (f.is_away(host)) continue;
    f.queue().jobs_on(node, there_);
    (there_.empty() ? empty : held).push_back(host);
    mark_struck(fleet, host);
    for (const cluster::JobIndex job : there_) {
      const JobTag tag = JobTag::from(f.queue().tag(job));
      if (std::ranges::find(notified, tag, &std::pair<JobTag, HostIndex>::first) ==
          notified.end()) {
        notified.emplace_back(tag, host);
      }
    }
  }
  faults_told_ += notified.size();
  Seconds seen = cause.sight == failure::FaultSight::at_once ? Seconds(0) : years(1);
  for (const auto& [tag, host] : notified) {
    seen = min(seen, world_.process(tag.process).struck(tag.part, host, cause));
  }
  for (const HostIndex host : held) see_after(seen, fleet, host);
  for (const HostIndex host : empty) {
    if (f.state(host) != HostState::repair) see(fleet, host);
  }
}

// Reports the lost host to the policy, puts its jobs back into the queue, and sends it to repair.
void FaultBoard::see(design::FleetIndex fleet, HostIndex host) {
  FleetState& f = world_.fleet(fleet);
  const bool was_reserve = f.state(host) == HostState::reserve;
  f.set_state(host, HostState::repair);
  std::erase(unseen_[fleet], host);
  std::string job;
  f.queue().jobs_on(node_of(host), there_);
  for (const cluster::JobIndex j : there_) {
    if (job.empty()) job = world_.process(JobTag::from(f.queue().tag(j)).process).known_as();
  }
  // A host without utility power is not classed as a lemon, and a spare without power is not
  // called.
  const bool is_dark = !f.part().fleet->rented() && world_.site_lives().is_dark(f.part().site);
  failure::RecoveryDesk::Call call;
  if (!is_dark) {
    const auto spare = f.first_in_reserve();
    call = desks_[fleet].host_down(world_.kernel().now(), node_of(host), job,
                                   spare ? node_of(*spare) : -1);
  }
  f.queue().node_down(node_of(host));
  f.set_away_as(host, is_dark ? Cause::power : Cause::repair);
  const HostUse away = resting(f.part(), f.away_as(host));
  if (was_reserve) {
    f.slots().shift(f.part().slots_per_host, resting(f.part(), Cause::reserve), away);
  } else {
    f.slots().take(f.part().slots_per_host, away);
  }
  world_.recorder().mark_host(fleet, host, HostMark::repair);
  world_.host_lives().send_to_repair(fleet, host);
  call_spares(fleet, call);
}

void FaultBoard::see_released(design::FleetIndex fleet) {
  FleetState& f = world_.fleet(fleet);
  std::vector<HostIndex>& unseen = unseen_[fleet];
  for (std::size_t i = 0; i < unseen.size();) {
    const HostIndex host = unseen[i];
    if (f.queue().pool().free_on(node_of(host)) == f.part().slots_per_host) {
      see(fleet, host);
      i = 0;
    } else {
      ++i;
    }
  }
}

void FaultBoard::pause_network(design::FleetIndex fleet, HostIndex host, RandomStream& random) {
  const FleetPart& part = world_.fleet(fleet).part();
  if (part.storm.reach <= 0 || world_.fleet(fleet).is_away(host)) return;
  for (const auto& process : world_.processes()) {
    const std::size_t others = process->hosts_beside(fleet, host);
    if (others < 2) continue;
    if (world_.fleet(process->fleet_number()).part().site != part.site) continue;
    // The run stops if any of its hosts stops.
    const double reached = 1 - math::pow(1 - part.storm.reach, static_cast<double>(others));
    if (random.uniform() >= reached) continue;
    if (part.storm.watchdog) {
      process->set_back(Cause::paused, *part.storm.watchdog, 1 - part.storm.left);
    } else {
      ++faults_told_;
      process->struck(0, std::nullopt, world_.host_lives().hang());
    }
  }
}

void FaultBoard::corrupt(design::FleetIndex fleet, HostIndex host) {
  FleetState& f = world_.fleet(fleet);
  f.queue().jobs_on(node_of(host), there_);
  for (const cluster::JobIndex job : there_) {
    const JobTag tag = JobTag::from(f.queue().tag(job));
    world_.process(tag.process).corrupted(tag.part, host);
  }
}

bool FaultBoard::mend(design::FleetIndex fleet, HostIndex host) {
  FleetState& f = world_.fleet(fleet);
  sim::Kernel& kernel = world_.kernel();
  failure::RecoveryDesk::Call call;
  if (f.away_as(host) == Cause::repair) {
    call = desks_[fleet].host_back(kernel.now(), node_of(host));
  }
  const std::string& name = f.part().fleet->fleet->name;
  const HostUse away = resting(f.part(), f.away_as(host));
  if (!call.lemons.empty()) {
    ++lemons_found_;
    kernel.trace(sim::TraceKind::instant, name, kLemon, node_of(host));
    world_.host_lives().send_to_hands(fleet, host);
    f.slots().shift(f.part().slots_per_host, away, resting(f.part(), Cause::repair));
    f.set_away_as(host, Cause::repair);
    return false;
  }
  kernel.trace(sim::TraceKind::instant, name, kHostRepaired, node_of(host));
  if (f.is_spare(host)) {
    f.set_state(host, HostState::reserve);
    world_.recorder().mark_host(fleet, host, HostMark::reserve);
    f.slots().shift(f.part().slots_per_host, away, resting(f.part(), Cause::reserve));
    return true;
  }
  f.put_in_service(host, away);
  return true;
}

void FaultBoard::call_spares(design::FleetIndex fleet, const failure::RecoveryDesk::Call& call) {
  FleetState& f = world_.fleet(fleet);
  for (const int node : call.spares) {
    const HostIndex host = host_at(node);
    if (f.state(host) != HostState::reserve) continue;
    f.call_spare(host);
    f.put_in_service(host, resting(f.part(), Cause::reserve));
  }
}

void FaultBoard::job_runs(design::FleetIndex fleet, const std::string& job) {
  desks_[fleet].job_runs(world_.kernel().now(), job);
}

bool FaultBoard::may_start(design::FleetIndex fleet, const std::string& job) {
  return desks_[fleet].job_waits(world_.kernel().now(), job).is_released;
}

}  // namespace orrery::world
