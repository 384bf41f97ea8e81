// Figures from the outcomes of replications: training runs, fleets, faults, goals, the diagnosis.
#include "twin/run/run_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/machine/site_load.h"
#include "twin/processes/service_process.h"
#include "twin/run/hand_made_fixture.h"
#include "twin/run/over_replications.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

using cluster::at;
using cluster::ByCause;
using cluster::Cause;
using cluster::GpuTime;

namespace {

using figures::Layer;

TEST(RunFigures, figures_of_a_training_run_by_hand) {
  HandMadeRun m;
  const std::string label = m.scenario.trains[0].label;
  processes::JobOutcome& o = m.done[0].jobs[0];
  o.span_ns = 2000 * kSecondNs;
  o.time_ns[at(Cause::productive)] = 1500 * kSecondNs;
  o.time_ns[at(Cause::save)] = 100 * kSecondNs;
  o.time_ns[at(Cause::lost)] = 300 * kSecondNs;
  o.time_ns[at(Cause::start)] = 100 * kSecondNs;
  o.units = 5e6;
  o.interruptions = 4;
  o.outages = 3;
  o.outage_ns = 90 * kSecondNs;
  o.saves = 7;
  o.restores = 5;
  o.preemptions = 2;
  o.holds = 1;
  o.host_draw = Watts(8000);
  m.tell_all();
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "useful_rate"), 2500);
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "host_draw"), 8000);
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "runs_finished"), 0);
  // At that pace: all units, of which 5 million were done in the hour.
  EXPECT_NEAR(m.value(Layer::training, label, "run_time"), m.scenario.trains[0].units / 5e6 * 3600,
              1e-3);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "goodput"), 0.75);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "interruptions_seen"), 4);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "time_between_stops"), 500);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "restart"), 30);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "preemptions"), 2);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "holds"), 1);
  EXPECT_EQ(m.find(Layer::failure, label, "shrinks"), nullptr);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "time_share_saving"), 0.05);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "time_share_work_done_again"), 0.15);
  EXPECT_EQ(m.find(Layer::failure, label, "time_share_restoring"), nullptr);
  EXPECT_EQ(m.find(Layer::failure, label, "time_share_productive"), nullptr);
  EXPECT_DOUBLE_EQ(m.value(Layer::storage, label + " checkpoint", "saves"), 7);
  EXPECT_DOUBLE_EQ(m.value(Layer::storage, label + " checkpoint", "restores"), 5);
  EXPECT_DOUBLE_EQ(m.value(Layer::storage, label + " checkpoint", "stall"),
                   m.scenario.trains[0].checkpoint->stall.total.base());
  // Productive first, then the losses, largest first; if equal, the earlier cause.
  ASSERT_EQ(m.run.waterfalls.size(), 1u);
  std::vector<Cause> causes;
  for (const WaterfallStep& w : m.run.waterfalls[0].steps) causes.push_back(w.cause);
  EXPECT_EQ(causes,
            (std::vector<Cause>{Cause::productive, Cause::lost, Cause::save, Cause::start}));
  const jobs::StepPlan& p = m.scenario.trains[0].step;
  const Estimate* step = m.find(Layer::training, label, "step_time");
  EXPECT_DOUBLE_EQ(step->value, p.step.base());
  EXPECT_NEAR(step->high, p.step.base() * (1 + p.error), 1e-12);
  EXPECT_NEAR(step->low, p.step.base() / (1 + p.error), 1e-12);
}

TEST(RunFigures, figures_of_a_run_that_ended_and_one_that_never_began) {
  HandMadeRun m(world::sample_design(), 2);
  const std::string label = m.scenario.trains[0].label;
  for (Replication& r : m.done) {
    r.jobs[0].runs_finished = 1;
    r.jobs[0].finished_ns = (r.number + 1) * 100 * kSecondNs;
    r.jobs[0].shrinks = 3;
    r.jobs[0].grows = 2;
    r.jobs[0].span_ns = 50 * kSecondNs;
  }
  m.tell_all();
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "run_time"), 150);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "shrinks"), 3);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "grows"), 2);
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "time_between_stops"), 50)
      << "none in all its time";
  EXPECT_DOUBLE_EQ(m.value(Layer::failure, label, "restart"), 0);
  m.done[1].jobs[0].runs_finished = 0;
  m.done[1].jobs[0].never_fits = true;
  m.tell_all();
  EXPECT_TRUE(m.run.infeasible.empty()) << "only the first replication can say so";
  m.done[0].jobs[0].never_fits = true;
  m.tell_all();
  ASSERT_EQ(m.run.infeasible.size(), 1u);
  EXPECT_TRUE(m.run.infeasible[0].starts_with(label + " never starts"));
  EXPECT_FALSE(m.run.passes());
}

TEST(RunFigures, figures_of_fleets_and_faults_by_hand) {
  HandMadeRun m;
  ByCause<GpuTime>& t = m.done[0].fleet_time[world::kFirstFleet];
  t[at(Cause::productive)] = 40;
  t[at(Cause::straggler)] = 4;
  t[at(Cause::heat)] = 6;
  t[at(Cause::save)] = 5;
  t[at(Cause::lost)] = 15;
  t[at(Cause::detect)] = 3;
  t[at(Cause::restore)] = 7;
  t[at(Cause::reserve)] = 9;
  t[at(Cause::idle)] = 11;
  const std::string fleet = m.scenario.fleets[world::kFirstFleet].fleet->fleet->name;
  m.done[0].faults[1] = 2;
  m.done[0].faults[3] = 5;
  m.done[0].lemons_found = 1;
  m.tell_all();
  const auto share = [&](const char* id) { return m.value(Layer::cluster, fleet, id); };
  EXPECT_DOUBLE_EQ(share("fleet_share_productive"), 0.4);
  EXPECT_DOUBLE_EQ(share("fleet_share_stall"), 0.1);
  EXPECT_DOUBLE_EQ(share("fleet_share_checkpoint"), 0.05);
  EXPECT_DOUBLE_EQ(share("fleet_share_lost"), 0.15);
  EXPECT_DOUBLE_EQ(share("fleet_share_restart"), 0.1);
  EXPECT_DOUBLE_EQ(share("fleet_share_idle"), 0.2);
  const figures::Section* faults = m.section(Layer::failure, "faults of hosts");
  ASSERT_NE(faults, nullptr);
  ASSERT_EQ(faults->figures.size(), 3u);
  EXPECT_EQ(faults->figures[0].estimate.value, 5) << "the most frequent first";
  EXPECT_EQ(faults->figures[1].estimate.value, 2);
  EXPECT_EQ(faults->figures[2].id(), "lemons_found");
}

TEST(RunFigures, below_80_percent_busy_the_largest_loss_is_named) {
  HandMadeRun m;
  ByCause<GpuTime>& t = m.done[0].gpu_time;
  t[at(Cause::productive)] = 80;
  t[at(Cause::start)] = 20;
  m.tell_all();
  EXPECT_EQ(m.run.diagnosis, "");
  t[at(Cause::productive)] = 50;
  t[at(Cause::start)] = 30;
  t[at(Cause::idle)] = 20;
  m.tell_all();
  EXPECT_TRUE(m.run.diagnosis.starts_with(
      "Accelerators are productive 50 % of the time. The largest loss, 30 % of the time, is "
      "'starting' (layer cluster): "))
      << m.run.diagnosis;
  t[at(Cause::idle)] = 70;
  m.done[0].jobs[0].never_fits = true;
  m.tell_all();
  EXPECT_NE(m.run.diagnosis.find(m.scenario.trains[0].label + " never starts"), std::string::npos);
  EXPECT_NE(m.run.summary.find("1 h of simulated time, 1 replication."), std::string::npos)
      << m.run.summary;
}

bool has_note(const run::Run& run, const std::string& begins) {
  return std::ranges::any_of(run.notes,
                             [&](const std::string& n) { return n.starts_with(begins); });
}

TEST(RunFigures, a_run_with_one_fault_and_one_restart) {
  HandMadeRun t;
  const std::string label = t.scenario.trains[0].label;
  design::Train train = *t.scenario.trains[0].train;
  train.repeat = design::Recurrence{.every = hours(1)};
  t.scenario.trains[0].train = &train;
  processes::JobOutcome& o = t.first().jobs[0];
  o.span_ns = 800 * kSecondNs;
  o.interruptions = 1;
  o.outages = 1;
  o.outage_ns = 90 * kSecondNs;
  o.windows_missed = 6;
  t.tell_all();
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

TEST(RunFigures, a_run_judges_the_goals_it_measures) {
  HandMadeRun t;
  processes::JobOutcome& o = t.first().jobs[0];
  o.span_ns = 1000 * kSecondNs;
  o.time_ns[at(Cause::productive)] = 950 * kSecondNs;
  const run::Run& run = t.tell_all();
  ASSERT_EQ(run.goals.size(), 1u) << "goodput of at least 0.9";
  EXPECT_TRUE(run.goals[0].met);
  EXPECT_NEAR(run.goals[0].actual.value, 0.95, 1e-12);
  EXPECT_EQ(run.goals_left_to_plan.size(), 1u) << "what it costs";
  EXPECT_TRUE(run.passes());
  EXPECT_EQ(run.summary, "1 of 1 goals met in 1 h of simulated time, 1 replication.");
  o.time_ns[at(Cause::productive)] = 850 * kSecondNs;
  t.done.push_back(t.first());
  t.tell_all();
  EXPECT_FALSE(t.run.passes());
  EXPECT_EQ(t.run.summary, "0 of 1 goals met in 1 h of simulated time, 2 replications.");
}

TEST(RunFigures, notes_list_what_is_not_simulated) {
  HandMadeRun t;
  t.tell_all();
  EXPECT_TRUE(has_note(t.run, "storage is not simulated"));
  EXPECT_FALSE(has_note(t.run, "saves and reads were simulated"));
  EXPECT_TRUE(has_note(t.run, "carbon uses the grid's yearly mean"));
  EXPECT_FALSE(has_note(t.run, "services are answered"));
  EXPECT_FALSE(has_note(t.run, "jobs of a stream"));
  EXPECT_FALSE(has_note(t.run, "THE GPU-SECONDS"));
  EXPECT_FALSE(has_note(t.run, "accelerators that an autoscaler frees"));
  t.scenario.has_storage_run = true;
  design::Serve serve;
  serve.autoscale = design::Autoscale{.min = 1, .max = 2, .target = 3};
  t.scenario.services.push_back({.job = named_job<jobs::ServeJob>("chat", "x")});
  t.scenario.services.back().job.serve = &serve;
  t.scenario.streams.push_back({.job = named_job<jobs::StreamJob>("jobs", "x")});
  t.first().is_sound = false;
  t.tell_all();
  EXPECT_TRUE(has_note(t.run, "saves and reads were simulated on the links that they share"));
  EXPECT_FALSE(has_note(t.run, "storage is not simulated"));
  EXPECT_TRUE(has_note(t.run, "services are answered in windows"));
  EXPECT_TRUE(has_note(t.run, "accelerators that an autoscaler frees"));
  EXPECT_TRUE(has_note(t.run, "jobs of a stream start over"));
  EXPECT_TRUE(has_note(t.run, "THE GPU-SECONDS DO NOT ADD UP"));
  serve.autoscale.reset();
  t.scenario.trains.clear();
  t.first().jobs.clear();
  t.tell_all();
  EXPECT_FALSE(has_note(t.run, "accelerators that an autoscaler frees"));
  EXPECT_FALSE(has_note(t.run, "saves and reads were simulated"));
  EXPECT_TRUE(Replication{}.is_sound);
}

TEST(RunFigures, faults_are_counted_by_cause) {
  HandMadeRun t;
  const std::vector<std::string> names = world::fault_names(t.machine.models().fault_causes);
  t.first().faults.front() = 3;
  t.first().faults.back() = 8;
  t.tell_all();
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
  t.tell_all();
  EXPECT_EQ(t.section(Layer::failure, "faults of hosts"), nullptr);
}

processes::JobOutcome listed_job() {
  processes::JobOutcome o;
  o.span_ns = 1000 * kSecondNs;
  o.time_ns[at(Cause::productive)] = 700 * kSecondNs;
  o.time_ns[at(Cause::feed)] = 40 * kSecondNs;
  o.time_ns[at(Cause::save)] = 100 * kSecondNs;
  o.time_ns[at(Cause::lost)] = 60 * kSecondNs;
  o.time_ns[at(Cause::detect)] = 10 * kSecondNs;
  o.time_ns[at(Cause::start)] = 90 * kSecondNs;
  o.interruptions = o.outages = 2;
  o.outage_ns = 50 * kSecondNs;
  o.preemptions = 1;
  o.shrinks = 3;
  o.grows = 5;
  o.holds = 4;
  o.saves = 8;
  o.restores = 6;
  o.runs_finished = 1;
  o.finished_ns = 900 * kSecondNs;
  o.units = 5000;
  o.host_draw = Watts(8000);
  return o;
}

TEST(RunFigures, every_figure_of_a_training_run) {
  HandMadeRun t;
  const std::string label = t.scenario.trains[0].label;
  t.scenario.trains[0].step.step = seconds(3);
  t.scenario.trains[0].checkpoint->stall.total = seconds(6);
  t.first().jobs[0] = listed_job();
  t.tell_all();
  expect_list(t, Layer::training, label,
              {{"step_time", 3},
               {"useful_rate", 5},
               {"host_draw", 8000},
               {"runs_finished", 1},
               {"run_time", 900}});
  expect_list(t, Layer::failure, label,
              {{"goodput", 0.7},
               {"interruptions_seen", 2},
               {"time_between_stops", 500},
               {"restart", 25},
               {"preemptions", 1},
               {"shrinks", 3},
               {"grows", 5},
               {"holds", 4},
               {"time_share_waiting_for_samples", 0.04},
               {"time_share_saving", 0.1},
               {"time_share_work_done_again", 0.06},
               {"time_share_detection", 0.01},
               {"time_share_starting", 0.09}});
  expect_list(t, Layer::storage, label + " checkpoint",
              {{"saves", 8}, {"restores", 6}, {"stall", 6}});
  ASSERT_EQ(t.run.waterfalls.size(), 1U);
  EXPECT_EQ(t.run.waterfalls[0].job, label);
  Listed fall;
  for (const WaterfallStep& s : t.run.waterfalls[0].steps) {
    fall.emplace_back(word_of(s.cause), s.share);
  }
  EXPECT_EQ(fall, (Listed{{"productive", 0.7},
                          {"saving", 0.1},
                          {"starting", 0.09},
                          {"work done again", 0.06},
                          {"waiting for samples", 0.04},
                          {"detection", 0.01}}));
}

// A tenth of the way between two replications from either end.
TEST(RunFigures, two_replications_give_a_mean_and_an_interval) {
  HandMadeRun t;
  const std::string label = t.scenario.trains[0].label;
  t.done.push_back(t.first());
  t.done[0].jobs[0].interruptions = 4;
  t.done[1].jobs[0].interruptions = 14;
  t.tell_all();
  const figures::Figure* f = t.figure(Layer::failure, label, "interruptions_seen");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->estimate.value, 9, 1e-9);
  EXPECT_NEAR(f->estimate.low, 5, 1e-9);
  EXPECT_NEAR(f->estimate.high, 13, 1e-9);
}

TEST(RunFigures, every_figure_of_a_fleet) {
  design::Design d = world::sample_design();
  d.scheduler.reservations = {{.name = "works", .start = days(1), .duration = hours(1)}};
  HandMadeRun t(std::move(d));
  ByCause<GpuTime>& time = t.first().fleet_time[world::kFirstFleet];
  time[at(Cause::productive)] = 50;
  time[at(Cause::straggler)] = 3;
  time[at(Cause::heat)] = 4;
  time[at(Cause::save)] = 8;
  time[at(Cause::lost)] = 9;
  time[at(Cause::restore)] = 5;
  time[at(Cause::requeue)] = 6;
  time[at(Cause::idle)] = 10;
  time[at(Cause::repair)] = 5;
  t.first().reserved_stops[world::kFirstFleet] = 12;
  t.tell_all();
  const world::FleetPart& part = t.scenario.fleets[world::kFirstFleet];
  expect_list(t, Layer::cluster, part.fleet->fleet->name,
              {{"fleet_share_productive", 0.5},
               {"fleet_share_stall", 0.07},
               {"fleet_share_checkpoint", 0.08},
               {"fleet_share_lost", 0.09},
               {"fleet_share_restart", 0.11},
               {"fleet_share_idle", 0.15},
               {"reserved_stops", 12}});
  EXPECT_EQ(t.section(Layer::cluster, part.fleet->fleet->name)->summary,
            std::to_string(part.hosts) + " hosts, " + std::to_string(part.spares) + " in reserve");
}

// A run has the log of its first replication, and the events of all.
TEST(RunFigures, series_and_log_are_of_the_first_replication) {
  design::Design d = world::sample_design();
  d.fleet.front().failures.node_mtbf = days(2);
  Simulated s(std::move(d), {.horizon = hours(2), .seed = 3, .replications = 2});
  s.done[0].log_left_out = 17;
  const run::Run run = s.simulation.run_of(s.done);
  EXPECT_EQ(run.replications, 2);
  EXPECT_TRUE(run.is_whole);
  EXPECT_EQ(run.seed, 3U);
  EXPECT_EQ(run.simulated, hours(2));
  EXPECT_EQ(run.events, s.done[0].events + s.done[1].events);
  EXPECT_GT(run.host_log.size(), 100U);
  EXPECT_EQ(run.host_log.size(), s.done[0].host_log.size());
  EXPECT_GT(run.log.size(), 3U);
  EXPECT_EQ(run.log.size(), s.done[0].log.size());
  EXPECT_EQ(run.log_left_out, 17U);
  EXPECT_EQ(run.series.columns.size(), 7U);
  EXPECT_EQ(run.series.means.size(), s.done[0].series.means.size());
  EXPECT_TRUE(s.done[1].log.empty() && s.done[1].host_log.empty() && s.done[1].racks.empty());
  EXPECT_EQ(s.done[0].racks.size(), 1U);
  const world::FleetPart& part = s.simulation.scenario().fleets[world::kFirstFleet];
  EXPECT_EQ(run.accelerators, part.all_hosts() * 8);
  ASSERT_EQ(run.fleets.size(), 1U);
  EXPECT_EQ(run.fleets[0].hosts, part.hosts);
  EXPECT_EQ(run.fleets[0].spares, part.spares);
  EXPECT_EQ(run.fleets[0].accelerators_per_host, 8);
  EXPECT_EQ(run.jobs, (std::vector<std::string>{s.simulation.scenario().trains[0].label}));
  std::int64_t seconds_told = 0;
  for (const std::int64_t v : run.gpu_seconds) seconds_told += v;
  EXPECT_EQ(seconds_told, 7200 * run.accelerators);
  EXPECT_FALSE(s.simulation.run_of(std::span(s.done).first(1)).is_whole);
  const run::Run none = s.simulation.run_of({});
  EXPECT_EQ(none.replications, 0);
  EXPECT_TRUE(none.sections.empty());
  EXPECT_EQ(none.accelerators, run.accelerators);
  EXPECT_EQ(run::Run{}.log_left_out, 0U);
  EXPECT_EQ(run::Run{}.events, 0U);
}

}  // namespace
}  // namespace orrery::run
