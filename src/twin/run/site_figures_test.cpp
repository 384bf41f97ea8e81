// What a run reports on a site: draw, hours, carbon, outages, the feed.
#include "twin/run/site_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/jobs/build_machine.h"
#include "model/machine/site_load.h"
#include "twin/run/hand_made_fixture.h"
#include "twin/run/over_replications.h"
#include "twin/run/run_figures.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

using cluster::at;

namespace {

using figures::Layer;

using figures::Figure;

// 400 g/kWh and a PUE of 1.2, except from nine to five: 100 and 1.5.
catalog::SiteHours sunny_day() {
  catalog::SiteHours day;
  for (int h = 0; h < 24; ++h) {
    const bool is_day = h >= 9 && h < 17;
    day.carbon.push_back(grams_per_kwh(is_day ? 100 : 400));
    day.pue.push_back(is_day ? 1.5 : 1.2);
  }
  return day;
}

design::Design sunny_design(std::vector<design::Workload> work) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 8;
  d.fleet.front().failures.node_mtbf = years(1e6);
  d.sites.front().hours = "day.csv";
  d.local_hours = {{.path = "day.csv", .hours = sunny_day()}};
  d.workloads = std::move(work);
  return d;
}

design::Workload jobs_that_wait(Seconds wait) {
  design::Jobs j{.rate = PerSecond(30.0 / 86400), .mean_duration = hours(1)};
  j.sizes = {8};
  if (wait > Seconds(0)) {
    j.clean_hours = design::CleanHours{.below = grams_per_kwh(200), .wait = wait};
  }
  return {.terms = {.name = "later"}, .task = j};
}

double figure(const run::Run& run, figures::Layer layer, std::string_view id) {
  for (const figures::Section& s : run.sections) {
    if (s.layer != layer) continue;
    const auto f = std::ranges::find(s.figures, id, &Figure::id);
    if (f != s.figures.end()) return f->estimate.value;
  }
  ADD_FAILURE() << "no figure " << id;
  return 0;
}

// Nothing runs, so the draw is the same all day and the arithmetic can be done by hand.
TEST(SiteFigures, carbon_of_an_idle_site_is_the_mean_over_hours) {
  const Simulated s(sunny_design({}), {.horizon = days(2) + hours(6.5)});
  const run::Run run = s.simulation.run_of(s.done);
  const Watts idle = s.simulation.scenario().fleets[world::kFirstFleet].host_power.idle * 8;
  const Watts all = idle + machine::load_of(s.machine, world::kFirstSite).constant;
  ASSERT_EQ(s.done[0].sites[world::kFirstSite].it_by_hour.size(), 55U);
  EXPECT_NEAR(s.done[0].sites[world::kFirstSite].it_by_hour[54] / (idle * hours(0.5)), 1, 1e-9);
  // Two whole days, and six and a half hours of the third, before sunrise.
  const double hours_of_night = 2 * 16 + 6.5, hours_of_day = 2 * 8;
  const double grams_per_w =
      (hours_of_night * 400 * 1.2 + hours_of_day * 100 * 1.5) / 1000;  // kWh of a watt in an hour
  EXPECT_NEAR(figure(run, figures::Layer::facility, "carbon") / (all.base() * grams_per_w), 1,
              1e-9);
  EXPECT_NEAR(figure(run, figures::Layer::facility, "carbon_match"), 1, 1e-9);
  EXPECT_NEAR(figure(run, figures::Layer::facility, "carbon_year") /
                  (all.base() / 1000 * 8760 * (16 * 400 * 1.2 + 8 * 100 * 1.5) / 24),
              1, 2e-3);  // a year has 365.25 days
}

TEST(SiteFigures, hours_add_up_to_energy_and_carbon) {
  const Simulated s(sunny_design({jobs_that_wait(hours(12))}), {.horizon = days(30)});
  const SiteOutcome& site = s.done[0].sites[world::kFirstSite];
  const Joules sum = std::accumulate(site.it_by_hour.begin(), site.it_by_hour.end(), Joules());
  EXPECT_NEAR(sum / site.it_energy, 1, 1e-9);
  const run::Run run = s.simulation.run_of(s.done);
  const auto column = std::ranges::find(run.series.columns, "main_co2_g_per_h");
  ASSERT_NE(column, run.series.columns.end());
  double grams = 0;
  for (const auto& row : run.series.means) {
    grams += row[static_cast<std::size_t>(column - run.series.columns.begin())] *
             (run.series.bin / hours(1));
  }
  EXPECT_NEAR(grams / figure(run, figures::Layer::facility, "carbon"), 1, 1e-9);
}

// Held work draws as much, only at other hours; no job is held beyond the limit, and the wait of
// jobs includes the time that they were held.
TEST(SiteFigures, held_work_moves_to_clean_hours) {
  const Simulated at_once(sunny_design({jobs_that_wait(Seconds(0))}), {.horizon = days(30)});
  const Simulated s(sunny_design({jobs_that_wait(hours(12))}), {.horizon = days(30)});
  const processes::TaskOutcome& o = s.done[0].streams[0];
  EXPECT_TRUE(s.done[0].is_sound);
  EXPECT_EQ(o.submitted, at_once.done[0].streams[0].submitted);
  EXPECT_EQ(o.submitted, o.finished + o.waiting + o.running + o.rejected);
  EXPECT_GT(o.held, o.submitted / 4);
  EXPECT_LT(o.held_s, 12.0 * 3600 * static_cast<double>(o.held));
  const auto sum = [](const std::vector<Joules>& all) {
    return std::accumulate(all.begin(), all.end(), Joules());
  };
  EXPECT_NEAR(sum(o.drawn) / sum(o.drawn_else), 1, 1e-9);
  const run::Run run = s.simulation.run_of(s.done);
  const auto of_cluster = [&](std::string_view id) {
    double value = 0;
    for (const figures::Section& section : run.sections) {
      if (section.name != "later") continue;
      const auto f = std::ranges::find(section.figures, id, &Figure::id);
      if (f != section.figures.end()) value = f->estimate.value;
    }
    return value;
  };
  EXPECT_GT(of_cluster("carbon_saved"), 0);
  EXPECT_LT(of_cluster("clean_ratio"), 0.8);
  EXPECT_GE(of_cluster("mean_wait"), 0.9 * of_cluster("clean_hold"));
  // The whole site emits less for the same energy.
  const run::Run before = at_once.simulation.run_of(at_once.done);
  EXPECT_LT(figure(run, figures::Layer::facility, "carbon_match"),
            figure(before, figures::Layer::facility, "carbon_match") - 0.005);
}

// A batch that arrives at midnight is held until nine, as in the closed form.
TEST(SiteFigures, a_batch_waits_for_clean_hours) {
  design::Batch b{.accelerator_hours = 64, .tasks = 64};
  b.repeat = design::Recurrence{.every = days(1)};
  b.clean_hours = design::CleanHours{.below = {}, .wait = hours(10)};
  const Simulated s(sunny_design({{.terms = {.name = "nightly"}, .task = b}}),
                    {.horizon = days(10)});
  const processes::TaskOutcome& o = s.done[0].batches[0];
  EXPECT_EQ(o.runs_finished, 10U);
  for (const double t : o.run_times_s) EXPECT_NEAR(t, 10 * 3600, 1);
  const auto clean = machine::clean_work(s.machine, s.machine.design().workloads[0]);
  ASSERT_TRUE(clean);
  EXPECT_NEAR(effect_of(clean->grid, clean->rule, days(1), {hours(1), hours(1)}).held / hours(1), 9,
              1e-9);
  EXPECT_NEAR(o.held_s / static_cast<double>(o.held) / 3600, 9, 1e-9);
}

// Three hours of 100, 400 and 250 g/kWh at a PUE of 1.2, 1.5 and 1.3, and a run of two and a half.
struct ToldHours {
  static design::Design design_of() {
    design::Design d = world::sample_design();
    catalog::SiteHours day;
    day.carbon = {grams_per_kwh(100), grams_per_kwh(400), grams_per_kwh(250)};
    day.pue = {1.2, 1.5, 1.3};
    d.sites.front().hours = "day.csv";
    d.local_hours = {{.path = "day.csv", .hours = day}};
    return d;
  }
  ToldHours() : t(design_of()) {
    t.scenario.horizon = hours(2.5);
    SiteOutcome& o = t.first().sites[world::kFirstSite];
    o.it_by_hour = {Joules(1e9), Joules(3e9), Joules(0.5e9)};
    o.it_energy = Joules(4.5e9);
    o.it_highest = Watts(1e6);
    constant = machine::load_of(t.machine, world::kFirstSite).constant.base();
    run.simulated = hours(2.5);
    run.replications = 1;
    run.series.bin = seconds(2700);
    run.series.means.resize(4);
    tell(run, t.scenario, t.done);
    for (const figures::Section& s : run.sections) {
      if (s.layer == Layer::facility && s.name == "main") section = &s;
    }
  }
  // Grams per joule of IT.
  double grams(int hour) const {
    const double carbon[] = {100, 400, 250};
    const double pue[] = {1.2, 1.5, 1.3};
    return carbon[hour] * pue[hour] / 3.6e6;
  }
  double energy(int hour) const {
    const double it[] = {1e9, 3e9, 0.5e9};
    return it[hour] + constant * (hour < 2 ? 3600 : 1800);
  }
  double figure(std::string_view id) const {
    for (const figures::Figure& f : section->figures) {
      if (f.id() == id) return f.estimate.value;
    }
    ADD_FAILURE() << id;
    return 0;
  }

  HandMadeRun t;
  double constant = 0;
  run::Run run;
  const figures::Section* section = nullptr;
};

TEST(SiteFigures, carbon_follows_the_hours_of_the_draw) {
  const ToldHours h;
  ASSERT_NE(h.section, nullptr);
  double carbon = 0, steady = 0;
  const double mean = 4.5e9 / 9000 + h.constant;
  for (int hour = 0; hour < 3; ++hour) {
    carbon += h.grams(hour) * h.energy(hour);
    steady += h.grams(hour) * mean * (hour < 2 ? 3600 : 1800);
  }
  EXPECT_NEAR(h.figure("carbon") / carbon, 1, 1e-9);
  EXPECT_NEAR(h.figure("carbon_match"), carbon / steady, 1e-9);
  const double year = (h.grams(0) + h.grams(1) + h.grams(2)) / 3 * mean * years(1).base();
  EXPECT_NEAR(h.figure("carbon_year") / (year * carbon / steady), 1, 1e-9);
  EXPECT_NEAR(h.figure("draw_hottest"), (1e6 + h.constant) * 1.5, 1e-3);
  EXPECT_NEAR(h.figure("it_mean"), mean, 1e-6);
  EXPECT_NEAR(h.figure("it_highest"), 1e6 + h.constant, 1e-6);
  EXPECT_NEAR(h.run.energy_j, mean * 9000, 1);
  const double pue = h.figure("pue");
  EXPECT_NEAR(h.figure("draw_mean"), mean * pue, 1e-3);
  EXPECT_NEAR(h.figure("draw_peak"), (1e6 + h.constant) * pue, 1e-3);
  EXPECT_NEAR(h.figure("energy_year") / (mean * pue * years(1).base()), 1, 1e-9);
}

// Bins of 45 minutes: the second has a quarter of the first hour and half of the second.
TEST(SiteFigures, series_of_grid_hours_are_means_of_bins) {
  const ToldHours h;
  ASSERT_EQ(h.run.series.columns, (std::vector<std::string>{"main_pue", "main_co2_g_per_h"}));
  const auto& rows = h.run.series.means;
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_NEAR(rows[0][0], 1.2, 1e-9);
  EXPECT_NEAR(rows[1][0], (1.2 * 900 + 1.5 * 1800) / 2700, 1e-9);
  EXPECT_NEAR(rows[2][0], (1.5 * 1800 + 1.3 * 900) / 2700, 1e-9);
  EXPECT_NEAR(rows[3][0], 1.3, 1e-9);
  const auto grams_in = [&](int hour, double part) {
    return h.grams(hour) * h.energy(hour) * part;
  };
  EXPECT_NEAR(rows[0][1] / (grams_in(0, 0.75) / 0.75), 1, 1e-9);
  EXPECT_NEAR(rows[1][1] / ((grams_in(0, 0.25) + grams_in(1, 0.5)) / 0.75), 1, 1e-9);
  // Only half of the third hour is simulated: its quarter of an hour has half.
  EXPECT_NEAR(rows[2][1] / ((grams_in(1, 0.5) + grams_in(2, 0.5)) / 0.75), 1, 1e-9);
  EXPECT_NEAR(rows[3][1] / (grams_in(2, 0.5) / 0.25), 1, 1e-9);
}

// Outages, batteries and cooling are reported if the design lets them happen.
TEST(SiteFigures, outages_and_cooling_faults_are_reported_if_they_can_happen) {
  const auto story_of = [](const std::function<void(design::Site&)>& change) {
    design::Design d = world::sample_design();
    change(d.sites.front());
    auto t = std::make_unique<HandMadeRun>(std::move(d));
    t->first().stories[world::kFirstSite] = {.outages = 3, .blackouts = 2, .units_lost = 4};
    t->first().stories[world::kFirstSite].dark_ns = 90 * kSecondNs;
    t->first().stories[world::kFirstSite].throttled_ns = 1200 * kSecondNs;
    t->first().stories[world::kFirstSite].warmest_k = 7.5;
    t->tell_all();
    return t;
  };
  const auto value = [](const HandMadeRun& t, const char* id) {
    return t.value(Layer::facility, t.machine.sites[world::kFirstSite].site->name, id);
  };
  const auto power = story_of([](design::Site& s) { s.outage_mtbf = days(30); });
  EXPECT_EQ(value(*power, "outages"), 3);
  EXPECT_EQ(value(*power, "blackouts"), 2);
  EXPECT_EQ(value(*power, "dark"), 90);
  EXPECT_TRUE(std::isnan(value(*power, "cooling_units_lost")));
  EXPECT_EQ(value(*power, "throttled"), 1200);
  EXPECT_EQ(value(*power, "warmest"), 7.5);
  const auto cooling = story_of([](design::Site& s) { s.cooling_unit_mtbf = days(30); });
  EXPECT_TRUE(std::isnan(value(*cooling, "outages")));
  EXPECT_EQ(value(*cooling, "cooling_units_lost"), 4);
  EXPECT_EQ(value(*cooling, "throttled"), 1200);
  const auto warm = story_of([](design::Site& s) { s.cooling_design = 35; });
  EXPECT_EQ(value(*warm, "warmest"), 7.5);
  EXPECT_TRUE(std::isnan(value(*warm, "dark")));
  const auto none = story_of([](design::Site&) {});
  EXPECT_TRUE(std::isnan(value(*none, "throttled")));
}

// The feed must carry what the fleet's hosts may draw, plus the constant draw.
TEST(SiteFigures, an_overloaded_feed_names_the_cap_that_cures_it) {
  HandMadeRun t;
  t.first().sites[world::kFirstSite].it_energy = Watts(0.9e6) * hours(1);
  t.first().sites[world::kFirstSite].it_highest = Watts(1.3e6);
  t.tell_all();
  const std::string name = t.machine.sites[world::kFirstSite].site->name;
  const double pue = t.value(Layer::facility, name, "pue");
  const double constant = machine::load_of(t.machine, world::kFirstSite).constant.base();
  const Watts highest((1.3e6 + constant) * pue);
  const auto limit_with = [&](Watts power) {
    design::Design d = world::sample_design();
    d.sites.front().power = power;
    HandMadeRun other(std::move(d));
    other.first() = t.first();
    other.tell_all();
    return other.section(Layer::facility, name)->limit;
  };
  EXPECT_EQ(limit_with(highest * 1.000001).find("the feed"), std::string::npos);
  const world::FleetPart& part = t.scenario.fleets[world::kFirstFleet];
  const Watts limit(highest.base() * 0.8);
  const Watts host = (limit - Watts(constant * pue)) / (part.hosts * pue);
  ASSERT_LT(host, part.host_power.peak);
  const double cap = facility::accelerator_cap(part.host_power, host);
  const std::string fleet = part.fleet->fleet->name;
  const std::string wanted =
      "the feed: " + brief(highest) + " at peak against " + brief(limit) +
      "; power_cap: " + brief(part.host_power.accelerators / 8 * cap, 3) + " on " + fleet +
      " keeps it below, at " +
      show(facility::capped_speed(cap, facility::Boundness::compute), figures::Unit::ratio) +
      " of the speed";
  EXPECT_TRUE(limit_with(limit).starts_with(wanted)) << limit_with(limit) << "\n" << wanted;
  EXPECT_NE(limit_with(highest * 0.2)
                .find("; no cap at which accelerators still work keeps " + fleet + " below it"),
            std::string::npos);
}

TEST(SiteFigures, swing_and_burst_figures_have_intervals) {
  HandMadeRun t;
  t.first().sites[world::kFirstSite].it_energy = Watts(0.9e6) * hours(1);
  t.first().sites[world::kFirstSite].it_highest = Watts(1.3e6);
  t.tell_all();
  const std::string name = t.machine.sites[world::kFirstSite].site->name;
  const std::string label = t.scenario.trains[0].label;
  for (const std::string id : {"line_hz_", "line_amplitude_"}) {
    const figures::Figure* f = t.figure(Layer::facility, name, id + label);
    if (f == nullptr) continue;
    EXPECT_NEAR(f->estimate.low, f->estimate.value * 0.7, f->estimate.value * 1e-9);
    EXPECT_NEAR(f->estimate.high, f->estimate.value * 1.3, f->estimate.value * 1e-9);
  }
  const figures::Figure* burst = t.figure(Layer::facility, name, "burst_" + label);
  ASSERT_NE(burst, nullptr);
  EXPECT_NEAR(burst->estimate.low, burst->estimate.value * 0.9, 1e-6);
  EXPECT_NEAR(burst->estimate.high, burst->estimate.value * 1.1, 1e-6);
  t.scenario.trains[0].infeasible = "no";
  t.tell_all();
  EXPECT_EQ(t.figure(Layer::facility, name, "burst_" + label), nullptr);
}

TEST(SiteFigures, figures_of_a_site_by_hand) {
  HandMadeRun m;
  m.done[0].sites[world::kFirstSite].it_energy = Watts(1e6) * hours(1);
  m.done[0].sites[world::kFirstSite].it_highest = Watts(2e6);
  m.tell_all();
  const machine::Site& site = m.machine.sites[world::kFirstSite];
  const std::string name = site.site->name;
  const double constant = machine::load_of(m.machine, world::kFirstSite).constant.base();
  const auto value = [&](const char* id) { return m.value(Layer::facility, name, id); };
  EXPECT_NEAR(value("it_mean"), 1e6 + constant, 1e-3);
  EXPECT_NEAR(value("it_highest"), 2e6 + constant, 1e-3);
  EXPECT_NEAR(m.run.energy_j, (1e6 + constant) * 3600, 1);
  const double pue = value("pue");
  EXPECT_GT(pue, 1);
  EXPECT_NEAR(value("draw_mean"), (1e6 + constant) * pue, 1e-3);
  EXPECT_NEAR(value("draw_peak"), (2e6 + constant) * pue, 1e-3);
  EXPECT_NEAR(value("energy_year") / ((1e6 + constant) * pue * years(1).base()), 1, 1e-12);
  ASSERT_NE(site.region, nullptr);
  EXPECT_NEAR(value("carbon_year") / (value("energy_year") * site.region->carbon.base()), 1, 1e-12);
}

}  // namespace
}  // namespace orrery::run
