// What a run reports on racks and the power units that feed them.
#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/facility/power_chain.h"
#include "twin/run/site_figures.h"

namespace orrery::run {
namespace {

using figures::FigureId;
using figures::Section;

// Most racks named in a sentence, worst first; the rest are counted.
constexpr std::size_t kNamed = 5;

std::vector<RackPower> racks_of(const world::FleetPart& part,
                                std::span<const cluster::RackDraw> draws, Seconds horizon,
                                double powered) {
  std::vector<RackPower> racks;
  for (std::size_t r = 0; r < draws.size(); ++r) {
    const Watts idle = part.host_power.idle * draws[r].hosts;
    racks.push_back({.fleet = part.fleet->fleet->name,
                     .number = static_cast<int>(r),
                     .hosts = draws[r].hosts,
                     .mean = idle * powered + draws[r].energy / horizon,
                     .highest = idle + draws[r].highest,
                     .limit = part.rack_limit});
  }
  return racks;
}

// The racks on a unit need not reach their highest draw together, so the sum is an upper bound. A
// breaker carries kContinuousDerate of its rating continuously.
std::vector<RackPower> units_of(std::span<const RackPower> racks, int racks_per_unit,
                                Watts rating) {
  std::vector<RackPower> units;
  for (const RackPower& rack : racks) {
    const int number = rack.number / racks_per_unit;
    if (units.empty() || units.back().number != number) {
      units.push_back({.fleet = rack.fleet, .number = number});
    }
    RackPower& unit = units.back();
    unit.hosts += rack.hosts;
    unit.mean += rack.mean;
    unit.highest += rack.highest;
    unit.limit += rack.limit;
    if (rating > Watts(0)) unit.limit = rating * facility::kContinuousDerate;
  }
  return units;
}

std::vector<RackPower> above_limit(std::span<const RackPower> all) {
  std::vector<RackPower> above;
  for (const RackPower& r : all) {
    if (r.limit > Watts(0) && r.highest > r.limit) above.push_back(r);
  }
  std::ranges::stable_sort(above, std::ranges::greater(), &RackPower::highest);
  return above;
}

std::string finding_of(std::span<const RackPower> above, std::size_t all, std::string_view noun) {
  if (above.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, above.size()); ++i) {
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", above[i].number, brief(above[i].highest));
  }
  if (above.size() > kNamed) names += fmt::format(" and {} more", above.size() - kNamed);
  return fmt::format(
      "{} of {} {}s exceed {} at their highest: {}; use fewer nodes per rack, a power_cap or a "
      "higher limit",
      above.size(), all, noun, brief(above.front().limit), names);
}

void add(Section& s, FigureId id, Watts value) {
  s.figures.push_back(
      {.kind = id, .estimate = exact(value.base(), Basis::derived, "docs/models/simulate.md")});
}

void tell_fleet(Run& run, const world::FleetPart& part, std::vector<RackPower> racks) {
  const std::vector<RackPower> units = units_of(racks, part.racks_per_pdu, part.pdu_rating);
  Section s{.layer = figures::Layer::facility, .name = "racks of " + part.fleet->fleet->name};
  s.summary =
      fmt::format("{} rack{} of {} host{}, {} per power unit, in the first replication",
                  grouped(static_cast<std::int64_t>(racks.size())), racks.size() == 1 ? "" : "s",
                  part.hosts_per_rack, part.hosts_per_rack == 1 ? "" : "s", part.racks_per_pdu);
  const auto most = [](std::span<const RackPower> all, Watts RackPower::* of) {
    return (*std::ranges::max_element(all, {}, of)).*of;
  };
  add(s, FigureId::rack_mean, most(racks, &RackPower::mean));
  add(s, FigureId::rack_highest, most(racks, &RackPower::highest));
  if (part.racks_per_pdu > 1) {
    add(s, FigureId::pdu_mean, most(units, &RackPower::mean));
    add(s, FigureId::pdu_highest, most(units, &RackPower::highest));
  }
  if (part.rack_limit > Watts(0)) add(s, FigureId::rack_limit, part.rack_limit);
  s.limit = finding_of(above_limit(racks), racks.size(), "rack");
  if (part.pdu_rating > Watts(0)) {
    add(s, FigureId::pdu_limit, units.front().limit);
    const std::string above = finding_of(above_limit(units), units.size(), "power unit");
    s.limit += (s.limit.empty() || above.empty() ? "" : "; ") + above;
  }
  std::ranges::move(racks, std::back_inserter(run.racks));
  run.pdus.insert(run.pdus.end(), units.begin(), units.end());
  run.sections.push_back(std::move(s));
}

}  // namespace

void tell_racks(Run& run, const processes::Scenario& scenario, const Replication& first) {
  for (const design::FleetIndex f : first.racks.indices()) {
    const world::FleetPart& part = scenario.fleets[f];
    if (part.fleet->rented() || part.host_power.peak <= Watts(0) || first.racks[f].empty())
      continue;
    const double dark = static_cast<double>(first.stories[part.site].dark_ns) / 1e9;
    tell_fleet(run, part,
               racks_of(part, first.racks[f], run.simulated, 1 - dark / run.simulated.base()));
  }
}

}  // namespace orrery::run
