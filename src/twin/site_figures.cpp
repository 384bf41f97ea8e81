#include "twin/site_figures.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "facility/energy.h"
#include "facility/power_cap.h"
#include "facility/power_limiter.h"
#include "facility/spectrum.h"
#include "machine/site_load.h"

namespace orrery::twin {
namespace {

using machine::Section;
using machine::Unit;

constexpr int kLines = 40;
// At the accelerator an edge lasts milliseconds; racks and cables smooth it no further.
constexpr Seconds kEdge = milliseconds(10);

// One step of a job as its hosts draw it: work first, then what communication is not hidden.
std::vector<facility::WaveSegment> step_wave(const machine::TrainJob& job,
                                             const facility::NodePower& host) {
  const machine::StepPlan& p = job.step;
  const double hosts = job.hosts;
  const auto phases = power_phases(
      host, {.matrix = p.matrix_share, .memory = p.memory_share, .communication = p.exposed_share});
  std::vector<facility::WaveSegment> wave;
  for (const catalog::PowerPhase& phase : phases) {
    if (phase.share > 0) wave.push_back({p.step * phase.share, phase.node_power * hosts});
  }
  return wave;
}

void tell_swing(Section& s, const machine::TrainJob& job, const FleetPart& part, Watts site_power) {
  const auto wave = step_wave(job, part.host_power);
  const facility::Harmonic line = strongest_in_band(lines_of(wave, kLines, kEdge));
  if (line.amplitude <= Watts(0)) return;
  const auto add = [&](const char* id, std::string label, Unit unit, double value) {
    s.figures.push_back(
        {.id = id + job.label,
         .label = std::move(label),
         .unit = unit,
         .estimate = within(value, 0.3, 0.3, Basis::derived, "docs/models/power.md")});
  };
  add("line_hz_", fmt::format("strongest line of {}'s steps, a second", job.label),
      Unit::per_second, line.hz);
  add("line_", fmt::format("its amplitude ({})", job.label), Unit::watts, line.amplitude.base());
  if (site_power <= Watts(0)) return;
  facility::SwingRequest r = facility::swing_request(
      power_phases(part.host_power, {.matrix = job.step.matrix_share,
                                     .memory = job.step.memory_share,
                                     .communication = job.step.exposed_share}),
      job.hosts, job.step.step);
  const double accelerators = part.host_power.accelerators / part.host_power.nameplate;
  const auto cures = cures_for(r, site_power * kSwingShareMax, accelerators);
  if (cures.empty()) return;
  const facility::Cure& c = cures.front();
  const std::string set = c.kind == facility::CureKind::storage
                              ? ""
                              : fmt::format(" at {}", show(c.setting, Unit::ratio));
  s.limit += fmt::format(
      "{}the steps of {} swing by {}, above {} of the site; cheapest cure: {}{}, which costs {} of "
      "the work",
      s.limit.empty() ? "" : "; ", job.label, brief(swing_of(r).amplitude),
      show(kSwingShareMax, Unit::ratio), to_text(c.kind), set, show(c.cost, Unit::ratio));
}

// The feed against what stands behind it, fleet by fleet, and the caps that would keep it.
void tell_feed(Section& s, const Scenario& scenario, std::size_t site,
               const machine::SiteLoad& load, double highest_w, double pue) {
  const auto& limit = scenario.machine->sites[site].site->power;
  if (!limit || highest_w * pue <= limit->base()) return;
  std::vector<facility::Feed> feeds = {
      {.name = "site", .limit = *limit, .demand = load.constant * pue}};
  std::vector<const FleetPart*> parts;
  for (const FleetPart& p : scenario.fleets) {
    if (p.site != site || p.fleet->rented() || p.host_power.peak <= Watts(0)) continue;
    feeds.push_back(
        {.name = p.fleet->fleet->name, .parent = 0, .demand = p.host_power.peak * (p.hosts * pue)});
    parts.push_back(&p);
  }
  const facility::TreeReview tree = review_tree(feeds);
  s.limit =
      fmt::format("the feed: {} at peak against {}", brief(Watts(highest_w * pue)), brief(*limit));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const FleetPart& p = *parts[i];
    const Watts host = tree.feeds[i + 1].cap / (p.hosts * pue);
    const double cap = accelerator_cap(p.host_power, host);
    const Watts each = p.host_power.accelerators / std::max(1, p.accelerators_per_host);
    s.limit +=
        cap < facility::kLowestCap
            ? fmt::format("; no cap that accelerators work under keeps {} within it",
                          p.fleet->fleet->name)
            : fmt::format("; power_cap: {} on {} keeps it, at {} of the speed",
                          brief(each * cap, 3), p.fleet->fleet->name,
                          show(capped_speed(cap, facility::Boundness::compute), Unit::ratio));
  }
}

}  // namespace

void tell_site(Run& run, const Scenario& scenario, const OverReplications& over, std::size_t site) {
  const machine::SiteLoad load = machine::load_of(*scenario.machine, site);
  const Seconds horizon = run.simulated;
  const OverReplications::Of it_mean = [=](const Replication& r) {
    return (r.sites[site].it_energy / horizon + load.constant).base();
  };
  const OverReplications::Of it_highest = [=](const Replication& r) {
    return (r.sites[site].it_highest + load.constant).base();
  };
  run.energy_j += over.estimate(it_mean).value * horizon.base();
  if (load.hosts_nameplate <= Watts(0)) return;
  const machine::Site& built = scenario.machine->sites[site];
  Section s{.layer = machine::Layer::facility, .name = built.site->name};
  over.add(s, "it_mean", "IT power, mean", Unit::watts, it_mean);
  over.add(s, "it_highest", "IT power, all at their highest phase", Unit::watts, it_highest);
  const double mean_w = over.estimate(it_mean).value;
  if (const auto power = site_power(scenario.machine->catalog(), load.request(Watts(mean_w)))) {
    const double pue = power->pue.middle;
    s.figures.push_back(
        {.id = "pue",
         .label = "PUE at that load",
         .unit = Unit::factor,
         .estimate = {pue, power->pue.low, power->pue.high, Basis::derived, power->pue.reference}});
    over.add(s, "draw_mean", "site draw, mean", Unit::watts,
             [=](const Replication& r) { return it_mean(r) * pue; });
    over.add(s, "draw_peak", "site draw at the highest", Unit::watts,
             [=](const Replication& r) { return it_highest(r) * pue; });
    over.add(s, "energy_year", "energy of a year at that mean", Unit::joules,
             [=](const Replication& r) { return it_mean(r) * pue * years(1).base(); });
    const GramsPerJoule grid = built.region ? built.region->carbon : GramsPerJoule(0);
    over.add(s, "carbon_year", "carbon of a year at that mean", Unit::grams_co2,
             [=](const Replication& r) {
               return (grid * Joules(it_mean(r) * pue * years(1).base())).base();
             });
    tell_feed(s, scenario, site, load, over.estimate(it_highest).value, pue);
  }
  for (const machine::TrainJob& job : scenario.trains) {
    if (!job.feasible() || job.fleet->rented()) continue;
    const FleetPart& part = scenario.fleets[scenario.machine->index_of(*job.fleet)];
    if (part.site != site || part.host_power.peak <= Watts(0)) continue;
    tell_swing(s, job, part, built.site->power.value_or(Watts(0)));
    const Watts limit = part.host_power.accelerators / std::max(1, part.accelerators_per_host);
    const facility::WaveDraw burst = draw_of({.period = job.step.step,
                                              .duty = job.step.matrix_share,
                                              .low = limit * facility::kCommunicationLevel},
                                             facility::limiter_of(limit));
    s.figures.push_back(
        {.id = "burst_" + job.label,
         .label = fmt::format("one accelerator as a step of {} begins", job.label),
         .unit = Unit::watts,
         .estimate = within(burst.highest.base(), 0.1, 0.1, Basis::fitted, "docs/models/power.md"),
         .formula = fmt::format("for {} of each step", brief(burst.above_limit))});
  }
  run.sections.push_back(std::move(s));
}

}  // namespace orrery::twin
