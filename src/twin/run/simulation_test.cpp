// Runs of whole designs: compared with the closed form where it is exact, what is conserved in any
// design, and that the same seed gives the same run.
#include "twin/run/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layers/failure/effective_time.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {

using cluster::at;
using cluster::ByCause;
using cluster::Cause;
using cluster::GpuTime;
using cluster::kShares;

namespace {

// All faults alike: processes die, and a health check detects it.
machine::Models plain_faults() {
  machine::Models models = machine::known();
  models.fault_causes = {{.name = "fault", .share = 1, .scope = failure::FaultScope::process}};
  return models;
}

TEST(Simulation, effective_time_matches_the_exact_closed_form) {
  // Synchronous saves to a tier that outlives hosts, exponential faults, a restart of one length.
  for (const double mtbf_days : {10.0, 40.0, 200.0}) {
    design::Design d = world::sample_design();
    design::Train& t = world::train_of(d);
    t.tokens = 1e18;
    t.dataset = {};
    t.checkpoint = design::Checkpoint{
        .every = minutes(30), .mode = design::CheckpointMode::sync, .to = {"hot"}};
    d.fleet.front().failures.node_mtbf = days(mtbf_days);
    // Counted so often that replications do not draw different rates.
    d.fleet.front().failures.observed = 1'000'000;
    const machine::Models models = plain_faults();
    const Simulated s(d, {.horizon = days(2000), .replications = 4}, models);
    const jobs::TrainJob& job = s.simulation.scenario().trains.front();
    ASSERT_TRUE(job.feasible());
    const double expected = failure::exact_efficiency({.interval = job.checkpoint->interval,
                                                       .save_stall = job.checkpoint->stall.total,
                                                       .mtbf = job.failure.mtbf,
                                                       .restart = job.failure.restart});
    double got = 0;
    for (const Replication& r : s.done) got += r.jobs.front().goodput() / 4;
    const double fed = job.feed.known ? job.feed.loader.utilisation : 1;
    EXPECT_NEAR(got / (expected * fed), 1, 0.01) << mtbf_days;
  }
}

// A design with random values for everything that a run depends on.
design::Design any_design(RandomStream& random) {
  design::Design d = world::sample_design();
  design::Fleet& fleet = d.fleet.front();
  fleet.spares = static_cast<int>(random.below(4));
  fleet.failures = {.node_mtbf = days(1 + 60 * random.uniform()),
                    .lemon_share = random.uniform() * 0.1,
                    .lemon_factor = 1 + 9 * random.uniform(),
                    .straggler_share = random.uniform() * 0.02,
                    .straggler_slowdown = random.uniform() * 0.2};
  if (random.uniform() < 0.5) fleet.failures.repair = hours(1 + 20 * random.uniform());
  design::Train& t = world::train_of(d);
  t.tokens = 1e9 + 2e11 * random.uniform();
  if (random.uniform() < 0.5) t.repeat = design::Recurrence{.every = days(1), .window = hours(6)};
  if (random.uniform() < 0.2) t.checkpoint.reset();
  if (t.checkpoint && random.uniform() < 0.5) t.checkpoint->mode = design::CheckpointMode::sync;
  if (t.checkpoint && random.uniform() < 0.3) t.checkpoint->to = {"node-nvme"};
  if (t.checkpoint && random.uniform() < 0.5)
    t.checkpoint->every = minutes(5 + 60 * random.uniform());
  d.workloads.front().terms.nodes = 8 * static_cast<int>(1 + random.below(15));
  t.batch = 960;
  return d;
}

double column_integral(const world::Series& s, std::string_view name, Seconds horizon) {
  const auto column =
      static_cast<std::size_t>(std::ranges::find(s.columns, name) - s.columns.begin());
  double sum = 0;
  for (std::size_t row = 0; row < s.means.size(); ++row) {
    const Seconds left = horizon - s.bin * static_cast<double>(row);
    sum += s.means[row][column] * min(s.bin, left).base();
  }
  return sum;
}

TEST(SimulationProperty, gpu_seconds_energy_and_faults_balance) {
  RandomStream random(7, "any-design");
  for (int i = 0; i < 40; ++i) {
    const Seconds horizon = days(1 + 20 * random.uniform());
    const Simulated s(any_design(random), {.horizon = horizon, .seed = random.next()});
    const Replication& r = s.done.front();
    if (!s.simulation.scenario().trains.front().feasible()) continue;
    EXPECT_TRUE(r.is_sound) << i;
    GpuTime all = 0;
    for (const GpuTime t : r.gpu_time) {
      EXPECT_TRUE(t >= 0) << i;
      all += t;
    }
    const world::FleetPart& part = s.simulation.scenario().fleets.front();
    const std::int64_t gpus = std::int64_t{part.all_hosts()} * part.accelerators_per_host;
    EXPECT_TRUE(all == GpuTime{gpus} * sim::SimTime::from(horizon).ns()) << i;
    const double energy = r.sites.front().it_energy.base();
    EXPECT_NEAR(column_integral(r.series, "main_it_w", horizon) / energy, 1, 1e-9) << i;
    double shares = 0;
    for (std::size_t c = 0; c < kShares; ++c) {
      shares += column_integral(r.series, r.series.columns[c], horizon);
    }
    EXPECT_NEAR(shares / (static_cast<double>(gpus) * horizon.base()), 1, 1e-9) << i;

    const processes::JobOutcome& job = r.jobs.front();
    EXPECT_EQ(std::accumulate(job.time_ns.begin(), job.time_ns.end(), std::int64_t{0}),
              job.span_ns);
    for (const std::int64_t t : job.time_ns) EXPECT_GE(t, 0) << i;
    // A fault on a host of the job is an outage of the job, and nothing else is.
    std::uint64_t outages_begun = 0;
    for (const world::RunEvent& e : r.log) {
      outages_begun += e.kind == sim::TraceKind::begin && e.name == word_of(Cause::detect);
    }
    EXPECT_EQ(outages_begun, job.interruptions) << i;
    EXPECT_LE(job.interruptions,
              std::accumulate(r.faults.begin(), r.faults.end(), std::uint64_t{0}));
  }
}

TEST(Simulation, no_host_is_held_twice_and_gangs_are_whole) {
  design::Design d = world::sample_design();
  d.fleet.front().failures.node_mtbf = days(3);
  const Simulated s(d, {.horizon = days(10)});
  const jobs::TrainJob& job = s.simulation.scenario().trains.front();
  // Under these causes the job has all of its accelerators or none: it never steps on fewer.
  const ByCause<GpuTime>& time = s.done.front().gpu_time;
  const processes::JobOutcome& o = s.done.front().jobs.front();
  for (const Cause c : {Cause::productive, Cause::save, Cause::lost, Cause::start}) {
    EXPECT_TRUE(time[at(c)] == GpuTime{o.time_ns[at(c)]} * job.hosts * 8);
  }
}

// 70 billion parameters of 14 bytes are a TB: at 1 GB/s a copy is safe a quarter of an hour after
// it was made. A few faults destroy a node's own copies; even if its peers have them too, half an
// interval is lost.
TEST(Simulation, copies_on_peers_survive_a_lost_node) {
  const auto lost_a_fault = [](int replicas) {
    design::Design d = world::sample_design();
    d.fleet.front().failures = {.node_mtbf = days(10)};
    d.storage.front().write = gbytes_per_s(1);
    world::train_of(d).checkpoint->every = minutes(30);
    world::train_of(d).checkpoint->to = {"node-nvme", "hot"};
    world::train_of(d).checkpoint->keep = {};
    world::train_of(d).checkpoint->replicas = replicas;
    const Simulated s(d, {.horizon = days(60)});
    const processes::JobOutcome& o = s.done.front().jobs.front();
    const auto faults = static_cast<double>(o.interruptions);
    EXPECT_GT(faults, 200);
    return static_cast<double>(o.time_ns[at(Cause::lost)]) / 60e9 / faults;
  };
  const double kept = lost_a_fault(2);
  EXPECT_NEAR(kept, 15, 1);
  EXPECT_GT(lost_a_fault(1), kept + 0.5);
}

TEST(Simulation, the_seed_determines_the_run) {
  const Simulated a(world::sample_design(), {.horizon = days(60), .replications = 2});
  const Simulated b(world::sample_design(), {.horizon = days(60), .replications = 2});
  const Simulated c(world::sample_design(), {.horizon = days(60), .seed = 2, .replications = 2});
  EXPECT_EQ(a.done.front().series.means, b.done.front().series.means);
  EXPECT_TRUE(a.done.back().gpu_time == b.done.back().gpu_time);
  EXPECT_FALSE(a.done.back().gpu_time == c.done.back().gpu_time);
  EXPECT_FALSE(a.done.front().gpu_time == a.done.back().gpu_time);
}

TEST(Simulation, fields_of_the_design_change_the_run) {
  const auto goodput = [](auto change) {
    design::Design d = world::sample_design();
    world::train_of(d).tokens = 1e15;
    d.fleet.front().failures.node_mtbf = days(20);
    change(d);
    const Simulated s(d, {.horizon = days(60)});
    return s.done.front().jobs.front().goodput();
  };
  const double as_is = goodput([](design::Design&) {});
  const auto below = [&](auto change) { EXPECT_LT(goodput(change), as_is - 1e-4); };
  below([](design::Design& d) { d.scheduler.recovery.detect = minutes(20); });
  below([](design::Design& d) { d.scheduler.recovery.requeue = minutes(20); });
  below([](design::Design& d) { d.scheduler.recovery.restart = minutes(20); });
  below([](design::Design& d) { d.fleet.front().failures.node_mtbf = days(5); });
  below([](design::Design& d) {
    d.fleet.front().failures.lemon_share = 0.2;
    d.fleet.front().failures.lemon_factor = 10;
  });
  below([](design::Design& d) {
    d.fleet.front().failures.straggler_share = 0.2;
    d.fleet.front().failures.straggler_slowdown = 0.1;
  });
  below([](design::Design& d) { world::train_of(d).checkpoint->every = hours(6); });
  below([](design::Design& d) {
    world::train_of(d).checkpoint->mode = design::CheckpointMode::sync;
  });
  below([](design::Design& d) { world::train_of(d).checkpoint.reset(); });
  below([](design::Design& d) {
    d.fleet.front().count = 120;  // no host is left as a replacement
    d.fleet.front().failures.repair = days(1);
  });
}

TEST(Simulation, the_recovery_policy_replaces_lemons_by_spares) {
  design::Design d = world::sample_design();
  world::train_of(d).tokens = 1e15;
  d.fleet.front().spares = 8;
  d.fleet.front().failures = {.node_mtbf = days(100), .lemon_share = 0.05, .lemon_factor = 30};
  const Simulated s(d, {.horizon = days(120)});
  EXPECT_GE(s.done.front().lemons_found, 3U);
  EXPECT_LE(s.done.front().lemons_found, 12U);  // about six are lemons; few others are blamed
  EXPECT_EQ(s.done.front().jobs.front().holds, 0U);
  // A spare that was put to use stays in service: nothing is in reserve until the end.
  EXPECT_LT(static_cast<double>(s.done.front().gpu_time[at(Cause::reserve)]),
            64.0 * 1e9 * days(100).base());
}

const figures::Section& site_section(const run::Run& run) {
  return *std::ranges::find(run.sections, figures::Layer::facility, &figures::Section::layer);
}

double figure_of(const figures::Section& s, std::string_view id) {
  const auto found = std::ranges::find(s.figures, id, &figures::Figure::id);
  return found == s.figures.end() ? std::nan("") : found->estimate.value;
}

// arXiv 2506.14551 and IEEE Access 2025: 0.76 of 10.2 kW on average, 8.4 kW at the highest.
TEST(SimulationPower, a_training_node_of_eight_h100_draws_what_was_measured) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 120;
  world::train_of(d).tokens = 1e15;
  const Simulated s(d, {.horizon = days(3)});
  const Replication& r = s.done.front();
  EXPECT_NEAR(r.jobs.front().host_draw / kilowatts(10.2), 0.76, 0.05 * 0.76);
  EXPECT_NEAR(r.sites.front().it_highest / 120 / kilowatts(8.4), 1, 0.05);
}

TEST(SimulationPower, synchronous_steps_draw_power_at_their_frequency) {
  const Simulated s(world::sample_design(), {.horizon = days(1)});
  const run::Run run = s.simulation.run_of(s.done);
  const double step = s.simulation.scenario().trains.front().step.step.base();
  EXPECT_NEAR(figure_of(site_section(run), "line_hz_pretrain") * step, 1, 1e-9);
}

// NVIDIA's sample of an oversubscribed site: eight GB300 racks of 142 kW behind 750 kW.
TEST(SimulationPower, an_overloaded_feed_is_flagged_with_caps_that_cure_it) {
  design::Design d = world::sample_design();
  d.sites.front().power = kilowatts(750);
  d.sites.front().pue = 1.0;
  d.fleet.front() = {.name = "train", .node = "gb300-nvl72", .count = 8};
  d.fabric = {};
  d.storage.clear();
  d.workloads.front().terms.nodes.reset();
  world::train_of(d).tokens = 1e15;
  world::train_of(d).batch = 576;
  world::train_of(d).checkpoint.reset();
  world::train_of(d).dataset = {};
  const Simulated s(d, {.horizon = days(1)});
  ASSERT_TRUE(s.simulation.scenario().trains.front().feasible())
      << s.simulation.scenario().trains.front().infeasible;
  const run::Run run = s.simulation.run_of(s.done);
  const figures::Section& site = site_section(run);
  EXPECT_NE(site.limit.find("against 750 kW"), std::string::npos) << site.limit;
  EXPECT_NE(site.limit.find("power_cap: "), std::string::npos) << site.limit;
}

// Replications of one run agree to a thousandth on what all of them assume; the run must not claim
// to be known that well.
TEST(Simulation, intervals_include_the_error_of_shared_assumptions) {
  const Simulated s(world::sample_design(), {.horizon = days(2), .replications = 2});
  const run::Run run = s.simulation.run_of(s.done);
  const auto widths = [](const figures::Section& of, std::string_view id) {
    const auto found = std::ranges::find(of.figures, id, &figures::Figure::id);
    EXPECT_NE(found, of.figures.end()) << id;
    const Estimate& e = found->estimate;
    return std::pair{e.low / e.value, e.high / e.value};
  };
  const auto training =
      std::ranges::find(run.sections, figures::Layer::training, &figures::Section::layer);
  ASSERT_NE(training, run.sections.end());
  const double step = s.simulation.scenario().trains.front().step.error;
  const auto [slow, fast] = widths(*training, "useful_rate");
  EXPECT_LE(slow, 1 / (1 + step) + 1e-9);
  EXPECT_GE(fast, 1 + step - 1e-9);
  const auto [early, late] = widths(*training, "run_time");
  EXPECT_LE(early, 1 / (1 + step) + 1e-9);
  EXPECT_GE(late, 1 + step - 1e-9);
  // The site's draw, 11 % either way, and its PUE; the grid's 15 % on top.
  const figures::Section& site = site_section(run);
  const auto [pue_low, pue_high] = widths(site, "pue");
  const double draw = std::exp(std::hypot(std::log(1.11), std::log(pue_high)));
  EXPECT_GE(widths(site, "it_mean").second, 1.11 - 1e-9);
  EXPECT_NEAR(widths(site, "draw_mean").second, draw, 0.01);
  EXPECT_NEAR(widths(site, "energy_year").second, draw, 0.01);
  EXPECT_NEAR(widths(site, "carbon_year").second,
              std::exp(std::hypot(std::log(draw), std::log(1.15))), 0.01);
  EXPECT_LT(pue_low, 1);
}

TEST(Simulation, a_finished_run_frees_its_hosts) {
  design::Design d = world::sample_design();
  world::train_of(d).tokens = 1e10;
  const Simulated s(d, {.horizon = days(30)});
  const processes::JobOutcome& o = s.done.front().jobs.front();
  EXPECT_EQ(o.runs_finished, 1U);
  EXPECT_NEAR(o.units, 1e10, 1e10 * 1e-9);
  EXPECT_LT(o.span_ns, sim::SimTime::from(days(1)).ns());
}

// Two hosts of eight accelerators here, and three of cores at a second site.
design::Design cores_design() {
  design::Design d = world::sample_design();
  d.fleet.front().count = 2;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery = {};
  design::Site second = d.sites.front();
  second.name = "second";
  d.sites.push_back(second);
  design::Fleet cores = d.fleet.front();
  cores.name = "cores";
  cores.node = "cpu-2s-server";
  cores.count = 3;
  cores.site = "second";
  d.fleet.push_back(cores);
  design::Batch batch{.core_hours = 100};
  batch.tasks = 10;
  d.workloads.front() = {.terms = {.name = "nightly"}, .task = batch};
  d.workloads.front().terms.fleet = "cores";
  return d;
}

// Cores are not part of the GPU-seconds.
TEST(Simulation, gpu_seconds_exclude_fleets_of_cores) {
  const Simulated s(cores_design(), {.horizon = hours(1)});
  const Replication& r = s.done.front();
  const GpuTime all = std::accumulate(r.gpu_time.begin(), r.gpu_time.end(), GpuTime{0});
  EXPECT_TRUE(all == GpuTime{16} * 3600 * 1'000'000'000);
  ASSERT_EQ(r.fleet_time.size(), 2U);
  const auto& times = r.fleet_time[design::FleetIndex(1)];
  const GpuTime cores = std::accumulate(times.begin(), times.end(), GpuTime{0});
  EXPECT_TRUE(cores == GpuTime{3} * 3600 * 1'000'000'000);
  EXPECT_EQ(s.simulation.run_of(s.done).accelerators, 16);
  EXPECT_EQ(r.sites.size(), 2U);
  EXPECT_EQ(r.racks.size(), 2U);
}

}  // namespace
}  // namespace orrery::run
