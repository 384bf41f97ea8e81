// A section for each fleet's accelerators: what one can do, and what it draws at work.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "plan/plan/sections.h"

namespace orrery::plan {
namespace {

// Of the mean draw of a step, docs/models/clock-power.md.
constexpr double kPowerSpread = 0.06;
// A step that draws this much of its limit is held back by it.
constexpr double kAtLimit = 0.97;

Watts limit_of(const machine::Fleet& fleet) {
  const Watts own = fleet.accelerator()->tdp.value_or(Watts(0));
  const Watts cap = fleet.fleet->power_cap.value_or(own);
  return own > Watts(0) ? min(own, cap) : cap;
}

machine::Figure datasheet(std::string id, std::string label, machine::Unit unit, double value,
                          const catalog::Accelerator& part) {
  return {.id = std::move(id),
          .label = std::move(label),
          .unit = unit,
          .estimate = exact(value, Basis::vendor, part.provenance.reference)};
}

void add_step(machine::Section& s, const TrainView& t, Watts limit) {
  const Watts draw = t.step.device_power;
  if (!t.feasible() || draw <= Watts(0) || limit <= Watts(0)) return;
  s.figures.push_back(
      {.id = "draw_" + t.label,
       .label = "mean draw of one in a step of " + t.label,
       .unit = machine::Unit::watts,
       .estimate = within(draw.base(), kPowerSpread, kPowerSpread, Basis::fitted,
                          "docs/models/clock-power.md"),
       .formula = fmt::format("{} of its limit of {}", show(draw / limit, machine::Unit::ratio),
                              brief(limit))});
  if (draw >= limit * kAtLimit) s.limit = fmt::format("power, in the step of {}", t.label);
}

machine::Section compute_section(const machine::Fleet& fleet, const Review& review) {
  const catalog::Accelerator& part = *fleet.accelerator();
  machine::Section s{.layer = machine::Layer::compute, .name = fleet.fleet->name};
  s.summary = fmt::format("{} x {}, {} a host", grouped(fleet.accelerators), part.name,
                          fleet.accelerators_per_host);
  if (const auto peak = part.peak(catalog::Dtype::bf16)) {
    s.figures.push_back(datasheet("peak", "dense bf16 peak of one", machine::Unit::flops_per_s,
                                  peak->base(), part));
  }
  s.figures.push_back(
      datasheet("memory", "memory of one", machine::Unit::bytes, part.memory.base(), part));
  s.figures.push_back(datasheet("memory_rate", "its bandwidth", machine::Unit::bytes_per_s,
                                part.memory_bandwidth.base(), part));
  const Watts limit = limit_of(fleet);
  if (limit > Watts(0)) {
    s.figures.push_back(datasheet("power_limit",
                                  fleet.fleet->power_cap ? "power limit, capped" : "power limit",
                                  machine::Unit::watts, limit.base(), part));
  }
  for (const TrainView& t : review.trains) {
    if (t.fleet && t.fleet->fleet == fleet.fleet) add_step(s, t, limit);
  }
  return s;
}

}  // namespace

std::vector<machine::Section> compute_sections(const Review& review) {
  std::vector<machine::Section> sections;
  for (const machine::Fleet& f : review.fleets()) {
    if (f.accelerator() && f.accelerators > 0) sections.push_back(compute_section(f, review));
  }
  return sections;
}

}  // namespace orrery::plan
