// What a run says of outcomes that are made up here, so that every figure can be worked by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "model/jobs/build_machine.h"
#include "model/machine/site_load.h"
#include "twin/twin/host_lives.h"
#include "twin/twin/over_replications.h"
#include "twin/twin/run_figures.h"
#include "twin/twin/run_fixture.h"

namespace orrery::twin {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// The sample's run on its fleet, over an hour; outcomes are the test's.
struct MadeUp {
  machine::Machine machine = jobs::build_machine(sample_design(), machine::known());
  Scenario scenario = scenario_of(machine, hours(1));
  std::vector<Replication> done;
  Run run;

  explicit MadeUp(int replications = 1) {
    scenario.horizon = hours(1);
    for (int n = 0; n < replications; ++n) {
      Replication r;
      r.number = n;
      r.fleet_time.resize(scenario.fleets.size());
      r.reserved_stops.resize(scenario.fleets.size());
      r.jobs.resize(scenario.trains.size());
      r.sites.resize(machine.sites.size());
      r.stories.resize(machine.sites.size());
      r.faults.resize(fault_names(machine.models().fault_causes).size());
      done.push_back(std::move(r));
    }
  }
  void tell_all() {
    run = {};
    run.simulated = scenario.horizon;
    run.replications = static_cast<int>(done.size());
    tell(run, scenario, done);
  }
  const figures::Section* section(figures::Layer layer, const std::string& name) const {
    for (const figures::Section& s : run.sections) {
      if (s.layer == layer && s.name == name) return &s;
    }
    return nullptr;
  }
  const Estimate* find(figures::Layer layer, const std::string& name, const std::string& id) const {
    const figures::Section* s = section(layer, name);
    if (!s) return nullptr;
    for (const figures::Figure& f : s->figures) {
      if (f.id() == id) return &f.estimate;
    }
    return nullptr;
  }
  double value(figures::Layer layer, const std::string& name, const std::string& id) const {
    const Estimate* e = find(layer, name, id);
    return e ? e->value : std::nan("");
  }
};

using figures::Layer;

TEST(OverReplications, MeanAndTheirMiddleEightyPercent) {
  std::vector<Replication> done(3);
  done[0].events = 1, done[1].events = 2, done[2].events = 6;
  const OverReplications over(done);
  const auto events = [](const Replication& r) { return static_cast<double>(r.events); };
  const Estimate e = over.estimate(events);
  EXPECT_DOUBLE_EQ(e.value, 3);
  EXPECT_DOUBLE_EQ(e.low, 1.2);
  EXPECT_DOUBLE_EQ(e.high, 5.2);
  // A mean beyond them is inside all the same.
  std::vector<Replication> skewed(21);
  skewed.back().events = 210;
  const Estimate s = OverReplications(skewed).estimate(events);
  EXPECT_DOUBLE_EQ(s.value, 10);
  EXPECT_DOUBLE_EQ(s.high, 10);
  EXPECT_DOUBLE_EQ(s.low, 0);
}

TEST(Figures, OfATrainingRunByHand) {
  MadeUp m;
  const std::string label = m.scenario.trains[0].label;
  JobOutcome& o = m.done[0].jobs[0];
  o.span_ns = 2000 * kSecond;
  o.time_ns[at(Cause::productive)] = 1500 * kSecond;
  o.time_ns[at(Cause::save)] = 100 * kSecond;
  o.time_ns[at(Cause::lost)] = 300 * kSecond;
  o.time_ns[at(Cause::start)] = 100 * kSecond;
  o.units = 5e6;
  o.interruptions = 4;
  o.outages = 3;
  o.outage_ns = 90 * kSecond;
  o.saves = 7;
  o.restores = 5;
  o.preemptions = 2;
  o.holds = 1;
  o.host_draw = Watts(8000);
  m.tell_all();
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "useful_rate"), 2500);
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "host_draw"), 8000);
  EXPECT_DOUBLE_EQ(m.value(Layer::training, label, "runs_finished"), 0);
  // At that pace: all units, of which 5 million came in the hour.
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
  // Productive first, then the losses, the largest first; of equals the earlier cause.
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

TEST(Figures, OfARunThatEndsOrNeverBeganByHand) {
  MadeUp m(2);
  const std::string label = m.scenario.trains[0].label;
  for (Replication& r : m.done) {
    r.jobs[0].runs_finished = 1;
    r.jobs[0].finished_ns = (r.number + 1) * 100 * kSecond;
    r.jobs[0].shrinks = 3;
    r.jobs[0].grows = 2;
    r.jobs[0].span_ns = 50 * kSecond;
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
  EXPECT_TRUE(m.run.infeasible.empty()) << "the first says so or nobody";
  m.done[0].jobs[0].never_fits = true;
  m.tell_all();
  ASSERT_EQ(m.run.infeasible.size(), 1u);
  EXPECT_TRUE(m.run.infeasible[0].starts_with(label + " never starts"));
  EXPECT_FALSE(m.run.passes());
}

TEST(Figures, OfFleetsAndFaultsByHand) {
  MadeUp m;
  ByCause<GpuTime>& t = m.done[0].fleet_time[0];
  t[at(Cause::productive)] = 40;
  t[at(Cause::straggler)] = 4;
  t[at(Cause::heat)] = 6;
  t[at(Cause::save)] = 5;
  t[at(Cause::lost)] = 15;
  t[at(Cause::detect)] = 3;
  t[at(Cause::restore)] = 7;
  t[at(Cause::reserve)] = 9;
  t[at(Cause::idle)] = 11;
  const std::string fleet = m.scenario.fleets[0].fleet->fleet->name;
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

TEST(Figures, TheDiagnosisNamesTheLargestLossBelowFourFifths) {
  MadeUp m;
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
      "Accelerators are productive 50 % of the time. Most of the rest, 30 %, is starting: layer "
      "cluster; "))
      << m.run.diagnosis;
  t[at(Cause::idle)] = 70;
  m.done[0].jobs[0].never_fits = true;
  m.tell_all();
  EXPECT_NE(m.run.diagnosis.find(m.scenario.trains[0].label + " never starts"), std::string::npos);
  EXPECT_NE(m.run.summary.find("in 1 h of simulated time, 1 replication."), std::string::npos)
      << m.run.summary;
}

LoadWindow window_at(double rate, double ttft, double good, double found) {
  LoadWindow w{.rate = rate, .found = found, .fetched = found / 2};
  for (WindowPart& part : w.parts) {
    part.requests = 10;
    part.good = good;
    part.ttft.fill(ttft);
    part.tpot.fill(ttft / 100);
    part.whole.fill(ttft * 2);
  }
  return w;
}

// Six a second until noon and two after it, on four replicas.
ServicePlan four_replicas(const design::Serve& serve) {
  ServicePlan p;
  p.job.serve = &serve;
  p.job.label = "assistant";
  p.replicas = p.least = 4;
  p.slots = 2;
  for (std::size_t h = 0; h < 24; ++h) p.job.day[h] = h < 12 ? 6 : 2;
  p.capacity = 1.6;
  p.most = 1.8;
  p.windows.levels = {window_at(0.5, 1, 0.9, 0.2), window_at(1.5, 3, 0.5, 0.4)};
  p.windows.loss = window_at(1.5, 7, 0.25, 0);
  p.job.error = 0.3;
  return p;
}

ServiceOutcome a_bad_day() {
  ServiceOutcome o;
  o.time_ns[{.hour = 0, .standing = 4}] = 100 * kSecond;   // 1.5 each, 600 requests
  o.time_ns[{.hour = 0, .standing = 3}] = 50 * kSecond;    // 2, too much: 300
  o.time_ns[{.hour = 13, .standing = 4}] = 200 * kSecond;  // 0.5: 400
  o.time_ns[{.hour = 13, .standing = 0}] = 10 * kSecond;   // nobody: 20
  o.down_ns = 90 * kSecond;
  o.lost_replicas = 5;
  return o;
}

TEST(Figures, OfAServiceByHand) {
  MadeUp m;
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.arrivals.turns = 2;
  m.scenario.services.push_back(four_replicas(serve));
  m.done[0].services.push_back(a_bad_day());
  m.tell_all();
  const auto value = [&](const char* id) { return m.value(Layer::serving, "assistant", id); };
  // 400 requests at the lower level, 600, 300 and 20 at the upper.
  EXPECT_NEAR(value("ttft"), (400 * 1 + 920 * 3) / 1320.0, 1e-9);
  EXPECT_NEAR(value("tpot"), (400 * 1 + 920 * 3) / 1320.0 / 100, 1e-9);
  EXPECT_DOUBLE_EQ(value("ttft_p99"), 3);
  EXPECT_DOUBLE_EQ(value("tpot_p99"), 0.03);
  EXPECT_DOUBLE_EQ(value("latency_p99"), 6);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "ttft_p99")->low, 3 * 0.7, 1e-9);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "ttft_p99")->high, 3 * 1.3, 1e-9);
  EXPECT_NEAR(value("requests_in_time"), (400 * 0.9 + 920 * 0.5) / 1320 * (1000 / 1320.0), 1e-9);
  EXPECT_NEAR(value("cache_found"), (400 * 0.2 + 920 * 0.4) / 1320, 1e-9);
  EXPECT_EQ(m.find(Layer::serving, "assistant", "kv_fetched"), nullptr);
  EXPECT_DOUBLE_EQ(value("loss_ttft_p99"), 7);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "loss_ttft_p99")->high, 9.1, 1e-9);
  EXPECT_NEAR(value("loss_in_time"), 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(value("availability"), 300 / 360.0);
  EXPECT_DOUBLE_EQ(value("requests_carried"), 1000 / 1320.0);
  EXPECT_DOUBLE_EQ(value("replicas_standing"), 4 - 90 / 3600.0);
  EXPECT_DOUBLE_EQ(value("replicas_lost"), 5);
  EXPECT_EQ(m.section(Layer::serving, "assistant")->limit, "") << "15/16 of what they carry";
  m.scenario.services[0].capacity = 1.2;
  m.tell_all();
  EXPECT_NE(m.section(Layer::serving, "assistant")->limit.find("125 %"), std::string::npos);
}

TEST(Figures, OfAServiceThatFollowsItsLoadByHand) {
  MadeUp m;
  design::Serve serve;
  serve.model = "llama-3-8b";
  serve.autoscale = design::Autoscale{.min = 1, .max = 4, .target = 8};
  serve.kv_tier.emplace();
  ServicePlan p = four_replicas(serve);
  p.windows.rise = window_at(1, 5, 0.5, 0);
  p.ask.rise = ServiceRise{.before = 1, .after = 2, .replicas = 1};
  p.job.error = 2;
  m.scenario.services.push_back(p);
  m.done[0].services.push_back(a_bad_day());
  m.done[0].services[0].standing_ns = 9000 * kSecond;
  m.done[0].services[0].called = 6;
  m.tell_all();
  const auto value = [&](const char* id) { return m.value(Layer::serving, "assistant", id); };
  EXPECT_DOUBLE_EQ(value("replicas_standing"), 2.5);
  EXPECT_DOUBLE_EQ(value("replicas_called"), 6);
  EXPECT_DOUBLE_EQ(value("rise_ttft_p99"), 5);
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "rise_ttft_p99")->low, 0.5, 1e-9)
      << "a tenth at the least";
  EXPECT_NEAR(m.find(Layer::serving, "assistant", "ttft")->low, value("ttft") * 0.1, 1e-9);
  EXPECT_NEAR(value("kv_fetched"), (400 * 0.1 + 920 * 0.2) / 1320, 1e-9);
  EXPECT_NEAR(value("cache_found"), (400 * 0.2 + 920 * 0.4) / 1320, 1e-9);
}

TEST(Figures, OfJobsSlicesAndBatchesByHand) {
  MadeUp m;
  design::Jobs jobs;
  m.scenario.streams.push_back({.job = {{.jobs = &jobs, .label = "jobs", .rate = PerSecond(0.1)}}});
  m.scenario.slices.push_back({.job = {{.label = "slices", .rate = PerSecond(0.1)}}});
  m.scenario.batches.push_back({.job = {.label = "nightly", .bound = seconds(20), .elements = 5}});
  TaskOutcome stream;
  stream.submitted = 9;
  stream.finished = 4;
  stream.waiting = 2;
  stream.timed_out = 1;
  stream.waits_s = {10, 1, 2, 3};
  stream.slowdowns = {1, 4};
  stream.why[cluster::WaitReason::resources] = {.jobs = 1, .first = "room."};
  m.done[0].streams = {stream};
  m.done[0].slices.resize(1);
  SliceOutcome& s = m.done[0].slices[0];
  s.submitted = 8;
  s.finished = 6;
  s.waiting = 1;
  s.waits_s = {0, 4};
  s.open = GpuTime{7} * 3600 * kSecond * 2;
  s.used = s.open / 4;
  s.stranded = s.open / 8;
  TaskOutcome batch;
  batch.runs_finished = 2;
  batch.windows_missed = 1;
  batch.stops = 3;
  batch.run_times_s = {10, 30};
  m.done[0].batches = {batch};
  m.tell_all();
  const auto of = [&](const char* name, const char* id) {
    return m.value(Layer::cluster, name, id);
  };
  EXPECT_EQ(of("jobs", "jobs"), 9);
  EXPECT_EQ(of("jobs", "finished"), 4);
  EXPECT_EQ(of("jobs", "mean_wait"), 4);
  EXPECT_EQ(of("jobs", "wait_p50"), 2.5);
  EXPECT_NEAR(of("jobs", "wait_p99"), 3 + 7 * 0.97, 1e-9);
  EXPECT_EQ(of("jobs", "slowdown"), 2.5);
  EXPECT_EQ(of("jobs", "waiting"), 2);
  EXPECT_EQ(of("jobs", "timed_out"), 1);
  EXPECT_EQ(m.find(Layer::cluster, "jobs", "stops"), nullptr);
  EXPECT_EQ(m.find(Layer::cluster, "jobs", "rejected"), nullptr);
  EXPECT_TRUE(m.section(Layer::cluster, "jobs")->limit.starts_with("1 of the first 1 that wait"))
      << m.section(Layer::cluster, "jobs")->limit;
  EXPECT_EQ(of("slices", "jobs"), 8);
  EXPECT_EQ(of("slices", "finished"), 6);
  EXPECT_EQ(of("slices", "mean_wait"), 2);
  EXPECT_NEAR(of("slices", "wait_p99"), 3.96, 1e-9);
  EXPECT_EQ(of("slices", "waiting"), 1);
  EXPECT_DOUBLE_EQ(of("slices", "sliced"), 2);
  EXPECT_DOUBLE_EQ(of("slices", "slices_used"), 0.25);
  EXPECT_DOUBLE_EQ(of("slices", "slices_stranded"), 0.125);
  EXPECT_EQ(of("nightly", "duration"), 20);
  EXPECT_EQ(of("nightly", "duration_longest"), 30);
  EXPECT_EQ(of("nightly", "batches_late"), 1);
  EXPECT_EQ(of("nightly", "stops"), 3);
  m.done[0].batches[0].runs_finished = 0;
  m.tell_all();
  EXPECT_EQ(m.find(Layer::cluster, "nightly", "duration"), nullptr);
}

TEST(Figures, OfASiteByHand) {
  MadeUp m;
  m.done[0].sites[0].it_energy = Watts(1e6) * hours(1);
  m.done[0].sites[0].it_highest = Watts(2e6);
  m.tell_all();
  const machine::Site& site = m.machine.sites[design::SiteIndex(0)];
  const std::string name = site.site->name;
  const double constant = machine::load_of(m.machine, design::SiteIndex(0)).constant.base();
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

TEST(Figures, OfRacksByHand) {
  MadeUp m;
  FleetPart& part = m.scenario.fleets[0];
  part.racks_per_pdu = 2;
  part.host_power.idle = Watts(1000);
  part.rack_limit = Watts(9000);
  m.done[0].racks.resize(m.scenario.fleets.size());
  for (const double kw : {1.0, 6.0, 4.0}) {
    m.done[0].racks[0].push_back(
        {.energy = kilowatts(kw / 2) * hours(1), .highest = kilowatts(kw), .hosts = 4});
  }
  m.done[0].stories[part.site].dark_ns = 900 * kSecond;  // a quarter of the hour
  m.tell_all();
  ASSERT_EQ(m.run.racks.size(), 3u);
  EXPECT_NEAR(m.run.racks[1].mean.base(), 4000 * 0.75 + 3000, 1e-6);
  EXPECT_NEAR(m.run.racks[1].highest.base(), 4000 + 6000, 1e-6);
  ASSERT_EQ(m.run.pdus.size(), 2u);
  EXPECT_NEAR(m.run.pdus[0].highest.base(), 5000 + 10000, 1e-6);
  EXPECT_NEAR(m.run.pdus[0].mean.base(), 3500 + 6000, 1e-6);
  EXPECT_NEAR(m.run.pdus[0].limit.base(), 18000, 1e-6);
  EXPECT_EQ(m.run.pdus[0].hosts, 8);
  EXPECT_EQ(m.run.pdus[1].hosts, 4);
  const std::string racks = "racks of " + part.fleet->fleet->name;
  const auto value = [&](const char* id) { return m.value(Layer::facility, racks, id); };
  EXPECT_NEAR(value("rack_mean"), 6000, 1e-6);
  EXPECT_NEAR(value("rack_highest"), 10000, 1e-6);
  EXPECT_NEAR(value("pdu_mean"), 9500, 1e-6);
  EXPECT_NEAR(value("pdu_highest"), 15000, 1e-6);
  EXPECT_NEAR(value("rack_limit"), 9000, 1e-6);
  EXPECT_TRUE(m.section(Layer::facility, racks)->limit.starts_with("1 of 3 racks pass 9 kW"))
      << m.section(Layer::facility, racks)->limit;
  part.pdu_rating = kilowatts(18.75);
  m.tell_all();
  EXPECT_NEAR(value("pdu_limit"), 15000, 1e-6) << "four fifths of the rating";
  EXPECT_EQ(m.section(Layer::facility, racks)->limit.find("power unit"), std::string::npos)
      << "just carried";
  part.pdu_rating = kilowatts(18.7);
  m.tell_all();
  EXPECT_NE(m.section(Layer::facility, racks)->limit.find("; 1 of 2 power units pass"),
            std::string::npos);
}

TEST(Figures, OfADayOfStorageByHand) {
  twin_storage::StorageRun day{.span = days(1)};
  twin_storage::SaveTimes t{.saves = 3,
                            .stall = seconds(2),
                            .longest_stall = seconds(3),
                            .safe = seconds(10),
                            .longest_safe = seconds(10.05)};
  t.stops = {{.tier = "node-nvme", .mean = seconds(4), .longest = seconds(5), .saves = 3},
             {.tier = "cold", .saves = 0}};
  t.restore = seconds(7);
  day.jobs = {{.label = "pretrain",
               .saves = t,
               .starved = 0.25,
               .hit_rate = 0.5,
               .hit_reads = 9,
               .all_reduce = 1.5},
              {.label = "nothing"}};
  day.tiers = {{.label = "hot",
                .use = {.requests = 4,
                        .waited = seconds(6),
                        .longest_wait = seconds(5),
                        .transfers = 3,
                        .most_at_once = 2},
                .read_share = 0.1,
                .write_share = 0.2}};
  const auto sections = sections_of(day);
  ASSERT_EQ(sections.size(), 2u);
  const auto figure = [&](std::size_t s, std::string_view id) {
    for (const figures::Figure& f : sections[s].figures) {
      if (f.id() == id) return f.estimate;
    }
    return Estimate{.value = -1};
  };
  EXPECT_EQ(figure(0, "stall_end").value, 2);
  EXPECT_EQ(figure(0, "stall_end").high, 3);
  EXPECT_EQ(figure(0, "safe").high, 10) << "within a hundredth they are one";
  EXPECT_EQ(figure(0, "on_node-nvme").value, 4);
  EXPECT_EQ(figure(0, "on_cold").value, -1);
  EXPECT_EQ(figure(0, "peer_copy").value, -1);
  EXPECT_EQ(figure(0, "exposed").value, 8);
  EXPECT_EQ(figure(0, "read_back").value, 7);
  EXPECT_EQ(figure(0, "all_reduce_in_burst").value, 1.5);
  EXPECT_EQ(figure(0, "starved").value, 0.25);
  EXPECT_EQ(figure(0, "hit_rate").value, 0.5);
  EXPECT_TRUE(sections[0].limit.starts_with("a save slows an all-reduce 1.5x"));
  EXPECT_EQ(figure(1, "read_share").value, 0.1);
  EXPECT_EQ(figure(1, "write_share").value, 0.2);
  EXPECT_EQ(figure(1, "most_at_once").value, 2);
  EXPECT_EQ(figure(1, "request_wait").value, 2);
  EXPECT_EQ(figure(1, "request_wait").high, 5);
}

// Ten seconds in four bins of 2.5 s: a level of 2 from second 1, of 5 from second 6.
TEST(Recorder, BinsHaveTheirMeans) {
  const auto at_s = [](double s) { return sim::SimTime::from(Seconds(s)); };
  Recorder r(at_s(10), 4);
  const std::size_t a = r.add_column("a");
  const std::size_t b = r.add_column("b");
  r.change(at_s(1), a, 2);
  r.change(at_s(6), a, 3);
  r.change(at_s(6), b, 1);
  const Series s = r.series(at_s(9));
  EXPECT_EQ(s.bin, seconds(2.5));
  ASSERT_EQ(s.means.size(), 4u);
  EXPECT_NEAR(s.means[0][a], 2 * 1.5 / 2.5, 1e-12);
  EXPECT_NEAR(s.means[1][a], 2, 1e-12);
  EXPECT_NEAR(s.means[2][a], (2 * 1 + 5 * 1.5) / 2.5, 1e-12);
  EXPECT_NEAR(s.means[3][a], 5, 1e-12) << "of the 1.5 s that were";
  EXPECT_NEAR(s.means[2][b], 1.5 / 2.5, 1e-12);
  // Bins that hold all of a span that they do not divide.
  Recorder odd(sim::SimTime::nanoseconds(10), 3);
  odd.add_column("a");
  EXPECT_EQ(odd.series(sim::SimTime::nanoseconds(10)).bin, sim::SimTime::nanoseconds(4).seconds());
  EXPECT_EQ(Recorder(at_s(10), 4).series(at_s(5)).means.size(), 2u);
}

}  // namespace
}  // namespace orrery::twin
