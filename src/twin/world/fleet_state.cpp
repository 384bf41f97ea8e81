#include "twin/world/fleet_state.h"

#include <algorithm>
#include <cmath>

#include "model/figures/assumptions.h"
#include "twin/world/fleet_pool.h"
#include "twin/world/world.h"

namespace orrery::world {
namespace {

using figures::assumptions::kRequeueTime;

// Returns which QOS may preempt which, as Slurm's preempt/qos; if no QOS names another, the
// workloads' priorities decide.
std::vector<std::vector<bool>> takes_of(const design::Scheduler& s) {
  const std::size_t all = s.qos.size() + 1;
  std::vector<std::vector<bool>> takes(all, std::vector<bool>(all, false));
  bool has_any = false;
  for (std::size_t q = 0; q < s.qos.size(); ++q) {
    for (std::size_t other = 0; other < s.qos.size(); ++other) {
      const auto& names = s.qos[q].preempts;
      if (std::ranges::find(names, s.qos[other].name) == names.end()) continue;
      takes[q + 1][other + 1] = has_any = true;
    }
  }
  if (!has_any) takes.clear();
  return takes;
}

// Returns the hosts of a partition; spares that are put to use serve any partition.
cluster::NodeMask mask_of(const machine::FleetPartition& partition, const FleetPart& part) {
  cluster::NodeMask mask((static_cast<std::size_t>(part.all_hosts()) + 63) / 64, 0);
  for (int host = 0; host < part.all_hosts(); ++host) {
    const bool is_in = host >= partition.first && host < partition.first + partition.hosts;
    if (!is_in && host < part.hosts) continue;
    mask[static_cast<std::size_t>(host) / 64] |= std::uint64_t{1} << (host % 64);
  }
  return mask;
}

// Returns the reservations of the fleet's last hosts in service.
cluster::ReservationBook reservations_of(const machine::Machine& m, const FleetPart& part) {
  cluster::ReservationBook book;
  const int per_node = part.fleet->hosts_per_node();
  for (const design::Reservation& r : m.design().scheduler.reservations) {
    cluster::NodeMask mask((static_cast<std::size_t>(part.all_hosts()) + 63) / 64, 0);
    const machine::Fleet* own = machine::reserved_fleet(m.design(), m.fleets, r);
    const int hosts = r.nodes ? std::min(part.hosts, *r.nodes * per_node) : part.hosts;
    for (int host = part.hosts - hosts; own == part.fleet && host < part.hosts; ++host) {
      mask[static_cast<std::size_t>(host) / 64] |= std::uint64_t{1} << (host % 64);
    }
    book.add({.name = r.name,
              .nodes = std::move(mask),
              .start = sim::SimTime::from(r.start),
              .length = sim::SimTime::from(r.duration),
              .every = sim::SimTime::from(length_of(r.repeat))});
  }
  return book;
}

cluster::QueueOptions options_of(const machine::Machine& m, const FleetPart& part) {
  const design::Scheduler& s = m.design().scheduler;
  cluster::QueueOptions o{.backfill = backfill_of(m, *part.fleet),
                          .requeue_delay = s.recovery.requeue.value_or(kRequeueTime)};
  if (s.preemption != design::Preemption::none) {
    o.preemption = cluster::PreemptionRules{.requeue = o.requeue_delay, .of_qos = takes_of(s)};
  }
  return o;
}

// Returns true if a workload keeps a number of nodes in this fleet. A service in zones asks in each
// zone's fleet and gives no number there.
bool keeps_nodes(const design::Workload& w) {
  const auto* serve = std::get_if<design::Serve>(&w.task);
  return w.terms.nodes && (serve == nullptr || serve->zones.empty());
}

}  // namespace

FleetState::FleetState(World& world, design::FleetIndex number)
    : world_(world),
      number_(number),
      part_(world.spec().fleets[number]),
      slots_(part_, world.kernel(), world.meters(), world.recorder(), world),
      partitions_(machine::partitions_of(world.spec().machine->design(),
                                         world.spec().machine->fleets, *part_.fleet)),
      is_fair_(world.spec().machine->design().scheduler.fair_share),
      fair_(world.spec().machine->design().scheduler.fair_share_by),
      qos_gate_(quotas_, part_.slots_per_host),
      gate_(qos_gate_, world.meters().room(part_.site),
            facility::rise_of(part_.host_power) / part_.slots_per_host),
      states_(static_cast<std::size_t>(part_.all_hosts()), HostState::in_service),
      away_as_(states_.size(), Cause::repair),
      is_spare_(states_.size(), false),
      is_slow_(states_.size(), false),
      racks_(part_.all_hosts(), part_.hosts_per_rack, part_.slots_per_host) {
  const machine::Machine& m = *world.spec().machine;
  add_groups();
  add_qos(m.design().scheduler);
  cluster::QueueOptions options = options_of(m, part_);
  options.gate = &gate_;
  options.reservations = reservations_of(m, part_);
  for (const auto& partition : partitions_) options.partitions.push_back(mask_of(partition, part_));
  queue_ = std::make_unique<cluster::Queue>(
      world.kernel(), pool_of_fleet(m, *part_.fleet, part_.spares, part_.slots_per_host),
      std::move(options), *this);
  for (int node = part_.hosts; node < part_.all_hosts(); ++node) {
    set_state(host_at(node), HostState::reserve);
    is_spare_[host_at(node)] = true;
    queue_->node_down(node);
  }
}

void FleetState::add_groups() {
  const machine::Machine& m = *world_.spec().machine;
  const design::Design& d = m.design();
  const int per_node = part_.fleet->hosts_per_node();
  const int all = part_.hosts * part_.slots_per_host;
  constexpr std::size_t kShared = 0;  // cohort of tenants and of all workloads without a number
  std::map<std::string, int> tenants;
  int left = all;
  for (const design::Quota& q : d.scheduler.quotas) {
    const int own =
        std::min(all, q.accelerators ? *q.accelerators
                                     : static_cast<int>(std::lround(q.share.value_or(0) * all)));
    tenants[q.tenant] = quotas_.add_group(
        kShared, {.tenant = q.tenant, .guaranteed = own, .may_borrow = all - own});
    left -= own;
  }
  std::size_t cohort = kShared;
  for (const design::Workload& w : d.workloads) {
    tiers_[w.terms.priority] = 0;
    if (fleet_of(m.fleets, w) != part_.fleet || !keeps_nodes(w)) continue;
    const int own = std::min(all, *w.terms.nodes * per_node * part_.slots_per_host);
    groups_[&w] = quotas_.add_group(++cohort, {.tenant = w.terms.name, .guaranteed = own});
    left -= own;
  }
  // If the numbers ask for more than there is, the rest is not limited to what they leave.
  const int rest = quotas_.add_group(
      kShared, {.tenant = "", .guaranteed = left > 0 ? left : all, .may_borrow = all});
  for (const design::Workload& w : d.workloads) {
    if (groups_.contains(&w)) continue;
    const auto tenant = tenants.find(w.terms.tenant);
    groups_[&w] = tenant == tenants.end() ? rest : tenant->second;
  }
  int tier = 0;
  for (auto& [priority, rank] : tiers_) rank = tier++;
}

void FleetState::add_qos(const design::Scheduler& s) {
  int highest = 1;
  for (const design::Qos& q : s.qos) highest = std::max(highest, q.priority);
  for (const design::Qos& q : s.qos) {
    qos_[q.name] = qos_gate_.add({.nodes = q.max_nodes,
                                  .nodes_per_user = q.max_nodes_per_user,
                                  .jobs_per_user = q.max_jobs_per_user});
    qos_priority_.push_back(static_cast<double>(q.priority) / highest);
  }
}

cluster::JobRequest FleetState::request_for(ProcessIndex process, const design::Workload& w,
                                            std::uint32_t user) {
  cluster::JobRequest request{.tier = tiers_.at(w.terms.priority),
                              .priority = priority_of(process, w, user),
                              .partition = static_cast<int>(machine::partition_of(partitions_, w)),
                              .group = groups_.at(&w),
                              .user = user};
  const auto& reservations = world_.spec().machine->design().scheduler.reservations;
  for (std::size_t r = 0; r < reservations.size(); ++r) {
    const auto& guests = reservations[r].tenants;
    const bool is_guest = std::ranges::find(guests, w.terms.tenant) != guests.end();
    request.guest_of |= std::uint64_t{is_guest} << r;
  }
  if (w.terms.qos.empty()) return request;
  request.qos = qos_.at(w.terms.qos);
  request.qos_seat = qos_gate_.seat_of(request.qos, JobTag{process, user}.packed());
  return request;
}

std::optional<Seconds> FleetState::time_limit_of(const design::Workload& w) const {
  const auto& all = world_.spec().machine->design().scheduler.qos;
  const auto found = std::ranges::find(all, w.terms.qos, &design::Qos::name);
  const auto of_qos = found == all.end() ? std::nullopt : found->time_limit;
  if (partitions_.empty()) return of_qos;
  const auto of_partition =
      partitions_[machine::partition_of(partitions_, w)].partition->time_limit;
  if (!of_qos || !of_partition) return of_qos ? of_qos : of_partition;
  return min(*of_qos, *of_partition);
}

bool FleetState::could_admit(const design::Workload& w, int slots) const {
  const int qos = w.terms.qos.empty() ? 0 : qos_.at(w.terms.qos);
  return quotas_.could_admit(groups_.at(&w), slots) && qos_gate_.could_admit(qos, slots);
}

double FleetState::priority_of(ProcessIndex process, const design::Workload& w,
                               std::uint32_t user) {
  const double of_qos =
      w.terms.qos.empty() ? 0 : qos_priority_[static_cast<std::size_t>(qos_.at(w.terms.qos))];
  if (!is_fair_) return of_qos;
  const UserKey key{.process = process, .user = user};
  const auto found = users_.find(key);
  if (found != users_.end()) return of_qos + fair_.factor(found->second);
  const std::string own = "process " + std::to_string(process.value());
  users_[key] = fair_.add_user({.account = w.terms.tenant.empty() ? own : w.terms.tenant,
                                .user = own + "/" + std::to_string(user)});
  return of_qos + fair_.factor(users_[key]);
}

void FleetState::note_use(cluster::JobIndex index) {
  if (!is_fair_) return;
  const cluster::QueuedJob& job = queue_->job(index);
  const auto user =
      users_.find({.process = JobTag::from(queue_->tag(index)).process, .user = job.user});
  if (user == users_.end()) return;
  const sim::SimTime since = std::max(job.started, ranked_);
  const double span = (world_.kernel().now() - since).seconds().base();
  fair_.add_use(user->second, span * job.ask.gpus);
}

void FleetState::rank_users() {
  for (const cluster::RunningEnd& end : queue_->running_jobs()) note_use(end.job);
  ranked_ = world_.kernel().now();
  fair_.settle(ranked_);
  queue_->set_priorities([this](cluster::JobIndex job) {
    const auto user = users_.find(
        {.process = JobTag::from(queue_->tag(job)).process, .user = queue_->job(job).user});
    const double of_qos = qos_priority_[queue_->job(job).qos];
    return of_qos + (user == users_.end() ? 1.0 : fair_.factor(user->second));
  });
}

std::optional<HostIndex> FleetState::first_in_reserve() const {
  const auto found = std::ranges::find(states_, HostState::reserve);
  if (found == states_.end()) return {};
  return HostIndex(static_cast<std::size_t>(std::ranges::distance(states_.begin(), found)));
}

void FleetState::put_in_service(HostIndex host, const HostUse& from) {
  set_state(host, HostState::in_service);
  world_.recorder().mark_host(number_, host, HostMark::free);
  slots_.give(part_.slots_per_host, from);
  queue_->node_up(node_of(host));
}

void FleetState::leave(cluster::JobIndex job) {
  note_use(job);
  queue_->finish(job);
  note_left(job);
  world_.faults().see_released(number_);
}

void FleetState::job_started(cluster::JobIndex job, std::uint64_t packed,
                             std::span<const cluster::NodeShare> where) {
  const JobTag tag = JobTag::from(packed);
  note_placed(job, tag, where);
  world_.process(tag.process).placed(tag.part, where);
}

void FleetState::note_placed(cluster::JobIndex job, const JobTag& tag,
                             std::span<const cluster::NodeShare> where) {
  if (!world_.recorder().is_on()) return;
  racks_.placed(job, queue_->job(job).shares, world_.kernel().now());
  const std::optional<int> run = world_.process(tag.process).training_run();
  std::vector<int>& nodes = placed_[job];
  for (const cluster::NodeShare& share : where) {
    nodes.push_back(share.node);
    const bool was_empty = queue_->pool().free_on(share.node) + share.gpus == part_.slots_per_host;
    if (was_empty) {
      world_.recorder().mark_host(number_, host_at(share.node), HostMark::held, run);
    }
  }
}

void FleetState::note_draw(cluster::JobIndex job, Watts mean, Watts highest) {
  if (!world_.recorder().is_on()) return;
  const Watts idle = part_.host_power.idle;
  racks_.draws(job, (mean - idle) / part_.slots_per_host, (highest - idle) / part_.slots_per_host,
               world_.kernel().now());
}

void FleetState::note_left(cluster::JobIndex job) {
  const auto placed = placed_.find(job);
  if (placed == placed_.end()) return;
  racks_.left(job, world_.kernel().now());
  for (const int node : placed->second) {
    const bool is_empty = queue_->pool().free_on(node) == part_.slots_per_host;
    if (is_empty && state(host_at(node)) != HostState::repair) {
      world_.recorder().mark_host(number_, host_at(node), HostMark::free);
    }
  }
  placed_.erase(placed);
}

std::vector<cluster::NodeShare> FleetState::job_lost_node(cluster::JobIndex job,
                                                          std::uint64_t packed, int node) {
  const JobTag tag = JobTag::from(packed);
  auto kept = world_.process(tag.process).lost_host(tag.part, host_at(node));
  const auto placed = placed_.find(job);
  if (kept.empty() || placed == placed_.end()) return kept;
  racks_.placed(job, kept, world_.kernel().now());
  // When this is called the queue has already taken back what is not kept, so only the owner of the
  // slots is known here.
  std::vector<int> nodes;
  for (const cluster::NodeShare& share : kept) nodes.push_back(share.node);
  for (const int held : placed->second) {
    const bool stays = std::ranges::find(nodes, held) != nodes.end();
    if (!stays && held != node) {
      world_.recorder().mark_host(number_, host_at(held), HostMark::free);
    }
  }
  placed->second = std::move(nodes);
  return kept;
}

void FleetState::job_stopped(cluster::JobIndex job, std::uint64_t packed,
                             cluster::StopCause cause) {
  const JobTag tag = JobTag::from(packed);
  note_use(job);
  note_left(job);
  world_.process(tag.process).evicted(tag.part, cause);
  world_.faults().see_released(number_);
}

}  // namespace orrery::world
