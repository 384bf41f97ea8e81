#include <fmt/core.h>

#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

using figures::Unit;

constexpr const char* kPage = "docs/models/pipeline.md";
using figures::assumptions::kStageAbove;
using figures::assumptions::kStageBelow;

figures::Figure time_figure(FigureId id, Seconds value, std::string formula = {}) {
  return {.kind = id,
          .estimate = within(value.base(), kStageBelow, kStageAbove, Basis::derived, kPage),
          .formula = std::move(formula)};
}

// The period is exact; the time after it is not.
figures::Figure freshness_figure(Seconds every, Seconds lead, std::string formula) {
  figures::Figure f = time_figure(FigureId::freshness, lead, std::move(formula));
  f.estimate.value += every.base();
  f.estimate.low += every.base();
  f.estimate.high += every.base();
  return f;
}

figures::Section stage_section(const review::StageView& v) {
  figures::Section s{.layer = figures::Layer::cluster, .name = "pipeline: " + v.label};
  if (!v.infeasible.empty()) {
    s.summary = "never ends: " + v.infeasible;
    return s;
  }
  s.summary = v.moves() ? fmt::format("from {} to tier {}",
                                      v.from ? "tier " + v.from->label : "outside", v.to->label)
                        : "workload " + v.stage->workload;
  s.figures.push_back(time_figure(FigureId::stage_start, v.start));
  s.figures.push_back(time_figure(FigureId::stage_end, v.end));
  s.figures.push_back(time_figure(
      FigureId::stage_time, v.time,
      v.moves() ? fmt::format("{} at {}", brief(v.out), brief(v.out / max(v.time, Seconds(1e-9))))
                : ""));
  const auto bytes = [&](FigureId id, Bytes value) {
    if (value <= Bytes(0)) return;
    s.figures.push_back(
        {.kind = id, .estimate = exact(value.base(), Basis::derived, "the design")});
  };
  bytes(FigureId::bytes_in, v.in);
  bytes(FigureId::bytes_out, v.out);
  return s;
}

figures::Section whole_section(const review::PipelineView& p) {
  figures::Section s{.layer = figures::Layer::cluster, .name = "pipeline"};
  s.summary = fmt::format("{}, {}", how_many(static_cast<std::int64_t>(p.stages.size()), "stage"),
                          p.every ? "a cycle every " + brief(*p.every) : "one cycle");
  if (!p.lead) return s;
  const review::StageView* longest = &p.stages.front();
  for (const review::StageView& v : p.stages) {
    if (v.time > longest->time) longest = &v;
  }
  s.limit =
      fmt::format("{}, {} of a lead of {}", longest->label, brief(longest->time), brief(*p.lead));
  s.figures.push_back(time_figure(FigureId::lead, *p.lead, "stages along the critical path"));
  s.figures.push_back(freshness_figure(
      p.every.value_or(Seconds(0)), *p.lead,
      p.every ? fmt::format("every {} + lead {}", brief(*p.every), brief(*p.lead)) : "the lead"));
  return s;
}

}  // namespace

std::vector<figures::Section> pipeline_sections(const review::Review& r) {
  std::vector<figures::Section> sections;
  for (const review::TrainView& t : r.trains) {
    if (!t.feasible() || !t.train->features || !t.train->repeat) continue;
    figures::Section s{.layer = figures::Layer::cluster, .name = t.label + " features"};
    s.figures.push_back(freshness_figure(
        t.train->repeat->every, t.run_time,
        fmt::format("every {} + run {}", brief(t.train->repeat->every), brief(t.run_time))));
    sections.push_back(std::move(s));
  }
  if (r.pipeline.stages.empty()) return sections;
  sections.push_back(whole_section(r.pipeline));
  for (const review::StageView& v : r.pipeline.stages) sections.push_back(stage_section(v));
  return sections;
}

}  // namespace orrery::verdict
