#include "twin/twin/world.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/math.h"
#include "model/figures/assumptions.h"
#include "model/machine/site_load.h"
#include "twin/twin/host_lives.h"
#include "twin/twin/pipeline_process.h"
#include "twin/twin/service_process.h"
#include "twin/twin/service_regions.h"
#include "twin/twin/shared_lives.h"
#include "twin/twin/site_lives.h"
#include "twin/twin/slice_process.h"
#include "twin/twin/task_process.h"
#include "twin/twin/train_process.h"

namespace orrery::twin {
namespace {

using figures::assumptions::kRankPeriod;
constexpr std::int64_t kHourNs = 3'600'000'000'000;

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
  for (std::size_t s = 0; s < sites_.size(); ++s) {
    if (scenario.machine->sites[design::SiteIndex(s)].hours == nullptr) continue;
    sites_[s].by_hour.resize(static_cast<std::size_t>(std::ceil(scenario.horizon / hours(1))));
  }
  if (scenario.machine->design().scheduler.power_aware) measure_rooms();
  std::vector<double> factors;
  for (const FleetPart& part : scenario.fleets) {
    const std::size_t f = fleets_.size();
    fleets_.push_back(std::make_unique<FleetState>(*this, f, scenario));
    desks_.emplace_back(part.hosts);
    factors.push_back(is_first ? 1
                               : rate_factor(*part.failures,
                                             kernel_.stream("failure/rate/" + std::to_string(f))));
    const double all = part.all_hosts() * static_cast<double>(part.accelerators_per_host);
    if (recorder_) recorder_->change(kernel_.now(), share_columns_.back(), all);
    const Watts idle = part.host_power.idle * part.all_hosts();
    meter(part.site, idle, idle);
    shift(f, std::int64_t{part.spares} * part.slots_per_host, resting(f, Cause::idle),
          resting(f, Cause::reserve));
  }
  lives_ = std::make_unique<HostLives>(*this, factors);
  shared_lives_ = std::make_unique<SharedLives>(*this);
  site_lives_ = std::make_unique<SiteLives>(*this);
  if (!scenario.machine->design().pipeline.stages.empty()) {
    pipeline_ = std::make_unique<PipelineProcess>(*this);
  }
  // What is there all the time asks first.
  for (const ServicePlan& s : scenario.services) add_process(services_, s, *s.job.workload);
  regions_ = std::make_unique<ServiceRegions>(*this);
  for (const jobs::TrainJob& t : scenario.trains) add_process(trains_, t, *t.workload);
  for (const BatchPlan& b : scenario.batches) add_process(batches_, b, *b.job.workload);
  for (const StreamPlan& s : scenario.streams) add_process(streams_, s, *s.job.workload);
  for (const SlicePlan& s : scenario.slices) add_process(slices_, s, *s.job.workload);
}

// A site whose power or PUE is not known admits all.
void World::measure_rooms() {
  const machine::Machine& m = *scenario_.machine;
  for (std::size_t s = 0; s < m.sites.size(); ++s) {
    const machine::SiteLoad load = machine::load_of(m, design::SiteIndex(s));
    facility::PowerRoom room{.feed = Watts(std::numeric_limits<double>::infinity())};
    const auto power = site_power(m.catalog(), load.request(load.hosts_nameplate + load.constant));
    if (m.sites[design::SiteIndex(s)].site->power && power) {
      room = {.feed = *m.sites[design::SiteIndex(s)].site->power,
              .pue = power->pue.middle,
              .always = load.constant};
    }
    for (const FleetPart& part : scenario_.fleets) {
      if (part.site == s && !part.fleet->rented()) {
        room.always += part.host_power.idle * part.all_hosts();
      }
    }
    rooms_.push_back(room);
  }
}

template <class T, class Plan>
void World::add_process(std::vector<const T*>& kind, const Plan& plan,
                        const design::Workload& workload) {
  auto process = make_process(*this, plan, processes_.size());
  if (pipeline_ && plan.feasible()) pipeline_->add_process(processes_.size(), workload);
  kind.push_back(process.get());
  processes_.push_back(std::move(process));
}

World::~World() { kernel_.forget(*this); }

ServiceProcess& World::service(std::size_t number) {
  return static_cast<ServiceProcess&>(*processes_[number]);
}

bool World::is_called(std::size_t process) const {
  return pipeline_ && pipeline_->has_process(process);
}

void World::run_ended(std::size_t process) {
  if (pipeline_) pipeline_->run_ended(process);
}

bool World::run(const std::function<bool()>& on) {
  if (scenario_.machine->design().scheduler.fair_share) {
    kernel_.schedule(kernel_.now().after(kRankPeriod), sim::EventRank::control, *this, kRank);
  }
  for (const auto& process : processes_) process->begin();
  if (pipeline_) pipeline_->begin();
  const sim::SimTime end = sim::SimTime::from(scenario_.horizon);
  for (std::int64_t part = 1; part <= kParts; ++part) {
    if (on && !on()) return false;
    kernel_.run(sim::SimTime::nanoseconds(end.ns() / kParts * part));
    check();
  }
  kernel_.run(end);
  for (const auto& process : processes_) process->close();
  if (pipeline_) pipeline_->close();
  for (const auto& f : fleets_) f->gpus.settle(end);
  for (std::size_t s = 0; s < sites_.size(); ++s) meter(s, Watts(), Watts());
  check();
  return true;
}

// What the books call free is what the queues may give away.
void World::check() {
  for (const auto& f : fleets_) {
    is_sound_ = is_sound_ && f->gpus.is_sound() && f->free == f->queue().pool().free_gpus();
  }
}

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

void World::meter(std::size_t site, Watts delta, Watts highest_delta) {
  SiteMeter& m = sites_[site];
  m.settle(kernel_.now());
  m.now += delta;
  m.highest_now += highest_delta;
  m.highest = max(m.highest, m.highest_now);
  if (recorder_ && delta != Watts())
    recorder_->change(kernel_.now(), site_columns_[site], delta.base());
}

void World::shift(std::size_t fleet, std::int64_t slots, const HostUse& from, const HostUse& to) {
  if (slots == 0) return;
  FleetState& f = *fleets_[fleet];
  f.gpus.move(kernel_.now(), from.cause, to.cause, slots);
  const double hosts = static_cast<double>(slots) / f.part().slots_per_host;
  if (from.draw != to.draw || from.highest != to.highest) {
    meter(f.part().site, (to.draw - from.draw) * hosts, (to.highest - from.highest) * hosts);
  }
  if (recorder_ == nullptr || f.part().accelerators_per_host == 0) return;
  const auto column = [&](Cause c) {
    return share_columns_[static_cast<std::size_t>(share_of(c))];
  };
  // Steps are marked by their means (mark_steps).
  const auto count = static_cast<double>(slots);
  if (from.cause != Cause::productive) recorder_->change(kernel_.now(), column(from.cause), -count);
  if (to.cause != Cause::productive) recorder_->change(kernel_.now(), column(to.cause), count);
}

// Of the slots that nobody holds, `slots` more are under this cause instead of idle.
void World::book_free(std::size_t fleet, Cause cause, std::int64_t slots) {
  const HostUse idle = resting(fleet, Cause::idle);
  const HostUse waits = resting(fleet, cause);
  if (slots > 0) shift(fleet, slots, idle, waits);
  if (slots < 0) shift(fleet, -slots, waits, idle);
  fleets_[fleet]->of_free[at(cause)] += slots;
}

void World::recount(FleetState& f, std::size_t number) {
  ByCause<std::int64_t> now{};
  std::int64_t left = f.free;
  for (const auto& [process, claim] : f.claims) {
    const std::int64_t own = std::min(left, claim.slots);
    now[at(claim.cause)] += own;
    left -= own;
  }
  now[at(Cause::stranded)] += std::min(left, f.wanted);
  constexpr Cause kWaits[] = {Cause::requeue, Cause::no_host, Cause::stranded};
  for (const bool gives : {true, false}) {
    for (const Cause c : kWaits) {
      const std::int64_t more = now[at(c)] - f.of_free[at(c)];
      if ((more < 0) == gives) book_free(number, c, more);
    }
  }
}

void World::take(std::size_t fleet, std::int64_t slots, const HostUse& to) {
  FleetState& f = *fleets_[fleet];
  for (const Cause c : {Cause::requeue, Cause::no_host, Cause::stranded}) {
    book_free(fleet, c, -f.of_free[at(c)]);
  }
  shift(fleet, slots, resting(fleet, Cause::idle), to);
  f.free -= slots;
  recount(f, fleet);
}

void World::give(std::size_t fleet, std::int64_t slots, const HostUse& from) {
  shift(fleet, slots, from, resting(fleet, Cause::idle));
  fleets_[fleet]->free += slots;
  recount(*fleets_[fleet], fleet);
  for (const std::size_t process : fleets_[fleet]->growers) processes_[process]->room_came();
  if (rooms_.empty()) return;
  for (const auto& other : fleets_) {
    if (other->part().site == fleets_[fleet]->part().site) other->queue().look_again();
  }
}

void World::claim(std::size_t fleet, std::size_t process, std::int64_t slots, Cause cause) {
  FleetState& f = *fleets_[fleet];
  if (slots > 0) {
    f.claims[process] = {.slots = slots, .cause = cause};
  } else {
    f.claims.erase(process);
  }
  recount(f, fleet);
}

void World::call_for_room(std::size_t fleet, std::size_t process, bool wants) {
  std::vector<std::size_t>& growers = fleets_[fleet]->growers;
  std::erase(growers, process);
  if (wants) growers.push_back(process);
}

void World::want(std::size_t fleet, std::int64_t slots) {
  fleets_[fleet]->wanted += slots;
  recount(*fleets_[fleet], fleet);
}

void World::leave(std::size_t fleet, cluster::JobIndex job) {
  fleets_[fleet]->note_use(job);
  fleets_[fleet]->queue().finish(job);
  fleets_[fleet]->note_left(job);
  see_released(fleet);
}

void World::mark_steps(const std::array<double, kShares>& accelerators, double sign) {
  if (recorder_ == nullptr) return;
  for (std::size_t s = 0; s < kShares; ++s) {
    if (accelerators[s] != 0) {
      recorder_->change(kernel_.now(), share_columns_[s], sign * accelerators[s]);
    }
  }
}

void World::mark_busy(std::size_t fleet, double slots, double share) {
  if (recorder_ == nullptr || fleets_[fleet]->part().accelerators_per_host == 0) return;
  std::array<double, kShares> level{};
  level[static_cast<std::size_t>(Share::productive)] = slots * share;
  level[static_cast<std::size_t>(Share::idle)] = slots * (1 - share);
  mark_steps(level, 1);
}

HostUse World::working(std::size_t fleet, double mean_level, double highest_level) const {
  const facility::NodePower& p = fleets_[fleet]->part().host_power;
  const Watts span = p.peak - p.idle;
  return {Cause::productive, p.idle + span * mean_level, p.idle + span * highest_level};
}

HostUse World::resting(std::size_t fleet, Cause cause) const {
  const facility::NodePower& p = fleets_[fleet]->part().host_power;
  const auto level = [&](double l) { return p.idle + (p.peak - p.idle) * l; };
  switch (cause) {
    case Cause::detect:
      // The other ranks spin in a collective that does not come.
      return {cause, level(facility::kCommunicationLevel), level(facility::kCommunicationLevel)};
    case Cause::restore:
      return {cause, level(facility::kCheckpointLevel), level(facility::kCheckpointLevel)};
    case Cause::power:
      return {cause, Watts(0), Watts(0)};
    default:
      return {cause, p.idle, p.idle};
  }
}

void World::record_host(std::size_t fleet, int host, HostMark mark, std::size_t process) {
  if (recorder_ == nullptr) return;
  const std::size_t run = process - services_.size();  // wraps to beyond the runs for services
  recorder_->record_host({.at = kernel_.now(),
                          .fleet = static_cast<std::uint32_t>(fleet),
                          .host = static_cast<std::uint32_t>(host),
                          .mark = mark,
                          .holder = run < trains_.size() ? static_cast<std::int32_t>(run) : -1});
}

void World::strike(std::size_t fleet, int host, const failure::FaultCause& cause, double where) {
  FleetState& f = *fleets_[fleet];
  ++faults_;
  if (f.is_away(host)) return;
  kernel_.trace(sim::TraceKind::instant, f.part().fleet->fleet->name, cause.name, host);
  const bool takes_host = cause.scope == failure::FaultScope::host;
  f.queue().jobs_on(host, there_);
  std::vector<std::uint64_t> tags;
  double slot = where * f.part().slots_per_host;
  for (const cluster::JobIndex job : there_) {
    if (takes_host) tags.push_back(f.queue().tag(job));
    if (takes_host || slot < 0) continue;
    for (const cluster::NodeShare& share : f.queue().job(job).shares) {
      if (share.node == host) slot -= share.gpus;
    }
    if (slot < 0) tags.push_back(f.queue().tag(job));  // the process that died was its
  }
  Seconds seen = takes_host && tags.empty() ? Seconds(0) : years(1);
  if (takes_host && f.state(host) == HostState::in_service) {
    f.set_state(host, HostState::struck);
    f.unseen.push_back(host);
  }
  faults_told_ += tags.size();
  for (const std::uint64_t tag : tags) {
    seen = min(seen, processes_[tag_process(tag)]->struck(tag_part(tag), host, cause));
  }
  if (!takes_host) return;
  if (tags.empty()) return see(fleet, host);  // nobody's: its health check says so at once
  kernel_.schedule(kernel_.now().after(seen), sim::EventRank::finish, *this, kSeen,
                   tag_of(fleet, static_cast<std::uint32_t>(host)));
}

void World::strike_group(std::size_t fleet, int first, int hosts,
                         const failure::FaultCause& cause) {
  FleetState& f = *fleets_[fleet];
  ++faults_;
  kernel_.trace(sim::TraceKind::instant, f.part().fleet->fleet->name, cause.name, first);
  std::vector<std::pair<std::uint64_t, int>> told;  // who, and one of its hosts
  std::vector<int> empty, held;
  for (int host = first; host < first + hosts; ++host) {
    if (f.is_away(host)) continue;
    f.queue().jobs_on(host, there_);
    (there_.empty() ? empty : held).push_back(host);
    if (f.state(host) == HostState::in_service) {
      f.set_state(host, HostState::struck);
      f.unseen.push_back(host);
    }
    for (const cluster::JobIndex job : there_) {
      const std::uint64_t tag = f.queue().tag(job);
      if (std::ranges::find(told, tag, &std::pair<std::uint64_t, int>::first) == told.end()) {
        told.emplace_back(tag, host);
      }
    }
  }
  faults_told_ += told.size();
  Seconds seen = cause.sight == failure::FaultSight::at_once ? Seconds(0) : years(1);
  for (const auto& [tag, host] : told) {
    seen = min(seen, processes_[tag_process(tag)]->struck(tag_part(tag), host, cause));
  }
  for (const int host : held) {
    kernel_.schedule(kernel_.now().after(seen), sim::EventRank::finish, *this, kSeen,
                     tag_of(fleet, static_cast<std::uint32_t>(host)));
  }
  for (const int host : empty) {
    if (f.state(host) != HostState::repair) see(fleet, host);
  }
}

void World::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  if (kind == kRank) {
    for (const auto& f : fleets_) f->rank_users();
    kernel_.schedule(kernel_.now().after(kRankPeriod), sim::EventRank::control, *this, kRank);
    return;
  }
  const auto host = static_cast<int>(tag_part(data));
  if (fleets_[tag_process(data)]->state(host) == HostState::struck) see(tag_process(data), host);
}

// The policy learns which host is gone, its jobs go back into the queue, and it goes to repair.
void World::see(std::size_t fleet, int host) {
  FleetState& f = *fleets_[fleet];
  const bool was_reserve = f.state(host) == HostState::reserve;
  f.set_state(host, HostState::repair);
  std::erase(f.unseen, host);
  std::string job;
  f.queue().jobs_on(host, there_);
  for (const cluster::JobIndex j : there_) {
    if (job.empty()) job = processes_[tag_process(f.queue().tag(j))]->known_as();
  }
  // Nobody takes a host for a lemon that the utility left, nor calls a spare that is dark too.
  const bool is_dark = !f.part().fleet->rented() && site_lives_->is_dark(f.part().site);
  failure::RecoveryDesk::Call call;
  if (!is_dark) call = desks_[fleet].host_down(kernel_.now(), host, job, f.first_in_reserve());
  f.queue().node_down(host);
  f.set_away_as(host, is_dark ? Cause::power : Cause::repair);
  const HostUse away = resting(fleet, f.away_as(host));
  if (was_reserve) {
    shift(fleet, f.part().slots_per_host, resting(fleet, Cause::reserve), away);
  } else {
    take(fleet, f.part().slots_per_host, away);
  }
  record_host(fleet, host, HostMark::repair);
  lives_->send_to_repair(fleet, host);
  obey(fleet, call);
}

void World::see_released(std::size_t fleet) {
  FleetState& f = *fleets_[fleet];
  for (std::size_t i = 0; i < f.unseen.size();) {
    const int host = f.unseen[i];
    if (f.queue().pool().free_on(host) == f.part().slots_per_host) {
      see(fleet, host);
      i = 0;
    } else {
      ++i;
    }
  }
}

void World::pause_network(std::size_t fleet, int host, RandomStream& random) {
  const FleetPart& part = fleets_[fleet]->part();
  if (part.storm.reach <= 0 || fleets_[fleet]->is_away(host)) return;
  for (std::size_t t = 0; t < trains_.size(); ++t) {
    const std::size_t number = services_.size() + t;
    const TrainProcess& run = *trains_[t];
    const std::size_t others = run.hosts_beside(fleet, host);
    if (others < 2 || fleets_[run.fleet()]->part().site != part.site) continue;
    // It stands where any of its hosts does.
    const double reached = 1 - math::pow(1 - part.storm.reach, static_cast<double>(others));
    if (random.uniform() >= reached) continue;
    if (part.storm.watchdog) {
      processes_[number]->set_back(Cause::paused, *part.storm.watchdog, 1 - part.storm.left);
    } else {
      ++faults_told_;
      processes_[number]->struck(0, kNoHost, lives_->hang());
    }
  }
}

void World::corrupt(std::size_t fleet, int host) {
  FleetState& f = *fleets_[fleet];
  f.queue().jobs_on(host, there_);
  for (const cluster::JobIndex job : there_) {
    const std::uint64_t tag = f.queue().tag(job);
    processes_[tag_process(tag)]->corrupted(tag_part(tag), host);
  }
}

bool World::mend(std::size_t fleet, int host) {
  FleetState& f = *fleets_[fleet];
  failure::RecoveryDesk::Call call;
  if (f.away_as(host) == Cause::repair) call = desks_[fleet].host_back(kernel_.now(), host);
  const std::string& name = f.part().fleet->fleet->name;
  const HostUse away = resting(fleet, f.away_as(host));
  if (!call.lemons.empty()) {
    ++lemons_found_;
    kernel_.trace(sim::TraceKind::instant, name, kLemon, host);
    lives_->send_to_hands(fleet, host);
    shift(fleet, f.part().slots_per_host, away, resting(fleet, Cause::repair));
    f.set_away_as(host, Cause::repair);
    return false;
  }
  kernel_.trace(sim::TraceKind::instant, name, kHostRepaired, host);
  if (f.is_spare(host)) {
    f.set_state(host, HostState::reserve);
    record_host(fleet, host, HostMark::reserve);
    shift(fleet, f.part().slots_per_host, away, resting(fleet, Cause::reserve));
    return true;
  }
  f.set_state(host, HostState::in_service);
  record_host(fleet, host, HostMark::free);
  give(fleet, f.part().slots_per_host, away);
  f.queue().node_up(host);
  return true;
}

void World::obey(std::size_t fleet, const failure::RecoveryDesk::Call& call) {
  FleetState& f = *fleets_[fleet];
  for (const int host : call.spares) {
    if (f.state(host) != HostState::reserve) continue;
    f.call_spare(host);
    f.set_state(host, HostState::in_service);
    record_host(fleet, host, HostMark::free);
    give(fleet, f.part().slots_per_host, resting(fleet, Cause::reserve));
    f.queue().node_up(host);
  }
}

void World::job_runs(std::size_t fleet, const std::string& job) {
  desks_[fleet].job_runs(kernel_.now(), job);
}

bool World::may_start(std::size_t fleet, const std::string& job) {
  return desks_[fleet].job_waits(kernel_.now(), job).is_released;
}

}  // namespace orrery::twin
