// Every figure that a run tells of its work, section by section: which there are, and their values
// by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/jobs/pipeline.h"
#include "twin/twin/service_process.h"
#include "twin/twin/told_fixture.h"

namespace orrery::twin {
namespace {

using figures::Layer;
using Listed = std::vector<std::pair<std::string, double>>;

constexpr std::int64_t kNs = 1'000'000'000;

void expect_list(const ToldRun& t, Layer layer, const std::string& name, const Listed& wanted) {
  SCOPED_TRACE(name);
  const figures::Section* s = t.section(layer, name);
  ASSERT_NE(s, nullptr);
  std::vector<std::string> told, ids;
  for (const figures::Figure& f : s->figures) told.push_back(f.id());
  for (const auto& [id, value] : wanted) ids.push_back(id);
  EXPECT_EQ(told, ids);
  for (const auto& [id, value] : wanted) {
    EXPECT_NEAR(t.value(layer, name, id), value, 1e-9 * std::max(1.0, std::fabs(value))) << id;
  }
}

JobOutcome listed_job() {
  JobOutcome o;
  o.span_ns = 1000 * kNs;
  o.time_ns[at(Cause::productive)] = 700 * kNs;
  o.time_ns[at(Cause::feed)] = 40 * kNs;
  o.time_ns[at(Cause::save)] = 100 * kNs;
  o.time_ns[at(Cause::lost)] = 60 * kNs;
  o.time_ns[at(Cause::detect)] = 10 * kNs;
  o.time_ns[at(Cause::start)] = 90 * kNs;
  o.interruptions = o.outages = 2;
  o.outage_ns = 50 * kNs;
  o.preemptions = 1;
  o.shrinks = 3;
  o.grows = 5;
  o.holds = 4;
  o.saves = 8;
  o.restores = 6;
  o.runs_finished = 1;
  o.finished_ns = 900 * kNs;
  o.units = 5000;
  o.host_draw = Watts(8000);
  return o;
}

TEST(ToldLists, of_a_training_run) {
  ToldRun t;
  const std::string label = t.scenario.trains[0].label;
  t.scenario.trains[0].step.step = seconds(3);
  t.scenario.trains[0].checkpoint->stall.total = seconds(6);
  t.first().jobs[0] = listed_job();
  t.told();
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
TEST(ToldLists, two_replications_have_their_mean_and_their_tenths) {
  ToldRun t;
  const std::string label = t.scenario.trains[0].label;
  t.done.push_back(t.first());
  t.done[0].jobs[0].interruptions = 4;
  t.done[1].jobs[0].interruptions = 14;
  t.told();
  const figures::Figure* f = t.figure(Layer::failure, label, "interruptions_seen");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->estimate.value, 9, 1e-9);
  EXPECT_NEAR(f->estimate.low, 5, 1e-9);
  EXPECT_NEAR(f->estimate.high, 13, 1e-9);
}

TEST(ToldLists, of_a_fleet) {
  design::Design d = sample_design();
  d.scheduler.reservations = {{.name = "works", .start = days(1), .duration = hours(1)}};
  ToldRun t(std::move(d));
  ByCause<GpuTime>& time = t.first().fleet_time[0];
  time[at(Cause::productive)] = 50;
  time[at(Cause::straggler)] = 3;
  time[at(Cause::heat)] = 4;
  time[at(Cause::save)] = 8;
  time[at(Cause::lost)] = 9;
  time[at(Cause::restore)] = 5;
  time[at(Cause::requeue)] = 6;
  time[at(Cause::idle)] = 10;
  time[at(Cause::repair)] = 5;
  t.first().reserved_stops[0] = 12;
  t.told();
  const FleetPart& part = t.scenario.fleets[0];
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

// Latencies from 0 to 49 that four in two hundred have each, and one of 50.
LoadWindow rising_level(double rate, double times) {
  LoadWindow w{.rate = rate};
  for (WindowPart& part : w.parts) {
    part.requests = 25;
    part.good = 0.5;
    for (std::size_t i = 0; i < kLatencyPoints; ++i) {
      const double value = times * static_cast<double>((i + 1) / 4);
      part.ttft[i] = value;
      part.tpot[i] = value / 1000;
      part.whole[i] = 2 * value;
    }
  }
  return w;
}

ServicePlan listed_service(const design::Serve& serve) {
  ServicePlan p;
  p.job.serve = &serve;
  p.job.label = "chat";
  p.replicas = 4;
  p.least = 2;
  p.slots = 2;
  p.job.day.fill(2.3456);
  p.job.day[3] = 6.7891;
  p.capacity = 1.6;
  p.most = 1.8;
  p.job.start = seconds(90);
  p.windows.levels = {rising_level(1, 1)};
  p.windows.loss = rising_level(1, 3);
  p.windows.restarted = 7;
  return p;
}

TEST(ToldLists, of_a_service) {
  ToldRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  t.scenario.services.push_back(listed_service(serve));
  ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 3000 * kNs;
  o.time_ns[{.hour = 0, .standing = 1}] = 600 * kNs;
  o.down_ns = 3 * 600 * kNs;
  o.lost_replicas = 3;
  t.first().services = {o};
  t.told();
  // One of four carries 1.8 of 2.3456 a second: that time is none of theirs.
  const double kept = 3000.0 / 3600;
  expect_list(t, Layer::serving, "chat",
              {{"ttft", 24.75},
               {"ttft_p99", 49},
               {"tpot", 0.02475},
               {"tpot_p99", 0.049},
               {"latency_p99", 98},
               {"requests_in_time", 0.5 * kept},
               {"loss_ttft_p99", 147},
               {"loss_in_time", 0.5},
               {"availability", kept},
               {"requests_carried", kept},
               {"replicas", 4},
               {"replicas_standing", 4 * (1 - 1800 / 14400.0)},
               {"replicas_lost", 3}});
  EXPECT_EQ(t.section(Layer::serving, "chat")->summary,
            "4 replicas of 2 accelerators, 2.35 to 6.79 requests a second");
  // 6.7891 / 4 / 1.6 of what each carries.
  EXPECT_EQ(t.section(Layer::serving, "chat")->limit,
            "at peak each replica gets 106 % of what it carries within the objective");
  EXPECT_EQ(t.figure(Layer::serving, "chat", "loss_ttft_p99")->formula,
            "at the busiest hour; 7 requests begin anew, back after 1.5 min");
}

TEST(ToldLists, of_a_service_that_follows_its_load) {
  ToldRun t;
  design::Serve serve;
  serve.autoscale = design::Autoscale{.min = 2, .max = 4, .target = 12.345};
  t.scenario.services.push_back(listed_service(serve));
  ServicePlan& p = t.scenario.services[0];
  p.ask.rise = ServiceRise{.before = 2.3456, .after = 4.5678, .replicas = 3};
  p.windows.rise = rising_level(1, 10);
  ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 3600 * kNs;
  o.standing_ns = 9000 * kNs;
  o.called = 11;
  t.first().services = {o};
  t.told();
  Listed wanted = {{"latency_p99", 98},     {"requests_in_time", 0.5}, {"availability", 1},
                   {"requests_carried", 1}, {"replicas", 4},           {"replicas_standing", 2.5},
                   {"replicas_called", 11}, {"rise_ttft_p99", 490},    {"replicas_lost", 0}};
  expect_list(t, Layer::serving, "chat", wanted);
  EXPECT_EQ(t.figure(Layer::serving, "chat", "replicas_called")->formula,
            "from 2 to 4, 12.3 requests in flight each; they answer after 1.5 min");
  EXPECT_EQ(t.figure(Layer::serving, "chat", "rise_ttft_p99")->formula,
            "from 2.35 to 4.57 requests a second at once, 3 replicas before");
  p.windows.rise.reset();
  wanted.erase(wanted.begin() + 7);
  t.told();
  expect_list(t, Layer::serving, "chat", wanted);
}

// A zone that nobody simulated says nothing of guests, whatever it held before.
TEST(ToldLists, zones_without_windows_are_left_out) {
  ToldRun t;
  design::Serve serve;
  serve.model = "llama-3-8b";
  ServicePlan p = listed_service(serve);
  ZoneFailover f{.region = {.ways = {{.to = 1, .round_trip = 0.05}}, .after = 45}};
  GuestWindows seen{.guests = rising_level(1, 2), .hosts = rising_level(1, 4), .restarted = 5};
  f.hosts.push_back({.zone = 1, .rate = 3, .windows = seen});
  seen.guests = rising_level(1, 100);
  seen.restarted = 50;
  f.hosts.push_back({.zone = 2, .rate = 3, .windows = seen});
  f.hosts.back().windows.reset();
  p.failover = f;
  t.scenario.services = {p};
  ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 3600 * kNs;
  t.first().services = {o};
  t.told();
  EXPECT_NEAR(t.value(Layer::serving, "chat", "failover_ttft_p99"), 98, 1e-9);
  EXPECT_NEAR(t.value(Layer::serving, "chat", "failover_hosts_ttft_p99"), 196, 1e-9);
  EXPECT_EQ(
      t.figure(Layer::serving, "chat", "failover_ttft_p99")->formula,
      "at the busiest hour; 5 requests begin anew at once, after 45 s, and 0 a second find no "
      "room");
  EXPECT_EQ(ZoneFailover{}.refused, 0);
  EXPECT_EQ(FailoverHost{}.rate, 0);
}

TEST(ToldLists, of_jobs_and_batches) {
  ToldRun t;
  t.scenario.streams.push_back(
      {.job = {{.label = "jobs", .rate = PerSecond(0.1), .mean_run = hours(2)}}});
  t.scenario.batches.push_back(
      {.job = {.label = "nightly", .bound = hours(4), .elements = 5, .element_compute = hours(2)},
       .element = hours(2)});
  TaskOutcome o;
  o.submitted = 9;
  o.finished = 7;
  o.waiting = 2;
  o.stops = 4;
  o.timed_out = 6;
  o.rejected = 5;
  o.waits_s = {30, 10, 20, 60, 50};
  o.slowdowns = {1, 4};
  t.first().streams = {o};
  TaskOutcome b;
  b.runs_finished = 3;
  b.run_times_s = {100, 400, 250};
  b.windows_missed = 2;
  b.stops = 8;
  t.first().batches = {b};
  t.told();
  expect_list(t, Layer::cluster, "jobs",
              {{"jobs", 9},
               {"finished", 7},
               {"mean_wait", 34},
               {"wait_p50", 30},
               {"wait_p99", 59.6},
               {"slowdown", 2.5},
               {"waiting", 2},
               {"stops", 4},
               {"timed_out", 6},
               {"rejected", 5}});
  expect_list(t, Layer::cluster, "nightly",
              {{"batches_finished", 3},
               {"duration", 250},
               {"duration_longest", 400},
               {"batches_late", 2},
               {"stops", 8}});
}

TEST(ToldLists, of_slices) {
  ToldRun t;
  t.scenario.slices.push_back(
      {.job = {{.label = "cuts", .rate = PerSecond(0.05), .mean_run = hours(3)}}});
  SliceOutcome o;
  o.submitted = 12;
  o.finished = 9;
  o.waiting = 2;
  o.waits_s = {10, 20, 40};
  o.open = GpuTime{7} * 3600 * kNs * 5 / 2;
  o.used = o.open / 4;
  o.stranded = o.open / 10;
  t.first().slices = {o};
  t.told();
  expect_list(t, Layer::cluster, "cuts",
              {{"jobs", 12},
               {"finished", 9},
               {"mean_wait", 70.0 / 3},
               {"wait_p99", 39.6},
               {"waiting", 2},
               {"sliced", 2.5},
               {"slices_used", 0.25},
               {"slices_stranded", 0.1}});
}

// Of a pipeline, stage by stage.
TEST(ToldLists, of_a_pipeline) {
  design::Design d = sample_design();
  d.pipeline.every = hours(2);
  d.pipeline.stages = {{.stage = design::DataStage::ingest, .to = d.storage.front().name}};
  d.pipeline.stages[0].size = terabytes(3);
  d.pipeline.stages[0].rate = gigabytes(2) / seconds(1);
  ToldRun t(std::move(d));
  PipelineOutcome& p = t.first().pipeline;
  p.cycles = 7;
  p.served = 4;
  p.lead_ns = 800 * kNs;
  p.age_ns = 9000 * kNs;
  p.stages.resize(1);
  p.stages[0] = {.started = 6,
                 .ended = 5,
                 .start_ns = 50 * kNs,
                 .end_ns = 400 * kNs,
                 .wait_ns = 30 * kNs,
                 .moved = terabytes(15)};
  t.told();
  expect_list(t, Layer::cluster, "pipeline",
              {{"cycles", 7}, {"models_served", 4}, {"lead", 200}, {"freshness", 9000}});
  const auto stages = jobs::pipeline_of(t.machine);
  ASSERT_EQ(stages.size(), 1U);
  const std::string name = "pipeline: " + stages[0].label;
  expect_list(t, Layer::cluster, name,
              {{"stage_runs", 5},
               {"stage_start", 10},
               {"stage_end", 80},
               {"stage_time", 70},
               {"stage_wait", 6},
               {"bytes_moved", 15e12}});
  EXPECT_EQ(t.section(Layer::cluster, "pipeline")->summary, "1 stages, a cycle every 2 h");
  p.served = 0;
  p.stages[0].ended = 0;
  p.stages[0].wait_ns = 0;
  t.told();
  expect_list(t, Layer::cluster, "pipeline", {{"cycles", 7}, {"models_served", 0}});
  expect_list(t, Layer::cluster, name, {{"stage_runs", 0}, {"bytes_moved", 15e12}});
  EXPECT_TRUE(std::ranges::any_of(t.run.notes, [](const std::string& n) {
    return n.starts_with("pipeline: no model of it serves within the time that was simulated");
  }));
}

// A run has what its first replication wrote down, and the events of all.
TEST(ToldLists, a_run_keeps_what_its_first_replication_wrote) {
  design::Design d = sample_design();
  d.fleet.front().failures.node_mtbf = days(2);
  Simulated s(std::move(d), {.horizon = hours(2), .seed = 3, .replications = 2});
  s.done[0].log_left_out = 17;
  const twin::Run run = s.simulation.run_of(s.done);
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
  const FleetPart& part = s.simulation.scenario().fleets[0];
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
  const twin::Run none = s.simulation.run_of({});
  EXPECT_EQ(none.replications, 0);
  EXPECT_TRUE(none.sections.empty());
  EXPECT_EQ(none.accelerators, run.accelerators);
  EXPECT_EQ(twin::Run{}.log_left_out, 0U);
  EXPECT_EQ(twin::Run{}.events, 0U);
}

}  // namespace
}  // namespace orrery::twin
