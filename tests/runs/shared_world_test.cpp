// What holds for every run, whatever the design and the faults: drawn at random, and checked from
// inside while it runs.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <set>
#include <utility>

#include "model/jobs/build_machine.h"
#include "twin/processes/populated_fixture.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"
#include "twin/world/shared_lives.h"
#include "twin/world/world.h"

namespace orrery::run {

using cluster::at;
using cluster::ByCause;
using cluster::Cause;
using cluster::GpuLedger;
using cluster::GpuTime;
using cluster::kShares;

namespace {

// A network that is not a transformer: its latencies are closed forms, which keeps this test fast.
design::Serve small_service(int replicas, double rate) {
  design::Serve serve;
  serve.network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
  serve.replicas = replicas;
  serve.arrivals = {.rate = PerSecond(rate), .peak = 1.5};
  return serve;
}

design::Workload service(RandomStream& random) {
  design::Serve serve =
      small_service(static_cast<int>(1 + random.below(40)), 200 * random.uniform());
  if (random.uniform() < 0.4) {
    serve.autoscale = design::Autoscale{.min = 1,
                                        .max = *std::exchange(serve.replicas, std::nullopt),
                                        .target = 1 + 3 * random.uniform(),
                                        .period = minutes(1),
                                        .hold = minutes(10 * random.uniform())};
  }
  return {.terms = {.name = "service"}, .task = serve};
}

design::Workload stream(RandomStream& random) {
  design::Jobs jobs{.rate = PerSecond((1 + 12 * random.uniform()) / 3600),
                    .mean_duration = hours(0.2 + 4 * random.uniform())};
  jobs.sizes = {1, 2, 3, 4, 8, 12, 16, 64};
  return {.terms = {.name = "users"}, .task = jobs};
}

design::Workload batch(RandomStream& random) {
  design::Batch b{.accelerator_hours = 10 + 500 * random.uniform()};
  b.tasks = static_cast<int>(1 + random.below(400));
  b.repeat = design::Recurrence{.every = hours(6 + 20 * random.uniform())};
  return {.terms = {.name = "nightly"}, .task = b};
}

// All kinds of work on a fleet that fails often, under a scheduler drawn at random.
design::Design any_work(RandomStream& random) {
  design::Design d = world::sample_design();
  design::Fleet& fleet = d.fleet.front();
  fleet.count = static_cast<int>(12 + random.below(40));
  fleet.spares = static_cast<int>(random.below(3));
  fleet.failures = {.node_mtbf = days(0.5 + 20 * random.uniform()),
                    .lemon_share = random.uniform() * 0.1,
                    .lemon_factor = 1 + 9 * random.uniform()};
  if (random.uniform() < 0.5) fleet.failures.repair = hours(0.5 + 10 * random.uniform());
  if (random.uniform() < 0.3) fleet.failures.shape = 0.5 + 2 * random.uniform();
  if (random.uniform() < 0.3) fleet.failures.link_mtbf = days(20 + 100 * random.uniform());
  if (random.uniform() < 0.4) fleet.failures.leaf_mtbf = days(1 + 5 * random.uniform());
  if (random.uniform() < 0.4) fleet.failures.pdu_mtbf = days(2 + 10 * random.uniform());
  world::train_of(d).tokens = 1e9 + 1e11 * random.uniform();
  world::train_of(d).batch = 768;
  if (random.uniform() < 0.3) world::train_of(d).checkpoint.reset();
  if (random.uniform() < 0.5) world::train_of(d).repeat = design::Recurrence{.every = hours(12)};
  if (random.uniform() < 0.5) world::train_of(d).min_replicas = 1;
  d.workloads.resize(1);
  d.workloads.front().terms.nodes = 4 * static_cast<int>(1 + random.below(2));
  if (random.uniform() < 0.7) d.workloads.push_back(service(random));
  if (random.uniform() < 0.7) d.workloads.push_back(stream(random));
  if (random.uniform() < 0.7) d.workloads.push_back(batch(random));
  for (design::Workload& w : d.workloads) w.terms.priority = static_cast<int>(random.below(3));
  constexpr design::Backfill kBackfills[] = {design::Backfill::none, design::Backfill::easy,
                                             design::Backfill::conservative,
                                             design::Backfill::slurm};
  d.scheduler.kind =
      random.uniform() < 0.3 ? design::SchedulerKind::kubernetes : design::SchedulerKind::slurm;
  d.scheduler.backfill = kBackfills[random.below(4)];
  d.scheduler.preemption =
      random.uniform() < 0.5 ? design::Preemption::requeue : design::Preemption::none;
  if (random.uniform() < 0.4) {
    d.scheduler.power_aware = true;
    d.sites.front().power = kilowatts(100 + 400 * random.uniform());
  }
  if (d.scheduler.kind == design::SchedulerKind::slurm && random.uniform() < 0.5) {
    const bool preempts = d.scheduler.preemption != design::Preemption::none;
    d.scheduler.qos = {{.name = "low", .max_nodes_per_user = 3, .time_limit = hours(2)},
                       {.name = "high", .priority = 10, .max_nodes = 20, .max_jobs_per_user = 2}};
    if (preempts) d.scheduler.qos.back().preempts = {"low"};
    for (design::Workload& w : d.workloads) {
      const bool may_end = std::holds_alternative<design::Jobs>(w.task) ||
                           std::holds_alternative<design::Batch>(w.task);
      w.terms.qos = may_end && random.uniform() < 0.5 ? "low" : "high";
    }
  }
  d.scheduler.topology =
      random.uniform() < 0.5 ? design::PlacementTopology::tree : design::PlacementTopology::none;
  return d;
}

// Every slot of every host has at most one holder, and every running job has everything it
// requested.
void look_at(world::FleetState& fleet) {
  const cluster::Queue& queue = fleet.queue();
  std::set<cluster::JobIndex> running;
  std::vector<cluster::JobIndex> jobs;
  for (int node = 0; node < queue.pool().nodes(); ++node) {
    queue.jobs_on(node, jobs);
    std::uint64_t used = 0;
    int gpus = 0;
    for (const cluster::JobIndex job : jobs) {
      running.insert(job);
      for (const cluster::NodeShare& share : queue.job(job).shares) {
        if (share.node != node) continue;
        EXPECT_EQ(used & share.mask, 0U) << "a slot of host " << node << " is held twice";
        used |= share.mask;
        gpus += share.gpus;
      }
    }
    EXPECT_EQ(std::popcount(used), gpus);
    EXPECT_LE(gpus, fleet.part().slots_per_host);
    if (!queue.pool().is_up(node)) {
      EXPECT_EQ(gpus, 0) << "a host that is away runs something";
    } else {
      EXPECT_EQ(gpus + queue.pool().free_on(node), fleet.part().slots_per_host);
    }
  }
  for (const cluster::JobIndex job : running) {
    int held = 0;
    for (const cluster::NodeShare& share : queue.job(job).shares) held += share.gpus;
    EXPECT_EQ(held, queue.job(job).ask.gpus) << "only part of a gang is running";
  }
  EXPECT_EQ(running.size(), queue.running());
}

void expect_all_jobs(const processes::TaskOutcome& o) {
  EXPECT_EQ(o.submitted, o.finished + o.waiting + o.running + o.rejected + o.timed_out);
  EXPECT_EQ(o.slowdowns.size(), o.finished);
}

void expect_whole_books(world::World& world, Seconds horizon) {
  EXPECT_TRUE(world.is_sound());
  for (const design::FleetIndex f : world.fleets()) {
    const GpuLedger& book = world.fleet(f).slots().ledger();
    GpuTime all = 0;
    for (const GpuTime t : book.booked()) {
      EXPECT_TRUE(t >= 0);
      all += t;
    }
    EXPECT_TRUE(all == GpuTime{book.accelerators()} * sim::SimTime::from(horizon).ns());
  }
}

// The time booked as lost equals the work that runs and jobs report as repeated.
void expect_lost_work_is_booked(processes::PopulatedWorld& populated,
                                const processes::Scenario& scenario) {
  world::World& world = populated.world;
  double booked = 0;
  for (const design::FleetIndex f : world.fleets()) {
    booked += static_cast<double>(world.fleet(f).slots().ledger().booked()[at(Cause::lost)]) / 1e9;
  }
  double told = 0;
  for (std::size_t t = 0; t < populated.processes.trains().size(); ++t) {
    const std::int64_t lost = populated.processes.trains()[t]->outcome().time_ns[at(Cause::lost)];
    told += static_cast<double>(lost) / 1e9 * scenario.trains[t].accelerators;
  }
  for (const processes::TaskProcess* p : populated.processes.batches())
    told += p->outcome().lost_slot_s;
  for (const processes::TaskProcess* p : populated.processes.streams())
    told += p->outcome().lost_slot_s;
  EXPECT_NEAR(booked, told, 1e-6 * std::max(1.0, told));
}

void expect_all_faults(processes::PopulatedWorld& populated) {
  world::World& world = populated.world;
  std::uint64_t hits = 0;
  for (const processes::TrainProcess* p : populated.processes.trains())
    hits += p->outcome().interruptions;
  for (const processes::ServiceProcess* p : populated.processes.services())
    hits += p->outcome().faults;
  for (const processes::TaskProcess* p : populated.processes.batches()) hits += p->outcome().faults;
  for (const processes::TaskProcess* p : populated.processes.streams()) hits += p->outcome().faults;
  EXPECT_EQ(hits, world.faults().faults_told());
  const auto sum = [](const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  EXPECT_EQ(sum(world.host_lives().faults()) + sum(world.shared_lives().faults()),
            world.faults().faults() + world.host_lives().silent());
}

// A power-aware scheduler never exceeds the limit of the feed, whatever phases coincide.
void expect_within_feed(world::World& world) {
  const facility::PowerRoom* room = world.meters().room(world::kFirstSite);
  if (room == nullptr) return;
  const world::FleetPart& part = world.fleet(world::kFirstFleet).part();
  const Watts rise =
      world.meters().site(world::kFirstSite).highest - part.host_power.idle * part.all_hosts();
  EXPECT_LE(rise.base(), std::max(0.0, (room->feed / room->pue - room->always).base()) + 1);
}

TEST(WorldProperty, no_slot_is_held_twice_no_job_is_lost_and_every_book_balances) {
  RandomStream random(11, "any-work");
  for (int i = 0; i < 16; ++i) {
    SCOPED_TRACE(i);
    const design::Design d = any_work(random);
    const machine::Machine m = jobs::build_machine(d, machine::known());
    const Seconds horizon = days(0.5 + 2 * random.uniform());
    const processes::Scenario scenario = processes::scenario_of(m, horizon);
    world::Recorder recorder(sim::SimTime::from(horizon), 100);
    processes::PopulatedWorld populated(scenario, random.next(), &recorder);
    world::World& world = populated.world;
    world.run([&] {
      for (const design::FleetIndex f : world.fleets()) look_at(world.fleet(f));
      return true;
    });
    expect_whole_books(world, horizon);
    expect_all_faults(populated);
    expect_lost_work_is_booked(populated, scenario);
    expect_within_feed(world);
    for (const processes::TaskProcess* p : populated.processes.batches())
      expect_all_jobs(p->outcome());
    for (const processes::TaskProcess* p : populated.processes.streams())
      expect_all_jobs(p->outcome());
    for (const processes::TrainProcess* p : populated.processes.trains()) {
      const auto& time = p->outcome().time_ns;
      EXPECT_EQ(std::accumulate(time.begin(), time.end(), std::int64_t{0}), p->outcome().span_ns);
    }
    // Energy is the integral of power, and every accelerator is in exactly one share of the series.
    const world::Series series = recorder.series(sim::SimTime::from(horizon));
    const auto integral = [&](std::size_t column) {
      double sum = 0;
      for (std::size_t row = 0; row < series.means.size(); ++row) {
        const Seconds left = horizon - series.bin * static_cast<double>(row);
        sum += series.means[row][column] * min(series.bin, left).base();
      }
      return sum;
    };
    EXPECT_NEAR(integral(kShares) / world.meters().site(world::kFirstSite).energy.base(), 1, 1e-9);
    double shares = 0;
    for (std::size_t c = 0; c < kShares; ++c) shares += integral(c);
    const double all =
        static_cast<double>(world.fleet(world::kFirstFleet).slots().ledger().accelerators()) *
            horizon.base();
    EXPECT_NEAR(shares / all, 1, 1e-9);
    if (testing::Test::HasFailure()) return;
  }
}

// A host of a run fails silently after two hours of steps. After four hours the run's processes
// die, and a second later, while that is being detected, the bad host is found.
class SilentThenFound final : public sim::EventHandler {
 public:
  explicit SilentThenFound(world::World& world) : world_(world) {
    for (const double hour : {2.0, 4.0}) call(hours(hour));
    call(hours(4) + seconds(1));
  }
  ~SilentThenFound() { world_.kernel().forget(*this); }

  void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t) override {
    const cluster::Queue& queue = world_.fleet(world::kFirstFleet).queue();
    const auto& shares = queue.job(queue.running_jobs().front().job).shares;
    if (kernel.now() == sim::SimTime::from(hours(2))) {
      world_.faults().corrupt(world::kFirstFleet, world::host_at(shares.front().node));
    } else if (kernel.now() == sim::SimTime::from(hours(4))) {
      world_.faults().strike(
          world::kFirstFleet, world::host_at(shares.back().node),
          {.name = "crash", .scope = failure::FaultScope::process, .keeps_disk = true}, 0);
    } else {
      world_.faults().strike(
          world::kFirstFleet, world::host_at(shares.front().node),
          {.name = "found", .scope = failure::FaultScope::host, .keeps_disk = true}, 0);
    }
  }

 private:
  void call(Seconds when) {
    world_.kernel().schedule(sim::SimTime::from(when), sim::EventRank::control, *this, 0);
  }

  world::World& world_;
};

// The crash alone costs less than one interval of five minutes. What was saved during the two hours
// of silent failure is lost when the host is found, on all slots of the run.
TEST(World, work_spoilt_by_a_silent_fault_is_booked_as_lost) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 12;
  d.fleet.front().failures = {.node_mtbf = years(1e6), .repair = minutes(10)};
  d.workloads.front().terms.nodes = 8;
  world::train_of(d).batch = 768;
  world::train_of(d).tokens = 1e15;
  world::train_of(d).checkpoint->every = minutes(5);
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, hours(8));
  processes::PopulatedWorld populated(scenario, 5);
  world::World& world = populated.world;
  const SilentThenFound faults(world);
  world.run({});
  const processes::JobOutcome& o = populated.processes.trains().front()->outcome();
  EXPECT_EQ(o.interruptions, 2U);
  const double lost_h = static_cast<double>(o.time_ns[at(Cause::lost)]) / 3600e9;
  EXPECT_GT(lost_h, 1.9);
  EXPECT_LT(lost_h, 2.2);
  expect_lost_work_is_booked(populated, scenario);
}

// A run on eight hosts with one replica per host; one host dies after four hours.
design::Design eight_replicas(std::optional<int> min_replicas, Seconds repair) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 8;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6), .repair = repair};
  d.workloads.front().terms.nodes = 8;
  world::train_of(d).model = "llama-3-8b";
  world::train_of(d).layout = design::Layout{.tp = 8, .pp = 1, .dp = 8};
  world::train_of(d).batch = 768;
  world::train_of(d).tokens = 1e15;
  world::train_of(d).checkpoint->every = minutes(10);
  world::train_of(d).min_replicas = min_replicas;
  return d;
}

class OneHostDies final : public sim::EventHandler {
 public:
  explicit OneHostDies(world::World& world) : world_(world) {
    world.kernel().schedule(sim::SimTime::from(hours(4)), sim::EventRank::control, *this, 0);
  }
  ~OneHostDies() { world_.kernel().forget(*this); }
  void on_event(sim::Kernel&, std::uint32_t, std::uint64_t) override {
    world_.faults().strike(world::kFirstFleet, world::HostIndex(3),
                           {.name = "dies", .scope = failure::FaultScope::host, .keeps_disk = true},
                           0);
  }

 private:
  world::World& world_;
};

processes::JobOutcome outcome_of_one_loss(std::optional<int> min_replicas, Seconds repair) {
  const machine::Machine m =
      jobs::build_machine(eight_replicas(min_replicas, repair), machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, hours(104));
  EXPECT_EQ(scenario.trains.front().infeasible, "");
  processes::PopulatedWorld populated(scenario, 5);
  world::World& world = populated.world;
  const OneHostDies fault(world);
  world.run({});
  expect_whole_books(world, hours(104));
  expect_lost_work_is_booked(populated, scenario);
  return populated.processes.trains().front()->outcome();
}

double hours_of(const processes::JobOutcome& o, Cause cause) {
  return static_cast<double>(o.time_ns[at(cause)]) / 3600e9;
}

// It shrinks by whole hosts that hold whole replicas; a run that cannot be divided like this is
// refused.
TEST(World, an_elastic_run_is_divided_into_whole_hosts) {
  const auto job = [](int tp, int pp, int dp, int min_replicas) {
    design::Design d = eight_replicas(min_replicas, hours(1));
    world::train_of(d).layout = design::Layout{.tp = tp, .pp = pp, .dp = dp};
    const machine::Machine m = jobs::build_machine(d, machine::known());
    return processes::scenario_of(m, hours(1)).trains.front();
  };
  const jobs::TrainJob wide = job(8, 2, 4, 2);
  EXPECT_EQ(wide.elastic->unit_hosts, 2);
  EXPECT_EQ(wide.elastic->units, 4);
  EXPECT_EQ(wide.elastic->lost_with(1), 0.25);
  EXPECT_EQ(wide.elastic->lost_with(3), 0.5);
  EXPECT_EQ(wide.elastic->lost_with(5), 1);  // one replica is left, but the minimum is two
  const jobs::TrainJob narrow = job(2, 1, 32, 9);
  EXPECT_EQ(narrow.elastic->unit_hosts, 1);
  EXPECT_EQ(narrow.elastic->least, 3);  // four per host
  EXPECT_NE(job(8, 1, 8, 9).infeasible.find("min_replicas is 9, and its layout has 8"),
            std::string::npos);
}

// The host never comes back. A rigid run stops after the fourth hour; one that may continue with
// six of its eight replicas does seven eighths of its remaining work.
TEST(World, an_elastic_run_continues_with_fewer_replicas) {
  const processes::JobOutcome rigid = outcome_of_one_loss({}, years(100));
  EXPECT_GT(hours_of(rigid, Cause::no_host), 99);
  const processes::JobOutcome o = outcome_of_one_loss(6, years(100));
  EXPECT_EQ(o.shrinks, 1U);
  EXPECT_EQ(o.grows, 0U);
  EXPECT_EQ(o.interruptions, 1U);
  EXPECT_EQ(hours_of(o, Cause::no_host), 0);
  // The remaining hundred hours, less saves and the restart.
  EXPECT_NEAR(hours_of(o, Cause::shrunk) * 8, 100, 1.5);
  EXPECT_NEAR(hours_of(o, Cause::productive), 4 + 100 * 7 / 8.0, 1.5);
  EXPECT_NEAR(o.units / rigid.units,
              hours_of(o, Cause::productive) / hours_of(rigid, Cause::productive), 1e-6);
  // If all eight are required, it behaves like the rigid run.
  EXPECT_GT(hours_of(outcome_of_one_loss(8, years(100)), Cause::no_host), 99);
}

// The host is repaired after about an hour: the run adds it after the next save and loses no work
// by doing so.
TEST(World, a_run_grows_again_when_its_host_is_back) {
  const processes::JobOutcome o = outcome_of_one_loss(6, hours(1));
  EXPECT_EQ(o.shrinks, 1U);
  EXPECT_EQ(o.grows, 1U);
  EXPECT_EQ(o.runs_started, 1U);
  EXPECT_GT(hours_of(o, Cause::shrunk), 0);
  EXPECT_LT(hours_of(o, Cause::shrunk), 1);
  EXPECT_GT(hours_of(o, Cause::productive), 101);
  const processes::JobOutcome never_back = outcome_of_one_loss(6, years(100));
  EXPECT_EQ(o.time_ns[at(Cause::lost)], never_back.time_ns[at(Cause::lost)]);
}

// Hosts fail and are repaired all the time. The work lost because hosts are missing matches the
// closed form: the number of hosts in repair is Poisson distributed, and each costs an eighth of
// the rate.
TEST(World, time_without_hosts_matches_the_closed_form) {
  design::Design d = eight_replicas(2, days(6));
  d.fleet.front().failures.node_mtbf = days(80);
  const Simulated s(d, {.horizon = years(20), .replications = 1});
  const processes::JobOutcome& o = s.done.front().jobs.front();
  const double rate = hours_of(o, Cause::productive) + hours_of(o, Cause::lost);
  const double without = hours_of(o, Cause::shrunk) / (rate + hours_of(o, Cause::shrunk));
  const double expected = s.simulation.scenario().trains.front().failure.shortfall;
  EXPECT_GT(expected, 0.04);
  EXPECT_NEAR(without / expected, 1, 0.15) << expected;
}

// One queue, one kind of job, no faults: M/M/c waits match Erlang's C formula (here 0.75 load of 8
// servers).
TEST(World, a_stream_waits_as_queueing_theory_says) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 8;
  d.fleet.front().failures.node_mtbf = years(1e6);
  d.workloads.resize(1);
  design::Jobs jobs{.rate = PerSecond(6.0 / 3600), .mean_duration = hours(1)};
  jobs.sizes = {8};
  d.workloads.front() = {.terms = {.name = "users"}, .task = jobs};
  const Simulated s(d, {.horizon = years(1)});
  const processes::TaskOutcome& o = s.done.front().streams.front();
  // With log-normal times of variation 3 instead of exponential ones, waits are about (1 + 9) / 2
  // times as long (Allen and Cunneen), and less with many servers.
  const double mmc = 0.357 / (8 * (1 - 0.75)) * 3600;
  double mean = 0;
  for (const double w : o.waits_s) mean += w / static_cast<double>(o.waits_s.size());
  EXPECT_GT(mean, 2.5 * mmc);
  EXPECT_LT(mean, 6 * mmc);
}

// A run with guaranteed nodes gets them whatever is submitted first; runs without a guarantee share
// the rest.
TEST(World, a_guarantee_of_nodes_is_kept) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 16;
  d.fleet.front().failures.node_mtbf = years(1e6);
  d.workloads.resize(1);
  d.workloads.front().terms.nodes = 8;
  world::train_of(d).batch = 768;
  world::train_of(d).tokens = 1e15;
  design::Jobs jobs{.rate = PerSecond(1.0 / 180), .mean_duration = hours(4)};
  jobs.sizes = {1, 8};
  d.workloads.insert(d.workloads.begin(), {.terms = {.name = "users"}, .task = jobs});
  const Simulated s(d, {.horizon = days(4)});
  const Replication& r = s.done.front();
  EXPECT_EQ(r.jobs.front().runs_started, 1U);
  EXPECT_GT(r.jobs.front().goodput(), 0.9);
  // The jobs keep the other half busy and use no more than that.
  const auto& time = r.fleet_time.front();
  EXPECT_LT(static_cast<double>(time[at(Cause::idle)] + time[at(Cause::stranded)]) /
                (128.0 * days(4).base() * 1e9),
            0.05);
  EXPECT_GT(r.streams.front().waiting, 100U);
}

struct PowerRun {
  facility::PowerRoom room;
  Watts rise_of_host;
  Watts highest;
  std::uint64_t finished = 0;
};

// Jobs of half the fleet each, behind a feed with limited power.
PowerRun behind_feed(Watts feed, bool power_aware) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 16;
  d.fleet.front().spares = 0;
  d.fleet.front().failures.node_mtbf = years(1e6);
  d.sites.front().power = feed;
  d.scheduler.power_aware = power_aware;
  design::Jobs jobs{.rate = PerSecond(1.0 / 600), .mean_duration = hours(1)};
  jobs.sizes = {64};
  d.workloads.resize(1);
  d.workloads.front() = {.terms = {.name = "users"}, .task = jobs};
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, days(4));
  processes::PopulatedWorld populated(scenario, 5);
  world::World& world = populated.world;
  world.run({});
  expect_within_feed(world);
  PowerRun run{.rise_of_host = facility::rise_of(scenario.fleets.front().host_power),
               .highest = world.meters().site(world::kFirstSite).highest,
               .finished = populated.processes.streams().front()->outcome().finished};
  if (world.meters().room(world::kFirstSite)) run.room = *world.meters().room(world::kFirstSite);
  return run;
}

// Enough power for one and a half of the two jobs that would run.
TEST(World, jobs_wait_for_the_power_of_their_site) {
  const PowerRun ample = behind_feed(megawatts(10), true);
  const Watts feed = (ample.room.always + ample.rise_of_host * 12) * ample.room.pue;
  const PowerRun held = behind_feed(feed, true);
  const PowerRun free = behind_feed(feed, false);
  EXPECT_EQ(free.highest, ample.highest);
  EXPECT_NEAR((ample.highest - held.highest) / (ample.rise_of_host * 8), 1, 1e-9);
  EXPECT_LT(held.finished, free.finished * 3 / 4);
  EXPECT_GT(held.finished, 10U);
}

// The loss of a spot host is announced: with a save that is safe within the notice, little work is
// lost.
TEST(World, an_announced_spot_loss_costs_less_work) {
  const auto lost = [](Seconds notice) {
    design::Design d = world::sample_design();
    world::train_of(d).tokens = 1e15;
    world::train_of(d).checkpoint->every = hours(3);
    const machine::Machine m = jobs::build_machine(d, machine::known());
    processes::Scenario scenario = processes::scenario_of(m, days(30));
    machine::FailureSource spot = *scenario.fleets.front().failures;
    spot.spot = 1.0 / days(60);
    scenario.fleets.front().failures = &spot;
    scenario.fleets.front().taken_back.notice = notice;
    processes::PopulatedWorld populated(scenario, 5);
    world::World& world = populated.world;
    world.run({});
    return static_cast<double>(
        populated.processes.trains().front()->outcome().time_ns[at(Cause::lost)]);
  };
  EXPECT_LT(lost(seconds(120)), 0.6 * lost(seconds(0)));
}

TEST(World, a_service_loses_replicas_with_their_hosts) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 6;
  d.fleet.front().failures = {.node_mtbf = days(3), .repair = hours(4)};
  d.workloads.resize(1);
  d.workloads.front() = {.terms = {.name = "ranking"}, .task = small_service(40, 400)};
  const Simulated s(d, {.horizon = days(30)});
  const processes::ServiceOutcome& o = s.done.front().services.front();
  EXPECT_GT(o.faults, 100U);  // about sixty hosts, most with eight replicas
  EXPECT_GT(o.down_ns, 0);
  const ByCause<GpuTime>& time = s.done.front().gpu_time;
  EXPECT_TRUE(time[at(Cause::productive)] > 0);
  EXPECT_TRUE(time[at(Cause::standby)] > 0);
  EXPECT_TRUE(time[at(Cause::start)] > 0);
}

}  // namespace
}  // namespace orrery::run
