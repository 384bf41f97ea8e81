#include "twin/processes/pipeline_process.h"

#include <algorithm>

#include "twin/storage/storage_run.h"

namespace orrery::processes {

PipelineProcess::PipelineProcess(world::World& world, std::span<const jobs::TrainJob> runs)
    : spec_(world.spec()),
      kernel_(world.kernel()),
      stages_(jobs::pipeline_of(*spec_.machine)),
      plant_(kernel_, plant_shape(runs)),
      places_(stages_.size()) {
  outcome_.stages.resize(stages_.size());
}

PipelineProcess::~PipelineProcess() { kernel_.forget(*this); }

std::string PipelineProcess::track_of(std::size_t stage) const {
  return "pipeline " + stages_[stage].label;
}

sim::SimTime PipelineProcess::now() const { return kernel_.now(); }

// Tiers only, with the rates that runs outside the pipeline leave; files of a copy are spread over
// all servers.
twin_storage::PlantShape PipelineProcess::plant_shape(
    std::span<const jobs::TrainJob> trains) const {
  std::vector<const jobs::TrainJob*> runs;
  for (const jobs::TrainJob& t : trains) runs.push_back(&t);
  const auto left = jobs::tiers_left(*spec_.machine, stages_, runs);
  twin_storage::PlantShape shape;
  for (std::size_t t = 0; t < left.size(); ++t) {
    const machine::Tier& tier = spec_.machine->tiers[design::TierIndex(t)];
    const auto rate = [](BytesPerSecond r) {
      return r > BytesPerSecond(0) ? r : storage::kUnlimitedRate;
    };
    shape.tiers.push_back({.label = tier.label,
                           .read = rate(left[design::TierIndex(t)].read),
                           .write = rate(left[design::TierIndex(t)].write),
                           .first_byte = tier.first_byte,
                           .restore = machine::mount_time(tier)});
  }
  return shape;
}

void PipelineProcess::add_process(world::Process& process, const design::Workload& workload) {
  const int stage = jobs::stage_of(stages_, workload);
  if (stage < 0) return;
  places_[static_cast<std::size_t>(stage)].processes.push_back(&process);
  process.answer_to(*this);
}

void PipelineProcess::begin() { kernel_.schedule(now(), sim::EventRank::start, *this); }

void PipelineProcess::on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t) {
  const auto& every = spec_.machine->design().pipeline.every;
  if (every && now().seconds() + *every < spec_.horizon) {
    kernel.schedule(now().after(*every), sim::EventRank::start, *this);
  }
  begin_cycle();
}

void PipelineProcess::begin_cycle() {
  const std::size_t number = cycles_.size();
  const std::vector<sim::SimTime> never(stages_.size(), sim::SimTime::never());
  Cycle cycle{.began = now(), .ready = never, .started = never, .ended = never, .waits = {}};
  for (const jobs::PipelineStage& s : stages_) {
    cycle.waits.push_back(s.after.size());
    if (s.is_served) ++cycle.to_serve;
  }
  cycles_.push_back(std::move(cycle));
  ++outcome_.cycles;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].after.empty()) make_ready(number, s);
  }
}

void PipelineProcess::make_ready(std::size_t cycle, std::size_t stage) {
  cycles_[cycle].ready[stage] = now();
  places_[stage].line.push_back(cycle);
  start_next(stage);
}

void PipelineProcess::start_next(std::size_t stage) {
  Place& place = places_[stage];
  if (place.is_busy || place.line.empty()) return;
  const jobs::PipelineStage& s = stages_[stage];
  place.is_busy = true;
  place.cycle = place.line.front();
  place.line.pop_front();
  cycles_[place.cycle].started[stage] = now();
  ++outcome_.stages[stage].started;
  kernel_.trace(sim::TraceKind::begin, track_of(stage), s.label);
  if (!s.infeasible.empty()) return;
  if (!s.moves()) {
    place.pending = place.processes.size();
    for (world::Process* process : place.processes) process->call();
    return;
  }
  const auto spot = [](const machine::Tier* tier) {
    return twin_storage::Spot{.tier = tier == nullptr ? twin_storage::Spot::kNone
                                                      : static_cast<int>(tier->index.value())};
  };
  plant_.start(
      {.from = spot(s.from), .to = spot(s.to), .bytes = s.out, .at_most = s.way, .tag = stage},
      *this);
}

void PipelineProcess::on_arrived(sim::Kernel&, std::uint64_t tag) {
  outcome_.stages[tag].moved += stages_[tag].out;
  end_stage(tag);
}

void PipelineProcess::run_ended(world::ProcessIndex process) {
  for (std::size_t s = 0; s < places_.size(); ++s) {
    Place& place = places_[s];
    if (std::ranges::find(place.processes, process, &world::Process::index) ==
        place.processes.end()) {
      continue;
    }
    if (place.is_busy && --place.pending == 0) end_stage(s);
    return;
  }
}

void PipelineProcess::end_stage(std::size_t stage) {
  Place& place = places_[stage];
  const std::size_t number = place.cycle;
  place.is_busy = false;
  StageOutcome& o = outcome_.stages[stage];
  Cycle& cycle = cycles_[number];
  ++o.ended;
  cycle.ended[stage] = now();
  o.start_ns += (cycle.started[stage] - cycle.began).ns();
  o.end_ns += (now() - cycle.began).ns();
  o.wait_ns += (cycle.started[stage] - cycle.ready[stage]).ns();
  kernel_.trace(sim::TraceKind::end, track_of(stage), stages_[stage].label);
  if (stages_[stage].is_served && --cycle.to_serve == 0) serve(cycle);
  for (std::size_t s = stage + 1; s < stages_.size(); ++s) {
    const auto& after = stages_[s].after;
    if (std::ranges::find(after, stage) == after.end()) continue;
    if (--cycles_[number].waits[s] == 0) make_ready(number, s);
  }
  start_next(stage);
}

void PipelineProcess::serve(const Cycle& cycle) {
  const sim::SimTime since = outcome_.served++ > 0 ? known_until_ : cycle.began;
  outcome_.lead_ns += (now() - cycle.began).ns();
  outcome_.age_ns = std::max(outcome_.age_ns, (now() - since).ns());
  known_until_ = cycle.began;
}

// If the serving model should have been replaced by now, its age still counts.
void PipelineProcess::close() {
  const bool comes_back = spec_.machine->design().pipeline.every.has_value();
  if (outcome_.served > 0 && comes_back) {
    outcome_.age_ns = std::max(outcome_.age_ns, (now() - known_until_).ns());
  }
}

}  // namespace orrery::processes
