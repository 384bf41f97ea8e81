// What a run reports on its pipeline: stage by stage, and the highest age of the serving model's
// data.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "twin/run/work_figures.h"

namespace orrery::run {
namespace {

using figures::FigureId;
using figures::Layer;
using figures::Section;

constexpr double kNano = 1e-9;

// Adds a figure that every replication has: if some lack it, there is no mean.
template <class Has>
bool all_have(const OverReplications& over, const Has& has) {
  return std::ranges::all_of(over.done(), has);
}

void tell_stage(Run& run, const jobs::PipelineStage& s, const OverReplications& over,
                std::size_t at) {
  Section section{.layer = Layer::cluster, .name = "pipeline: " + s.label};
  section.summary =
      s.moves() ? fmt::format("from {} to tier {}", s.from ? "tier " + s.from->label : "outside",
                              s.to ? s.to->label : "none")
                : "workload " + s.stage->workload;
  const auto add = [&](FigureId id, auto of) {
    over.add(section, id, [at, of](const Replication& r) { return of(r.pipeline.stages[at]); });
  };
  using O = processes::StageOutcome;
  add(FigureId::stage_runs, [](const O& o) { return static_cast<double>(o.ended); });
  if (all_have(over, [at](const Replication& r) { return r.pipeline.stages[at].ended > 0; })) {
    add(FigureId::stage_start, [](const O& o) { return o.mean_s(o.start_ns); });
    add(FigureId::stage_end, [](const O& o) { return o.mean_s(o.end_ns); });
    add(FigureId::stage_time, [](const O& o) { return o.mean_s(o.end_ns - o.start_ns); });
    const auto waits = [at](const Replication& r) {
      return r.pipeline.stages[at].mean_s(r.pipeline.stages[at].wait_ns);
    };
    if (over.estimate(waits).high > 0) {
      over.add(section, FigureId::stage_wait, waits);
    }
  }
  if (s.moves()) {
    add(FigureId::bytes_moved, [](const O& o) { return o.moved.base(); });
  }
  run.sections.push_back(std::move(section));
}

void tell_whole(Run& run, const machine::Machine& m, const OverReplications& over) {
  const auto& every = m.design().pipeline.every;
  Section s{.layer = Layer::cluster, .name = "pipeline"};
  s.summary = fmt::format("{} stages, {}", m.design().pipeline.stages.size(),
                          every ? "a cycle every " + brief(*every) : "one cycle");
  over.add(s, FigureId::cycles,
           [](const Replication& r) { return static_cast<double>(r.pipeline.cycles); });
  over.add(s, FigureId::models_served,
           [](const Replication& r) { return static_cast<double>(r.pipeline.served); });
  if (all_have(over, [](const Replication& r) { return r.pipeline.served > 0; })) {
    over.add(s, FigureId::lead, [](const Replication& r) {
      return static_cast<double>(r.pipeline.lead_ns) * kNano /
             static_cast<double>(r.pipeline.served);
    });
    over.add(
        s, FigureId::freshness,
        [](const Replication& r) { return static_cast<double>(r.pipeline.age_ns) * kNano; },
        "the highest age of the serving model's data, counted from the start of its cycle");
  } else {
    run.notes.push_back(
        "pipeline: none of its models serves within the simulated time, so its freshness is "
        "unknown; simulate longer, or see where its stages wait");
  }
  run.sections.push_back(std::move(s));
}

// A run that repeats on its own.
void tell_features(Run& run, const processes::Scenario& scenario, const OverReplications& over,
                   std::size_t j) {
  const jobs::TrainJob& t = scenario.trains[j];
  const bool has_figure =
      t.train->features && t.train->repeat &&
      all_have(over, [j](const Replication& r) { return r.jobs[j].runs_finished > 1; });
  if (!has_figure) return;
  Section s{.layer = Layer::cluster, .name = t.label + " features"};
  over.add(
      s, FigureId::freshness,
      [j](const Replication& r) { return static_cast<double>(r.jobs[j].age_ns) * kNano; },
      "from the start of a run to the end of the next");
  run.sections.push_back(std::move(s));
}

}  // namespace

void tell_pipeline(Run& run, const processes::Scenario& scenario, const OverReplications& over) {
  for (std::size_t j = 0; j < scenario.trains.size(); ++j) tell_features(run, scenario, over, j);
  const auto stages = jobs::pipeline_of(*scenario.machine);
  if (stages.empty()) return;
  tell_whole(run, *scenario.machine, over);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    tell_stage(run, stages[i], over, i);
    if (!stages[i].infeasible.empty()) {
      run.infeasible.push_back(fmt::format("stage {} of the pipeline cannot end: {}",
                                           stages[i].label, stages[i].infeasible));
    }
  }
  run.notes.push_back(
      "pipeline: its copies share their tiers with each other and leave to runs outside the "
      "pipeline what those use on average; they do not slow the saves and reads of those runs");
}

}  // namespace orrery::run
