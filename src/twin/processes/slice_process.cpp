#include "twin/processes/slice_process.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "model/figures/assumptions.h"
#include "twin/world/world.h"

namespace orrery::processes {

using cluster::Cause;
using cluster::GpuTime;

namespace {

using figures::assumptions::kDetectTime;
using figures::assumptions::kJobUtilisation;
using figures::assumptions::kJobVariation;

}  // namespace

SliceProcess::SliceProcess(world::World& world, world::ProcessIndex index, const SlicePlan& plan)
    : world::Process(index, plan.fleet),
      kernel_(world.kernel()),
      plan_(plan),
      fleet_(world.fleet(plan.fleet)),
      slots_(fleet_.slots()),
      detect_(world.spec().machine->design().scheduler.recovery.detect.value_or(kDetectTime)),
      random_(world.kernel().stream("slices/" + plan.job.label)),
      pool_(plan.job.profiles, plan.job.wanted, plan.job.fixed),
      waiting_(plan.job.wanted.size()) {
  if (plan.feasible()) runs_ = working(fleet_.part(), kJobUtilisation, 1);
}

void SliceProcess::begin() {
  if (plan_.feasible()) arrive();
}

void SliceProcess::arrive() {
  kernel_.schedule(kernel_.now().after(Seconds(random_.exponential(1 / plan_.job.rate.base()))),
                   sim::EventRank::start, *this, kArrival);
}

world::HostUse SliceProcess::use(DeviceState state) const {
  return state == DeviceState::hangs ? resting(fleet_.part(), Cause::detect) : runs_;
}

void SliceProcess::book() {
  const sim::SimTime now = kernel_.now();
  const GpuTime span = (now - booked_).ns();
  outcome_.open += span * pool_.devices() * cluster::kMigComputeSlices;
  outcome_.used += span * pool_.compute_used();
  outcome_.stranded += span * pool_.compute_stranded();
  booked_ = now;
}

void SliceProcess::on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) {
  const auto which = static_cast<std::uint32_t>(data);
  if (kind == kDone) return finish(which);
  if (kind == kServe) return serve();
  if (kind == kBack) {
    Device& device = devices_[which];
    if (device.state != DeviceState::hangs) return;
    book();
    slots_.shift(1, use(DeviceState::hangs), runs_);
    slots_.mark_busy(1);
    device.state = DeviceState::open;
    device.in_pool = pool_.open();
    return serve();
  }
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(jobs_.size()));
    jobs_.emplace_back();
  }
  const std::uint32_t job = unused_.back();
  unused_.pop_back();
  const double pick = random_.uniform();
  const auto at = std::ranges::upper_bound(plan_.job.shares, pick) - plan_.job.shares.begin();
  const auto last = static_cast<std::ptrdiff_t>(plan_.job.shares.size()) - 1;
  const double s2 = math::log(1 + kJobVariation * kJobVariation);
  const double run =
      plan_.job.mean_run.base() * math::exp(std::sqrt(s2) * random_.normal() - s2 / 2);
  jobs_[job] = {.wanted = static_cast<int>(std::min(at, last)),
                .run = Seconds(std::max(1.0, run)),
                .submitted = kernel_.now()};
  waiting_[static_cast<std::size_t>(jobs_[job].wanted)].push_back(job);
  ++outcome_.submitted;
  arrive();
  serve();
}

// Starts the earliest of the jobs at the head of their profile that have a place.
bool SliceProcess::start_next() {
  std::vector<std::uint32_t> heads;
  for (const auto& line : waiting_) {
    if (!line.empty()) heads.push_back(line.front());
  }
  std::ranges::sort(heads, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(jobs_[a].submitted, a) < std::pair(jobs_[b].submitted, b);
  });
  for (const std::uint32_t head : heads) {
    Job& job = jobs_[head];
    const auto place = pool_.place(plan_.job.wanted[static_cast<std::size_t>(job.wanted)]);
    if (!place) continue;
    waiting_[static_cast<std::size_t>(job.wanted)].pop_front();
    const auto on = std::ranges::find_if(devices_, [&](const Device& d) {
      return d.state == DeviceState::open && d.in_pool == place->device;
    });
    job.place = *place;
    job.device = static_cast<std::uint32_t>(on - devices_.begin());
    job.is_running = true;
    job.started = kernel_.now();
    if (job.wait_s < 0) {
      job.wait_s = (job.started - job.submitted).seconds().base();
      outcome_.waits_s.push_back(job.wait_s);
    }
    job.timer =
        kernel_.schedule(job.started.after(job.run), sim::EventRank::finish, *this, kDone, head);
    return true;
  }
  return false;
}

void SliceProcess::serve() {
  book();
  while (start_next()) {
  }
  const bool waits = std::ranges::any_of(waiting_, [](const auto& line) { return !line.empty(); });
  if (waits && !is_asking_ && !outcome_.never_fits) ask_for_device();
}

void SliceProcess::ask_for_device() {
  const auto unused = std::ranges::find(devices_, DeviceState::unused, &Device::state);
  const auto part = static_cast<std::uint32_t>(unused - devices_.begin());
  if (unused == devices_.end()) devices_.emplace_back();
  cluster::JobRequest request = fleet_.request_for(index(), *plan_.job.workload, 0);
  request.ask = {.gpus = 1};
  request.limit = sim::SimTime::from(world::kStays);
  request.stays = true;
  request.tag = tag_of(part);
  const auto queued = fleet_.queue().submit(request);
  outcome_.never_fits = !queued;
  if (!queued) return;
  devices_[part] = {.state = DeviceState::asked, .index = *queued};
  is_asking_ = true;
  slots_.want(1);
}

void SliceProcess::placed(std::uint32_t part, std::span<const cluster::NodeShare>) {
  Device& device = devices_[part];
  book();
  slots_.want(-1);
  slots_.take(1, runs_);
  fleet_.note_draw(device.index, runs_.draw, runs_.highest);
  slots_.mark_busy(1);
  device.state = DeviceState::open;
  device.in_pool = pool_.open();
  is_asking_ = false;
  serve();
}

void SliceProcess::finish(std::uint32_t which) {
  Job& job = jobs_[which];
  book();
  pool_.leave(job.place);
  ++outcome_.finished;
  const std::uint32_t part = job.device;
  job = {};
  unused_.push_back(which);
  serve();
  if (devices_[part].state == DeviceState::open && pool_.is_empty(devices_[part].in_pool))
    release(part);
}

void SliceProcess::release(std::uint32_t part) {
  Device& device = devices_[part];
  pool_.close(device.in_pool);
  slots_.mark_busy(-1);
  slots_.give(1, runs_);
  fleet_.leave(device.index);
  device = {};
}

void SliceProcess::lose_jobs(std::uint32_t part) {
  book();
  const sim::SimTime now = kernel_.now();
  // In reverse order, so that each job is queued before those that arrived after it.
  std::vector<std::uint32_t> all;
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j].is_running && jobs_[j].device == part) all.push_back(j);
  }
  std::ranges::sort(all, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(jobs_[a].submitted, a) > std::pair(jobs_[b].submitted, b);
  });
  for (const std::uint32_t j : all) {
    Job& job = jobs_[j];
    kernel_.cancel(job.timer);
    const int profile = plan_.job.wanted[static_cast<std::size_t>(job.wanted)];
    outcome_.lost += GpuTime{(now - job.started).ns()} *
                     plan_.job.profiles[static_cast<std::size_t>(profile)].compute_slices;
    job.is_running = false;
    ++outcome_.stops;
    waiting_[static_cast<std::size_t>(job.wanted)].push_front(j);
  }
  pool_.close(devices_[part].in_pool);
  slots_.mark_busy(-1);
}

Seconds SliceProcess::struck(std::uint32_t part, std::optional<world::HostIndex>,
                             const failure::FaultCause& cause) {
  Device& device = devices_[part];
  ++outcome_.faults;
  if (device.state == DeviceState::open) {
    lose_jobs(part);
    slots_.shift(1, runs_, use(DeviceState::hangs));
    device.state = DeviceState::hangs;
  }
  kernel_.schedule(kernel_.now(), sim::EventRank::start, *this, kServe);
  if (cause.scope == failure::FaultScope::process) {
    kernel_.schedule(kernel_.now().after(detect_), sim::EventRank::start, *this, kBack, part);
  }
  return detect_;
}

void SliceProcess::evicted(std::uint32_t part, cluster::StopCause) {
  Device& device = devices_[part];
  if (device.state == DeviceState::open) lose_jobs(part);
  slots_.give(1, use(device.state));
  fleet_.queue().cancel(device.index);
  device = {};
  kernel_.schedule(kernel_.now(), sim::EventRank::start, *this, kServe);
}

// Books the part of its slots that was not in use, in whole slots.
void SliceProcess::close() {
  if (!plan_.feasible()) return;
  book();
  for (const auto& line : waiting_) outcome_.waiting += line.size();
  for (const Job& job : jobs_) outcome_.running += job.is_running ? 1 : 0;
  slots_.settle(kernel_.now());
  const auto correct = [&](Cause to, GpuTime slices) {
    slots_.correct(Cause::productive, to, slices / cluster::kMigComputeSlices);
  };
  correct(Cause::lost, outcome_.lost);
  correct(Cause::stranded, outcome_.stranded);
  correct(Cause::idle, outcome_.open - outcome_.used - outcome_.stranded);
}

}  // namespace orrery::processes
