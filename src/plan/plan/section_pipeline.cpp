#include <fmt/core.h>

#include "core/base/units.h"
#include "plan/plan/sections.h"

namespace orrery::plan {
namespace {

using machine::Unit;

constexpr const char* kPage = "docs/models/pipeline.md";
// Of a stage's time, either way: what its workload or tier has, and waits that are not in it.
constexpr double kBelow = 0.2;
constexpr double kAbove = 0.4;

machine::Figure time_figure(std::string id, std::string label, Seconds value,
                            std::string formula = {}) {
  return {.id = std::move(id),
          .label = std::move(label),
          .unit = Unit::seconds,
          .estimate = within(value.base(), kBelow, kAbove, Basis::derived, kPage),
          .formula = std::move(formula)};
}

// The period is exact; what follows it is not.
machine::Figure freshness_figure(std::string label, Seconds every, Seconds lead,
                                 std::string formula) {
  machine::Figure f = time_figure("freshness", std::move(label), lead, std::move(formula));
  f.estimate.value += every.base();
  f.estimate.low += every.base();
  f.estimate.high += every.base();
  return f;
}

machine::Section stage_section(const StageView& v) {
  machine::Section s{.layer = machine::Layer::cluster, .name = "pipeline: " + v.label};
  if (!v.infeasible.empty()) {
    s.summary = "never ends: " + v.infeasible;
    return s;
  }
  s.summary = v.moves() ? fmt::format("from {} to tier {}",
                                      v.from ? "tier " + v.from->label : "outside", v.to->label)
                        : "workload " + v.stage->workload;
  s.figures.push_back(time_figure("stage_start", "it starts, from the cycle's beginning", v.start));
  s.figures.push_back(time_figure("stage_end", "it ends, likewise", v.end));
  s.figures.push_back(time_figure(
      "stage_time", "it takes", v.time,
      v.moves() ? fmt::format("{} at {}", brief(v.out), brief(v.out / max(v.time, Seconds(1e-9))))
                : ""));
  const auto bytes = [&](const char* id, const char* label, Bytes value) {
    if (value <= Bytes(0)) return;
    s.figures.push_back({.id = id,
                         .label = label,
                         .unit = Unit::bytes,
                         .estimate = exact(value.base(), Basis::derived, "the design")});
  };
  bytes("bytes_in", "bytes that it reads in a cycle", v.in);
  bytes("bytes_out", "bytes that it writes in a cycle", v.out);
  return s;
}

machine::Section whole_section(const PipelineView& p) {
  machine::Section s{.layer = machine::Layer::cluster, .name = "pipeline"};
  s.summary = fmt::format("{}, {}", how_many(static_cast<std::int64_t>(p.stages.size()), "stage"),
                          p.every ? "a cycle every " + brief(*p.every) : "one cycle");
  if (!p.lead) return s;
  const StageView* longest = &p.stages.front();
  for (const StageView& v : p.stages) {
    if (v.time > longest->time) longest = &v;
  }
  s.limit =
      fmt::format("{}, {} of a lead of {}", longest->label, brief(longest->time), brief(*p.lead));
  s.figures.push_back(time_figure("lead", "from a cycle's beginning to a model that serves",
                                  *p.lead, "stages along the longest way"));
  s.figures.push_back(freshness_figure(
      "from an event to a model that serves, at worst", p.every.value_or(Seconds(0)), *p.lead,
      p.every ? fmt::format("every {} + lead {}", brief(*p.every), brief(*p.lead)) : "the lead"));
  return s;
}

}  // namespace

std::vector<machine::Section> pipeline_sections(const Review& r) {
  std::vector<machine::Section> sections;
  for (const TrainView& t : r.trains) {
    if (!t.feasible() || !t.train->features || !t.train->repeat) continue;
    machine::Section s{.layer = machine::Layer::cluster, .name = t.label + " features"};
    s.figures.push_back(freshness_figure(
        "from an event to a model that knows it, at worst", t.train->repeat->every, t.run_time,
        fmt::format("every {} + run {}", brief(t.train->repeat->every), brief(t.run_time))));
    sections.push_back(std::move(s));
  }
  if (r.pipeline.stages.empty()) return sections;
  sections.push_back(whole_section(r.pipeline));
  for (const StageView& v : r.pipeline.stages) sections.push_back(stage_section(v));
  return sections;
}

}  // namespace orrery::plan
