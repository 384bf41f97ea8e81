#include "twin/run/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "model/design_text/write_design.h"
#include "twin/processes/process_set.h"
#include "twin/run/run_figures.h"
#include "twin/world/host_lives.h"
#include "twin/world/shared_lives.h"
#include "twin/world/world.h"

namespace orrery::run {

using cluster::ByCause;
using cluster::GpuLedger;
using cluster::GpuTime;
using cluster::kCauses;

namespace {

// Bins of the series: the hours of a month.
constexpr int kBins = 720;

std::uint64_t seed_of(std::uint64_t seed, int number) {
  return RandomStream(seed, "replication/" + std::to_string(number)).next();
}

void collect(world::World& world, const processes::ProcessSet& processes, Replication& r) {
  for (const design::FleetIndex f : world.fleets()) {
    const GpuLedger& book = world.fleet(f).slots().ledger();
    r.fleet_time.push_back(book.booked());
    r.reserved_stops.push_back(world.fleet(f).queue().stopped_for_reservations());
    if (world.fleet(f).part().accelerators_per_host == 0) continue;
    for (std::size_t c = 0; c < kCauses; ++c) r.gpu_time[c] += book.booked()[c];
  }
  r.is_sound = world.is_sound();
  for (const processes::TrainProcess* p : processes.trains()) r.jobs.push_back(p->outcome());
  for (const processes::ServiceProcess* p : processes.services())
    r.services.push_back(p->outcome());
  for (const processes::TaskProcess* p : processes.batches()) r.batches.push_back(p->outcome());
  for (const processes::TaskProcess* p : processes.streams()) r.streams.push_back(p->outcome());
  for (const processes::SliceProcess* p : processes.slices()) r.slices.push_back(p->outcome());
  if (processes.pipeline() != nullptr) r.pipeline = processes.pipeline()->outcome();
  for (const design::SiteIndex s : world.spec().machine->sites.indices()) {
    const world::SiteMeter& m = world.meters().site(s);
    r.sites.push_back({.it_energy = m.energy, .it_highest = m.highest, .it_by_hour = m.by_hour});
  }
  r.faults = world.host_lives().faults();
  std::ranges::copy(world.shared_lives().faults(), std::back_inserter(r.faults));
  r.stories = world.site_lives().stories();
  r.faults.push_back(0);
  for (const world::SiteStory& story : r.stories) r.faults.back() += story.blackouts;
  r.lemons_found = world.faults().lemons_found();
  r.events = world.kernel().events_run();
}

}  // namespace

Simulation::Simulation(const machine::Machine& machine, const jobs::Jobs& jobs,
                       const RunOptions& options)
    : options_(options),
      scenario_(processes::scenario_of(machine, jobs, options.horizon, options.read, options.stop)),
      storage_(
          run_storage(scenario_.storage_work(),
                      {.transfers_most = twin_storage::kTransfersOfRun, .seed = options.seed})) {
  lay_over(scenario_.trains, storage_);
  scenario_.has_storage_run = storage_.span > Seconds(0);
}

std::optional<Replication> Simulation::replicate(int number,
                                                 const std::function<bool()>& on) const {
  Replication r{.number = number};
  std::unique_ptr<world::Recorder> recorder;
  if (number == 0) {
    recorder = std::make_unique<world::Recorder>(sim::SimTime::from(options_.horizon), kBins);
  }
  world::World world(scenario_, seed_of(options_.seed, number), number == 0, recorder.get());
  const processes::ProcessSet processes(world, scenario_);
  if (!world.run(on)) return std::nullopt;
  collect(world, processes, r);
  if (recorder) {
    r.series = recorder->series(world.kernel().now());
    for (const design::FleetIndex f : world.fleets()) {
      r.racks.push_back(world.fleet(f).racks().until(world.kernel().now()));
    }
    r.log = recorder->events();
    r.host_log = recorder->host_changes();
    r.log_left_out = recorder->events_left_out();
  }
  return r;
}

Run Simulation::run_of(std::span<const Replication> done) const {
  const machine::Machine& m = *scenario_.machine;
  Run run{.design = m.design().name, .version = m.design().version};
  run.digest = design_text::design_digest(m.design());
  run.simulated = options_.horizon;
  run.seed = options_.seed;
  run.replications = static_cast<int>(done.size());
  run.is_whole = run.replications == options_.replications;
  ByCause<GpuTime> sum{};
  for (const Replication& r : done) {
    run.events += r.events;
    for (std::size_t c = 0; c < kCauses; ++c) sum[c] += r.gpu_time[c];
  }
  for (const world::FleetPart& f : scenario_.fleets) {
    run.accelerators += std::int64_t{f.all_hosts()} * f.accelerators_per_host;
    run.fleets.push_back({.name = f.fleet->fleet->name,
                          .hosts = f.hosts,
                          .spares = f.spares,
                          .accelerators_per_host = f.accelerators_per_host});
  }
  for (const jobs::TrainJob& job : scenario_.trains) run.jobs.push_back(job.label);
  if (done.empty()) return run;
  run.gpu_seconds = cluster::whole_seconds(sum, run.replications);
  run.series = done.front().series;
  run.log = done.front().log;
  run.host_log = done.front().host_log;
  run.log_left_out = done.front().log_left_out;
  std::ranges::move(sections_of(storage_), std::back_inserter(run.sections));
  tell(run, scenario_, done);
  return run;
}

}  // namespace orrery::run
