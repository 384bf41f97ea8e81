// A site's hours in a run: energy and carbon by the hour, and work that waits for clean ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/machine/site_load.h"
#include "twin/twin/run_fixture.h"

namespace orrery::twin {
namespace {

using figures::Figure;

// 400 g/kWh and a PUE of 1.2, but from nine to five 100 and 1.5.
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
  design::Design d = sample_design();
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

double figure(const Run& run, figures::Layer layer, std::string_view id) {
  for (const figures::Section& s : run.sections) {
    if (s.layer != layer) continue;
    const auto f = std::ranges::find(s.figures, id, &Figure::id);
    if (f != s.figures.end()) return f->estimate.value;
  }
  ADD_FAILURE() << "no figure " << id;
  return 0;
}

// Nothing runs, so the draw is the same all day and the arithmetic can be done by hand.
TEST(HoursInTime, an_idle_site_emits_the_mean_of_the_products) {
  const Simulated s(sunny_design({}), {.horizon = days(2) + hours(6.5)});
  const twin::Run run = s.simulation.run_of(s.done);
  const Watts idle = s.simulation.scenario().fleets[0].host_power.idle * 8;
  const Watts all = idle + machine::load_of(s.machine, design::SiteIndex(0)).constant;
  ASSERT_EQ(s.done[0].sites[0].it_by_hour.size(), 55U);
  EXPECT_NEAR(s.done[0].sites[0].it_by_hour[54] / (idle * hours(0.5)), 1, 1e-9);
  // Two whole days, and the six and a half hours of a third before the sun rises.
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

TEST(HoursInTime, add_up_to_the_energy_and_the_series_to_the_carbon) {
  const Simulated s(sunny_design({jobs_that_wait(hours(12))}), {.horizon = days(30)});
  const SiteOutcome& site = s.done[0].sites[0];
  const Joules sum = std::accumulate(site.it_by_hour.begin(), site.it_by_hour.end(), Joules());
  EXPECT_NEAR(sum / site.it_energy, 1, 1e-9);
  const twin::Run run = s.simulation.run_of(s.done);
  const auto column = std::ranges::find(run.series.columns, "main_co2_g_per_h");
  ASSERT_NE(column, run.series.columns.end());
  double grams = 0;
  for (const auto& row : run.series.means) {
    grams += row[static_cast<std::size_t>(column - run.series.columns.begin())] *
             (run.series.bin / hours(1));
  }
  EXPECT_NEAR(grams / figure(run, figures::Layer::facility, "carbon"), 1, 1e-9);
}

// What is held draws as much, only at other hours; nobody is held beyond the limit, and the wait
// of the jobs holds the time that they were held.
TEST(HoursInTime, work_moves_to_clean_hours) {
  const Simulated at_once(sunny_design({jobs_that_wait(Seconds(0))}), {.horizon = days(30)});
  const Simulated s(sunny_design({jobs_that_wait(hours(12))}), {.horizon = days(30)});
  const TaskOutcome& o = s.done[0].streams[0];
  EXPECT_TRUE(s.done[0].is_sound);
  EXPECT_EQ(o.submitted, at_once.done[0].streams[0].submitted);
  EXPECT_EQ(o.submitted, o.finished + o.waiting + o.running + o.rejected);
  EXPECT_GT(o.held, o.submitted / 4);
  EXPECT_LT(o.held_s, 12.0 * 3600 * static_cast<double>(o.held));
  const auto sum = [](const std::vector<Joules>& all) {
    return std::accumulate(all.begin(), all.end(), Joules());
  };
  EXPECT_NEAR(sum(o.drawn) / sum(o.drawn_else), 1, 1e-9);
  const twin::Run run = s.simulation.run_of(s.done);
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
  const twin::Run before = at_once.simulation.run_of(at_once.done);
  EXPECT_LT(figure(run, figures::Layer::facility, "carbon_match"),
            figure(before, figures::Layer::facility, "carbon_match") - 0.005);
}

// A batch that comes at midnight is held until nine, as the closed form has it.
TEST(HoursInTime, a_batch_waits_for_the_morning) {
  design::Batch b{.accelerator_hours = 64, .tasks = 64};
  b.repeat = design::Recurrence{.every = days(1)};
  b.clean_hours = design::CleanHours{.below = {}, .wait = hours(10)};
  const Simulated s(sunny_design({{.terms = {.name = "nightly"}, .task = b}}),
                    {.horizon = days(10)});
  const TaskOutcome& o = s.done[0].batches[0];
  EXPECT_EQ(o.runs_finished, 10U);
  for (const double t : o.run_times_s) EXPECT_NEAR(t, 10 * 3600, 1);
  const auto clean = machine::clean_work(s.machine, s.machine.design().workloads[0]);
  ASSERT_TRUE(clean);
  EXPECT_NEAR(effect_of(clean->grid, clean->rule, days(1), {hours(1), hours(1)}).held / hours(1), 9,
              1e-9);
  EXPECT_NEAR(o.held_s / static_cast<double>(o.held) / 3600, 9, 1e-9);
}

}  // namespace
}  // namespace orrery::twin
