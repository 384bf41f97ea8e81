// What a run says of training, sites, racks and itself: sentences and figures by hand.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/machine/site_load.h"
#include "twin/twin/told_fixture.h"

namespace orrery::twin {
namespace {

using figures::Layer;

constexpr std::int64_t kSec = 1'000'000'000;

bool has_note(const Run& run, const std::string& begins) {
  return std::ranges::any_of(run.notes,
                             [&](const std::string& n) { return n.starts_with(begins); });
}

TEST(ToldTraining, one_fault_and_one_restart) {
  ToldRun t;
  const std::string label = t.scenario.trains[0].label;
  design::Train train = *t.scenario.trains[0].train;
  train.repeat = design::Recurrence{.every = hours(1)};
  t.scenario.trains[0].train = &train;
  JobOutcome& o = t.first().jobs[0];
  o.span_ns = 800 * kSec;
  o.interruptions = 1;
  o.outages = 1;
  o.outage_ns = 90 * kSec;
  o.windows_missed = 6;
  t.told();
  EXPECT_EQ(t.value(Layer::failure, label, "restart"), 90);
  EXPECT_EQ(t.value(Layer::failure, label, "time_between_stops"), 800);
  EXPECT_EQ(t.value(Layer::training, label, "windows_missed"), 6);
  EXPECT_EQ(t.value(Layer::training, label, "useful_rate"), 0);
  EXPECT_EQ(t.value(Layer::training, label, "run_time"), 0) << "no unit of it came";
  EXPECT_EQ(t.figure(Layer::training, label, "host_draw"), nullptr);
  EXPECT_EQ(t.figure(Layer::failure, label, "preemptions"), nullptr);
  EXPECT_EQ(t.figure(Layer::failure, label, "holds"), nullptr);
  EXPECT_EQ(t.section(Layer::training, label)->summary,
            "120 hosts, " + t.scenario.trains[0].step.layout);
  const jobs::SavePlan& save = *t.scenario.trains[0].checkpoint;
  EXPECT_EQ(t.section(Layer::storage, label + " checkpoint")->summary,
            brief(save.size) + " every " + brief(save.interval) + ", safe after " +
                brief(save.stall.safe));
  EXPECT_EQ(t.section(Layer::failure, label)->summary,
            "120 hosts, " + brief(t.scenario.trains[0].failure.mtbf) +
                " between faults of the job expected");
}

TEST(ToldTraining, goals_that_a_run_measures_are_judged) {
  ToldRun t;
  JobOutcome& o = t.first().jobs[0];
  o.span_ns = 1000 * kSec;
  o.time_ns[at(Cause::productive)] = 950 * kSec;
  const twin::Run& run = t.told();
  ASSERT_EQ(run.goals.size(), 1u) << "goodput of at least 0.9";
  EXPECT_TRUE(run.goals[0].met);
  EXPECT_NEAR(run.goals[0].actual.value, 0.95, 1e-12);
  EXPECT_EQ(run.goals_left_to_plan.size(), 1u) << "what it costs";
  EXPECT_TRUE(run.passes());
  EXPECT_EQ(run.summary, "1 of 1 goals met in 1 h of simulated time, 1 replication.");
  o.time_ns[at(Cause::productive)] = 850 * kSec;
  t.done.push_back(t.first());
  t.told();
  EXPECT_FALSE(t.run.passes());
  EXPECT_EQ(t.run.summary, "0 of 1 goals met in 1 h of simulated time, 2 replications.");
}

TEST(ToldTraining, notes_say_what_was_left_out) {
  ToldRun t;
  t.told();
  EXPECT_TRUE(has_note(t.run, "storage stands in closed form"));
  EXPECT_FALSE(has_note(t.run, "saves and reads were run"));
  EXPECT_TRUE(has_note(t.run, "carbon is by the grid's mean of a year"));
  EXPECT_FALSE(has_note(t.run, "services are answered"));
  EXPECT_FALSE(has_note(t.run, "jobs of a stream"));
  EXPECT_FALSE(has_note(t.run, "THE BOOK"));
  EXPECT_FALSE(has_note(t.run, "accelerators that an autoscaler frees"));
  t.scenario.has_storage_run = true;
  design::Serve serve;
  serve.autoscale = design::Autoscale{.min = 1, .max = 2, .target = 3};
  t.scenario.services.push_back({.job = {.serve = &serve, .label = "chat", .infeasible = "x"}});
  t.scenario.streams.push_back({.job = {{.label = "jobs", .infeasible = "x"}}});
  t.first().is_sound = false;
  t.told();
  EXPECT_TRUE(has_note(t.run, "saves and reads were run on the links they share"));
  EXPECT_FALSE(has_note(t.run, "storage stands in closed form"));
  EXPECT_TRUE(has_note(t.run, "services are answered in windows"));
  EXPECT_TRUE(has_note(t.run, "accelerators that an autoscaler frees"));
  EXPECT_TRUE(has_note(t.run, "jobs of a stream start over"));
  EXPECT_TRUE(has_note(t.run, "THE BOOK OF GPU-SECONDS DOES NOT BALANCE"));
  serve.autoscale.reset();
  t.scenario.trains.clear();
  t.first().jobs.clear();
  t.told();
  EXPECT_FALSE(has_note(t.run, "accelerators that an autoscaler frees"));
  EXPECT_FALSE(has_note(t.run, "saves and reads were run"));
  EXPECT_TRUE(Replication{}.is_sound);
}

TEST(ToldTraining, faults_are_told_by_their_names) {
  ToldRun t;
  const std::vector<std::string> names = fault_names(t.machine.models().fault_causes);
  t.first().faults.front() = 3;
  t.first().faults.back() = 8;
  t.told();
  const figures::Section* s = t.section(Layer::failure, "faults of hosts");
  ASSERT_NE(s, nullptr);
  ASSERT_EQ(s->figures.size(), 2u);
  const auto id = [](std::string name) {
    std::ranges::replace(name, ' ', '_');
    return "faults_" + name;
  };
  EXPECT_EQ(s->figures[0].id(), id(names.back()));
  EXPECT_EQ(s->figures[0].of, names.back());
  EXPECT_EQ(s->figures[1].id(), id(names.front()));
  t.first().faults.assign(names.size(), 0);
  t.told();
  EXPECT_EQ(t.section(Layer::failure, "faults of hosts"), nullptr);
}

// Outages, batteries and cooling: each is told where the design lets it happen.
TEST(ToldSite, the_story_of_a_site) {
  const auto story_of = [](const std::function<void(design::Site&)>& change) {
    design::Design d = sample_design();
    change(d.sites.front());
    auto t = std::make_unique<ToldRun>(std::move(d));
    t->first().stories[0] = {.outages = 3, .blackouts = 2, .units_lost = 4};
    t->first().stories[0].dark_ns = 90 * kSec;
    t->first().stories[0].throttled_ns = 1200 * kSec;
    t->first().stories[0].warmest_k = 7.5;
    t->told();
    return t;
  };
  const auto value = [](const ToldRun& t, const char* id) {
    return t.value(Layer::facility, t.machine.sites[design::SiteIndex(0)].site->name, id);
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

// The feed has what the fleet's hosts may draw beside what draws always.
TEST(ToldSite, a_feed_that_is_too_small_names_its_cap) {
  ToldRun t;
  t.first().sites[0].it_energy = Watts(0.9e6) * hours(1);
  t.first().sites[0].it_highest = Watts(1.3e6);
  t.told();
  const std::string name = t.machine.sites[design::SiteIndex(0)].site->name;
  const double pue = t.value(Layer::facility, name, "pue");
  const double constant = machine::load_of(t.machine, design::SiteIndex(0)).constant.base();
  const Watts highest((1.3e6 + constant) * pue);
  const auto limit_with = [&](Watts power) {
    design::Design d = sample_design();
    d.sites.front().power = power;
    ToldRun other(std::move(d));
    other.first() = t.first();
    other.told();
    return other.section(Layer::facility, name)->limit;
  };
  EXPECT_EQ(limit_with(highest * 1.000001).find("the feed"), std::string::npos);
  const FleetPart& part = t.scenario.fleets[0];
  const Watts limit(highest.base() * 0.8);
  const Watts host = (limit - Watts(constant * pue)) / (part.hosts * pue);
  ASSERT_LT(host, part.host_power.peak);
  const double cap = facility::accelerator_cap(part.host_power, host);
  const std::string fleet = part.fleet->fleet->name;
  const std::string wanted =
      "the feed: " + brief(highest) + " at peak against " + brief(limit) +
      "; power_cap: " + brief(part.host_power.accelerators / 8 * cap, 3) + " on " + fleet +
      " keeps it, at " +
      show(facility::capped_speed(cap, facility::Boundness::compute), figures::Unit::ratio) +
      " of the speed";
  EXPECT_TRUE(limit_with(limit).starts_with(wanted)) << limit_with(limit) << "\n" << wanted;
  EXPECT_NE(limit_with(highest * 0.2)
                .find("; no cap that accelerators work under keeps " + fleet + " within it"),
            std::string::npos);
}

TEST(ToldSite, lines_and_bursts_have_their_errors) {
  ToldRun t;
  t.first().sites[0].it_energy = Watts(0.9e6) * hours(1);
  t.first().sites[0].it_highest = Watts(1.3e6);
  t.told();
  const std::string name = t.machine.sites[design::SiteIndex(0)].site->name;
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
  t.told();
  EXPECT_EQ(t.figure(Layer::facility, name, "burst_" + label), nullptr);
}

TEST(ToldSite, racks_above_their_limit_are_named_worst_first) {
  ToldRun t;
  FleetPart& part = t.scenario.fleets[0];
  part.rack_limit = kilowatts(9);
  part.host_power.idle = Watts(0);
  t.first().racks.resize(1);
  for (const double kw : {11.0, 9.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0}) {
    t.first().racks[0].push_back({.energy = Joules(0), .highest = kilowatts(kw), .hosts = 4});
  }
  t.told();
  const figures::Section* s = t.section(Layer::facility, "racks of " + part.fleet->fleet->name);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->limit,
            "7 of 8 racks pass 9 kW at their highest: 7 (17 kW), 6 (16 kW), 5 (15 kW), 4 (14 kW), "
            "3 (13 kW) and 2 more; fewer nodes a rack, a power_cap or a higher limit would keep "
            "it");
  EXPECT_EQ(s->summary, "8 racks of 4 hosts, 1 on a power unit, in the first replication");
  part.host_power.peak = Watts(0);
  t.told();
  EXPECT_EQ(t.section(Layer::facility, "racks of " + part.fleet->fleet->name), nullptr);
  EXPECT_TRUE(t.run.racks.empty());
}

}  // namespace
}  // namespace orrery::twin
