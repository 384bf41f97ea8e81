// One section per fleet about its accelerators: what one can do, and what it draws at work.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

using figures::FigureId;

using figures::assumptions::kStepPowerSpread;
// Share of the power limit from which on the limit slows a step.
constexpr double kAtLimit = 0.97;

Watts limit_of(const machine::Fleet& fleet) {
  const Watts own = fleet.accelerator()->tdp.value_or(Watts(0));
  const Watts cap = fleet.fleet->power_cap.value_or(own);
  return own > Watts(0) ? min(own, cap) : cap;
}

figures::Figure datasheet(FigureId id, double value, const catalog::Accelerator& part) {
  return {.kind = id, .estimate = exact(value, Basis::vendor, part.provenance.reference)};
}

void add_step(figures::Section& s, const review::TrainView& t, Watts limit) {
  const Watts draw = t.step.device_power;
  if (!t.feasible() || draw <= Watts(0) || limit <= Watts(0)) return;
  s.figures.push_back(
      {.kind = FigureId::draw,
       .of = t.label,
       .estimate = within(draw.base(), kStepPowerSpread, kStepPowerSpread, Basis::fitted,
                          "docs/models/clock-power.md"),
       .formula = fmt::format("{} of its limit of {}", show(draw / limit, figures::Unit::ratio),
                              brief(limit))});
  if (draw >= limit * kAtLimit) s.limit = fmt::format("power, in the step of {}", t.label);
}

figures::Section compute_section(const machine::Fleet& fleet, const review::Review& review) {
  const catalog::Accelerator& part = *fleet.accelerator();
  figures::Section s{.layer = figures::Layer::compute, .name = fleet.fleet->name};
  s.summary = fmt::format("{} x {}, {} per host", grouped(fleet.accelerators), part.name,
                          fleet.accelerators_per_host);
  if (const auto peak = part.peak(catalog::Dtype::bf16)) {
    s.figures.push_back(datasheet(FigureId::peak, peak->base(), part));
  }
  s.figures.push_back(datasheet(FigureId::device_memory, part.memory.base(), part));
  s.figures.push_back(datasheet(FigureId::memory_rate, part.memory_bandwidth.base(), part));
  const Watts limit = limit_of(fleet);
  if (limit > Watts(0)) {
    s.figures.push_back(datasheet(FigureId::power_limit, limit.base(), part));
    if (fleet.fleet->power_cap) s.figures.back().note = "capped";
  }
  for (const review::TrainView& t : review.trains) {
    if (t.fleet && t.fleet->fleet == fleet.fleet) add_step(s, t, limit);
  }
  return s;
}

}  // namespace

std::vector<figures::Section> compute_sections(const review::Review& review) {
  std::vector<figures::Section> sections;
  for (const machine::Fleet& f : review.fleets()) {
    if (f.accelerator() && f.accelerators > 0) sections.push_back(compute_section(f, review));
  }
  return sections;
}

}  // namespace orrery::verdict
