// What a run says of a site that names its hours: carbon, and the columns beside its levels.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/machine/site_load.h"
#include "twin/twin/told_fixture.h"

namespace orrery::twin {
namespace {

using figures::Layer;

// Three hours of 100, 400 and 250 g/kWh at a PUE of 1.2, 1.5 and 1.3, and a run of two and a half.
struct ToldHours {
  static design::Design design_of() {
    design::Design d = sample_design();
    catalog::SiteHours day;
    day.carbon = {grams_per_kwh(100), grams_per_kwh(400), grams_per_kwh(250)};
    day.pue = {1.2, 1.5, 1.3};
    d.sites.front().hours = "day.csv";
    d.local_hours = {{.path = "day.csv", .hours = day}};
    return d;
  }
  ToldHours() : t(design_of()) {
    t.scenario.horizon = hours(2.5);
    SiteOutcome& o = t.first().sites[0];
    o.it_by_hour = {Joules(1e9), Joules(3e9), Joules(0.5e9)};
    o.it_energy = Joules(4.5e9);
    o.it_highest = Watts(1e6);
    constant = machine::load_of(t.machine, design::SiteIndex(0)).constant.base();
    run.simulated = hours(2.5);
    run.replications = 1;
    run.series.bin = seconds(2700);
    run.series.means.resize(4);
    tell(run, t.scenario, t.done);
    for (const figures::Section& s : run.sections) {
      if (s.layer == Layer::facility && s.name == "main") section = &s;
    }
  }
  // Grams a joule of IT.
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

  ToldRun t;
  double constant = 0;
  Run run;
  const figures::Section* section = nullptr;
};

TEST(ToldHours, carbon_is_that_of_the_hours_it_was_drawn_in) {
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
TEST(ToldHours, the_series_has_their_means_in_every_bin) {
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
  // Half of the third hour is all that there is of it: a quarter of an hour has a half.
  EXPECT_NEAR(rows[2][1] / ((grams_in(1, 0.5) + grams_in(2, 0.5)) / 0.75), 1, 1e-9);
  EXPECT_NEAR(rows[3][1] / (grams_in(2, 0.5) / 0.25), 1, 1e-9);
}

}  // namespace
}  // namespace orrery::twin
