#include "twin/run/site_figures.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/facility/energy.h"
#include "layers/facility/power_cap.h"
#include "layers/facility/power_limiter.h"
#include "layers/facility/spectrum.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "model/machine/site_load.h"

namespace orrery::run {
namespace {

using figures::FigureId;
using figures::Section;
using figures::Unit;

constexpr int kLines = 40;
using figures::assumptions::kPowerEdge;

// Returns one step of a job as its hosts draw it: work first, then communication that is not
// hidden.
std::vector<facility::WaveSegment> step_wave(const jobs::TrainJob& job,
                                             const facility::NodePower& host) {
  const jobs::StepPlan& p = job.step;
  const double hosts = job.hosts;
  const auto phases = power_phases(
      host, {.matrix = p.matrix_share, .memory = p.memory_share, .communication = p.exposed_share});
  std::vector<facility::WaveSegment> wave;
  for (const catalog::PowerPhase& phase : phases) {
    if (phase.share > 0) wave.push_back({p.step * phase.share, phase.node_power * hosts});
  }
  return wave;
}

void tell_swing(Section& s, const jobs::TrainJob& job, const world::FleetPart& part,
                Watts site_power) {
  const auto wave = step_wave(job, part.host_power);
  const facility::Harmonic line = strongest_in_band(lines_of(wave, kLines, kPowerEdge));
  if (line.amplitude <= Watts(0)) return;
  const auto add = [&](FigureId id, double value) {
    s.figures.push_back(
        {.kind = id,
         .of = job.label,
         .estimate = figures::estimated(id, value, Basis::derived, "docs/models/power.md")});
  };
  add(FigureId::line_hz, line.hz);
  add(FigureId::line_amplitude, line.amplitude.base());
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
      "{}the steps of {} swing by {}, more than {} of the site's power; cheapest cure: {}{}, which "
      "costs {} of the work",
      s.limit.empty() ? "" : "; ", job.label, brief(swing_of(r).amplitude),
      show(kSwingShareMax, Unit::ratio), to_text(c.kind), set, show(c.cost, Unit::ratio));
}

// Compares the feed with what it supplies, fleet by fleet, and names the caps that would keep the
// draw below it.
void tell_feed(Section& s, const processes::Scenario& scenario, design::SiteIndex site,
               const machine::SiteLoad& load, double highest_w, double pue) {
  const auto& limit = scenario.machine->sites[site].site->power;
  if (!limit || highest_w * pue <= limit->base()) return;
  std::vector<facility::Feed> feeds = {
      {.name = "site", .limit = *limit, .demand = load.constant * pue}};
  std::vector<const world::FleetPart*> parts;
  for (const world::FleetPart& p : scenario.fleets) {
    if (p.site != site || p.fleet->rented() || p.host_power.peak <= Watts(0)) continue;
    feeds.push_back(
        {.name = p.fleet->fleet->name, .parent = 0, .demand = p.host_power.peak * (p.hosts * pue)});
    parts.push_back(&p);
  }
  const facility::TreeReview tree = review_tree(feeds);
  s.limit =
      fmt::format("the feed: {} at peak against {}", brief(Watts(highest_w * pue)), brief(*limit));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const world::FleetPart& p = *parts[i];
    const Watts host = tree.feeds[i + 1].cap / (p.hosts * pue);
    const double cap = accelerator_cap(p.host_power, host);
    const Watts each = p.host_power.accelerators / std::max(1, p.accelerators_per_host);
    s.limit +=
        cap < facility::kLowestCap
            ? fmt::format("; no cap at which accelerators still work keeps {} below it",
                          p.fleet->fleet->name)
            : fmt::format("; power_cap: {} on {} keeps it below, at {} of the speed",
                          brief(each * cap, 3), p.fleet->fleet->name,
                          show(capped_speed(cap, facility::Boundness::compute), Unit::ratio));
  }
}

// Where a site's energy is booked, and its constant draw.
struct SiteDraw {
  design::SiteIndex site;
  Watts constant;
};

// Adds a draw that is constant all day to the hourly energy.
std::vector<Joules> with_constant(std::vector<Joules> all, Watts constant, Seconds horizon) {
  for (std::size_t h = 0; h < all.size(); ++h) {
    all[h] += constant * min(hours(1), horizon - hours(static_cast<double>(h)));
  }
  return all;
}

// Computes the run's carbon hour by hour, and a year's carbon: relative to all hours of the site,
// as clean as the run was relative to the hours that it saw.
void tell_carbon(Section& s, const OverReplications& over, const facility::Hours& hours_of_site,
                 const SiteDraw& draw, Seconds horizon) {
  const auto energy = [=](const Replication& r) {
    return with_constant(r.sites[draw.site].it_by_hour, draw.constant, horizon);
  };
  const auto mean_draw = [=](const Replication& r) {
    return r.sites[draw.site].it_energy / horizon + draw.constant;
  };
  const auto beside_steady = [=](const Replication& r) {
    const std::vector<Joules> own = energy(r);
    const std::vector<Joules> none(own.size());
    const GramsCo2 steady = carbon_of(hours_of_site, with_constant(none, mean_draw(r), horizon));
    return steady > GramsCo2(0) ? carbon_of(hours_of_site, own) / steady : 1;
  };
  over.add_with(power_model(), s, FigureId::carbon,
                [=](const Replication& r) { return carbon_of(hours_of_site, energy(r)).base(); });
  over.add(s, FigureId::carbon_match, beside_steady);
  over.add_with(
      power_model(), s, FigureId::carbon_year,
      [=](const Replication& r) {
        return (mean_grams(hours_of_site) * (mean_draw(r) * years(1))).base() * beside_steady(r);
      },
      fmt::format("over all {} hours that the site names", hours_of_site.pue.size()));
}

// Adds the hours of the first replication to its other levels.
void add_hours(Run& run, const machine::Site& built, const SiteOutcome& o,
               const facility::Hours& hours_of_site, Watts constant) {
  const std::vector<Joules> energy = with_constant(o.it_by_hour, constant, run.simulated);
  if (energy.empty()) return;
  run.series.columns.push_back(built.site->name + "_pue");
  run.series.columns.push_back(built.site->name + "_co2_g_per_h");
  for (std::size_t row = 0; row < run.series.means.size(); ++row) {
    const Seconds begin = run.series.bin * static_cast<double>(row);
    const Seconds end = min(begin + run.series.bin, run.simulated);
    Seconds span;
    double pue = 0;
    double grams = 0;
    for (Seconds at = begin; at < end;) {
      const auto hour = std::min(energy.size() - 1, static_cast<std::size_t>(at / hours(1)));
      const Seconds next =
          hour + 1 < energy.size() ? min(end, hours(static_cast<double>(hour + 1))) : end;
      const Seconds whole = min(hours(1), run.simulated - hours(static_cast<double>(hour)));
      pue += hours_of_site.pue_at(hour) * (next - at).base();
      grams += (hours_of_site.grams_at(hour) * energy[hour]).base() * ((next - at) / whole);
      span += next - at;
      at = next;
    }
    run.series.means[row].push_back(span > Seconds(0) ? pue / span.base() : 1);
    run.series.means[row].push_back(span > Seconds(0) ? grams / (span / hours(1)) : 0);
  }
}

// Adds what outages and the cooling did to the site, if the design allows them.
void tell_story(Section& s, const OverReplications& over, const design::Site& site,
                design::SiteIndex number) {
  const auto add = [&](FigureId id, double (*of)(const world::SiteStory&)) {
    over.add(s, id, [=](const Replication& r) { return of(r.stories[number]); });
  };
  if (site.outage_mtbf) {
    add(FigureId::outages,
        [](const world::SiteStory& t) { return static_cast<double>(t.outages); });
    add(FigureId::blackouts,
        [](const world::SiteStory& t) { return static_cast<double>(t.blackouts); });
    add(FigureId::dark,
        [](const world::SiteStory& t) { return static_cast<double>(t.dark_ns) / 1e9; });
  }
  if (site.cooling_unit_mtbf) {
    add(FigureId::cooling_units_lost,
        [](const world::SiteStory& t) { return static_cast<double>(t.units_lost); });
  }
  if (site.outage_mtbf || site.cooling_unit_mtbf || site.cooling_design) {
    add(FigureId::throttled,
        [](const world::SiteStory& t) { return static_cast<double>(t.throttled_ns) / 1e9; });
    add(FigureId::warmest, [](const world::SiteStory& t) { return t.warmest_k; });
  }
}

// Adds the highest draw at the PUE of the hottest hour that the site names.
void tell_hottest(Section& s, const OverReplications& over, const OverReplications::Of& it_highest,
                  const facility::Hours& hours_of_site) {
  const double pue = *std::ranges::max_element(hours_of_site.pue);
  over.add_with(
      power_model(), s, FigureId::draw_hottest,
      [=](const Replication& r) { return it_highest(r) * pue; }, fmt::format("PUE {:.3g}", pue));
}

}  // namespace

Estimate power_model() {
  return within(1, machine::kMeanPowerSpread, machine::kMeanPowerSpread, Basis::derived,
                "docs/models/power.md");
}

facility::Hours hours_of_run(const processes::Scenario& scenario, const OverReplications& over,
                             design::SiteIndex site) {
  const machine::SiteLoad load = machine::load_of(*scenario.machine, site);
  const double mean_w = over.estimate([&](const Replication& r) {
                              return (r.sites[site].it_energy / scenario.horizon).base();
                            })
                            .value;
  const auto power =
      site_power(scenario.machine->catalog(), load.request(Watts(mean_w) + load.constant));
  return power ? power->hours : facility::Hours{};
}

void tell_site(Run& run, const processes::Scenario& scenario, const OverReplications& over,
               design::SiteIndex site) {
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
  Section s{.layer = figures::Layer::facility, .name = built.site->name};
  over.add_with(power_model(), s, FigureId::it_mean, it_mean);
  over.add_with(power_model(), s, FigureId::it_highest, it_highest);
  const double mean_w = over.estimate(it_mean).value;
  if (const auto power = site_power(scenario.machine->catalog(), load.request(Watts(mean_w)))) {
    const double pue = power->pue.middle;
    s.figures.push_back(
        {.kind = FigureId::pue,
         .estimate = {pue, power->pue.low, power->pue.high, Basis::derived, power->pue.reference}});
    const Estimate model = power_model() * s.figures.back().estimate * (1 / pue);
    over.add_with(model, s, FigureId::draw_mean,
                  [=](const Replication& r) { return it_mean(r) * pue; });
    over.add_with(model, s, FigureId::draw_peak,
                  [=](const Replication& r) { return it_highest(r) * pue; });
    over.add_with(model, s, FigureId::energy_year,
                  [=](const Replication& r) { return it_mean(r) * pue * years(1).base(); });
    if (power->hours.is_empty()) {
      const GramsPerJoule grid = built.region ? built.region->carbon : GramsPerJoule(0);
      over.add_with(
          model * within(1, machine::kGridSpread, machine::kGridSpread, Basis::derived,
                         "docs/models/carbon.md"),
          s, FigureId::carbon_year,
          [=](const Replication& r) {
            return (grid * Joules(it_mean(r) * pue * years(1).base())).base();
          },
          "at the grid's yearly mean: the site names no `hours`");
    } else {
      tell_hottest(s, over, it_highest, power->hours);
      tell_carbon(s, over, power->hours, {.site = site, .constant = load.constant}, horizon);
      add_hours(run, built, over.done().front().sites[site], power->hours, load.constant);
    }
    tell_feed(s, scenario, site, load, over.estimate(it_highest).value, pue);
  }
  tell_story(s, over, *built.site, site);
  for (const jobs::TrainJob& job : scenario.trains) {
    if (!job.feasible() || job.fleet->rented()) continue;
    const world::FleetPart& part = scenario.fleets[job.fleet->index];
    if (part.site != site || part.host_power.peak <= Watts(0)) continue;
    tell_swing(s, job, part, built.site->power.value_or(Watts(0)));
    const Watts limit = part.host_power.accelerators / std::max(1, part.accelerators_per_host);
    const facility::WaveDraw burst = draw_of({.period = job.step.step,
                                              .duty = job.step.matrix_share,
                                              .low = limit * facility::kCommunicationLevel},
                                             facility::limiter_of(limit));
    s.figures.push_back(
        {.kind = FigureId::burst,
         .of = job.label,
         .estimate = figures::estimated(FigureId::burst, burst.highest.base(), Basis::fitted,
                                        "docs/models/power.md"),
         .formula = fmt::format("for {} of each step", brief(burst.above_limit))});
  }
  run.sections.push_back(std::move(s));
}

}  // namespace orrery::run
