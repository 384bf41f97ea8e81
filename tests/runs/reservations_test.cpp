// Jobs and reservations on a queue's clock: no job with a time limit runs into a reservation, jobs
// without one are requeued when it begins, guests are admitted, and waiting jobs state the reason.
#include <gtest/gtest.h>

#include <map>

#include "core/base/random.h"
#include "layers/cluster/queue.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {
namespace {

using cluster::BackfillVariant;
using cluster::JobIndex;
using cluster::JobRequest;
using cluster::Queue;
using cluster::QueueOptions;
using cluster::QueuePort;
using cluster::StopCause;
using sim::SimTime;

constexpr BackfillVariant kVariants[] = {
    BackfillVariant::fifo,        BackfillVariant::best_effort,  BackfillVariant::easy,
    BackfillVariant::easy_sticky, BackfillVariant::conservative, BackfillVariant::slurm};

class Yard final : public QueuePort, public sim::EventHandler {
 public:
  struct Life {
    JobRequest ask;
    Seconds run;
    JobIndex index = cluster::kNoJob;
    SimTime submitted;
    SimTime started = SimTime::never();
    SimTime ended = SimTime::never();
    int stops = 0;
    bool is_on = false;
    sim::TimerId end;
    std::vector<cluster::NodeShare> where;
  };

  Yard(int nodes, BackfillVariant variant, cluster::ReservationBook book) : book_(book) {
    QueueOptions options{.backfill = variant, .requeue_delay = seconds(5)};
    options.reservations = std::move(book);
    queue = std::make_unique<Queue>(
        kernel, cluster::NodePool(std::vector<int>(static_cast<std::size_t>(nodes), 8)), options,
        *this);
  }

  void add(Seconds at, JobRequest ask, Seconds run) {
    ask.tag = lives.size();
    kernel.schedule(SimTime::from(at), sim::EventRank::start, *this, 0, lives.size());
    lives.push_back({.ask = ask, .run = run});
  }

  void on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t i) override {
    if (kind == 0) {
      lives[i].submitted = kernel.now();
      lives[i].index = queue->submit(lives[i].ask).value_or(cluster::kNoJob);
      return;
    }
    lives[i].ended = kernel.now();
    lives[i].is_on = false;
    queue->finish(lives[i].index);
  }
  void job_started(JobIndex, std::uint64_t i, std::span<const cluster::NodeShare> where) override {
    Life& life = lives[i];
    life.started = kernel.now();
    life.is_on = true;
    life.where.assign(where.begin(), where.end());
    life.end = kernel.schedule(kernel.now().after(life.run), sim::EventRank::finish, *this, 1, i);
    // Whether a job may run on the nodes follows from the definition here, not from the queue's
    // mask.
    for (std::size_t r = 0; r < book_.all().size(); ++r) {
      if ((life.ask.guest_of >> r & 1) != 0) continue;
      const auto w = book_.all()[r].window_after(kernel.now());
      if (w.begin.is_never()) continue;
      for (const cluster::NodeShare& s : where) {
        if (!book_.all()[r].has(s.node)) continue;
        EXPECT_GT(w.begin.ns(), kernel.now().ns());
        if (!life.ask.stays) {
          EXPECT_LE((kernel.now() + life.ask.limit).ns(), w.begin.ns());
        }
      }
    }
  }
  void job_stopped(JobIndex, std::uint64_t i, StopCause cause) override {
    EXPECT_EQ(cause, StopCause::reserved);
    EXPECT_TRUE(lives[i].ask.stays);
    ++lives[i].stops;
    lives[i].is_on = false;
    kernel.cancel(lives[i].end);
  }

  double started(std::size_t i) const { return lives[i].started.seconds().base(); }

  sim::Kernel kernel;
  std::unique_ptr<Queue> queue;
  std::vector<Life> lives;

 private:
  cluster::ReservationBook book_;
};

JobRequest job(int nodes, Seconds limit) {
  return {.ask = {.gpus = nodes * 8, .per_node = 8}, .limit = SimTime::from(limit)};
}

// All four nodes from 100 s to 200 s, once.
cluster::ReservationBook whole() {
  cluster::ReservationBook book;
  book.add({.name = "firmware",
            .nodes = {0b1111},
            .start = SimTime::from(seconds(100)),
            .length = SimTime::from(seconds(100)),
            .every = {}});
  return book;
}

TEST(Reservations, a_job_that_would_overlap_a_reservation_waits_for_its_end) {
  for (const BackfillVariant v : kVariants) {
    SCOPED_TRACE(word_of(v));
    Yard yard(4, v, whole());
    yard.add(seconds(10), job(1, seconds(90)), seconds(90));  // ends when the reservation begins
    yard.add(seconds(10), job(1, seconds(91)), seconds(20));  // its limit would end after that
    yard.kernel.run(SimTime::from(seconds(1000)));
    EXPECT_NEAR(yard.started(0), 10, v == BackfillVariant::slurm ? 31 : 0);
    EXPECT_GE(yard.started(1), 200);
    EXPECT_LE(yard.started(1), 231);
  }
}

TEST(Reservations, a_waiting_job_names_its_reservation) {
  Yard yard(4, BackfillVariant::easy, whole());
  yard.add(seconds(10), job(1, seconds(91)), seconds(20));
  yard.kernel.run(SimTime::from(seconds(20)));
  const auto why = yard.queue->why(yard.lives[0].index);
  EXPECT_EQ(why.reason, cluster::WaitReason::reserved);
  EXPECT_EQ(why.reservation, "firmware");
  EXPECT_EQ(why.reserved_until.seconds().base(), 200);
  EXPECT_NE(to_text(why, yard.kernel.now()).find("firmware"), std::string::npos);
}

// A run without a limit starts, is requeued when the reservation begins, and starts again.
TEST(Reservations, a_reservation_requeues_jobs_without_a_limit) {
  for (const BackfillVariant v : kVariants) {
    SCOPED_TRACE(word_of(v));
    Yard yard(4, v, whole());
    JobRequest run = job(2, years(1));
    run.stays = true;
    yard.add(seconds(10), run, seconds(500));
    JobRequest guest = run;
    guest.guest_of = 1;
    yard.add(seconds(10), guest, seconds(500));
    yard.kernel.run(SimTime::from(seconds(150)));
    EXPECT_FALSE(yard.lives[0].is_on);
    EXPECT_TRUE(yard.lives[1].is_on);
    EXPECT_EQ(yard.queue->stopped_for_reservations(), 1U);
    yard.kernel.run(SimTime::from(seconds(2000)));
    EXPECT_EQ(yard.lives[0].stops, 1);
    EXPECT_EQ(yard.lives[1].stops, 0);
    EXPECT_GE(yard.started(0), 200);
    EXPECT_LE(yard.started(0), 231);
    EXPECT_FALSE(yard.lives[0].ended.is_never());
  }
}

// Two nodes stay open: a run that fits there continues during the reservation.
TEST(Reservations, hosts_outside_a_reservation_stay_in_use) {
  cluster::ReservationBook book;
  book.add({.name = "half",
            .nodes = {0b0011},
            .start = SimTime::from(seconds(100)),
            .length = SimTime::from(seconds(100)),
            .every = {}});
  Yard yard(4, BackfillVariant::easy, book);
  JobRequest run = job(2, years(1));
  run.stays = true;
  yard.add(seconds(10), run, seconds(500));
  yard.kernel.run(SimTime::from(seconds(150)));
  EXPECT_EQ(yard.lives[0].stops, 1);
  EXPECT_EQ(yard.started(0), 105);  // after its requeue delay
}

// Submissions to a Slurm 22.05.8 with four nodes and a maintenance reservation of the last two from
// 10 min to 70 min (select/linear, bf_interval 2 s, bf_resolution 1 s): which jobs started at once,
// and the start that squeue expected for the others. Our starts are within two of its backfill
// periods, which are thirty seconds each here.
struct SlurmOrder {
  int nodes;
  double limit_min;
  double start_s;  // 0: at once
};

void expect_slurms_starts(std::span<const SlurmOrder> jobs) {
  cluster::ReservationBook book;
  book.add({.name = "firmware",
            .nodes = {0b1100},
            .start = SimTime::from(minutes(10)),
            .length = SimTime::from(minutes(60)),
            .every = {}});
  Yard yard(4, BackfillVariant::slurm, book);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    yard.add(seconds(0.1 * static_cast<double>(i)), job(jobs[i].nodes, minutes(jobs[i].limit_min)),
             minutes(jobs[i].limit_min));
  }
  yard.kernel.run(SimTime::from(hours(5)));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // Here jobs run up to their limits, so that they start when they were expected to.
    EXPECT_NEAR(yard.started(i), jobs[i].start_s, 65) << "job " << i;
  }
}

TEST(Reservations, starts_match_slurm) {
  // A job on three nodes for an hour waits until the reservation ends, and one on two nodes
  // overtakes it.
  const SlurmOrder wide[] = {{3, 60, 70 * 60}, {2, 60, 0}};
  // Two nodes are taken for half an hour. A job on one node for an hour waits for them and not for
  // the reservation, one on two nodes for five minutes fits before it, and one on four nodes waits
  // for everything.
  const SlurmOrder mixed[] = {{2, 30, 0}, {1, 60, 30 * 60}, {2, 5, 0}, {4, 20, 90 * 60}};
  // A job on four nodes for nine minutes fits before it.
  const SlurmOrder narrow[] = {{4, 9, 0}};
  expect_slurms_starts(wide);
  expect_slurms_starts(mixed);
  expect_slurms_starts(narrow);
}

// For any jobs and reservations the port checks every start; in the end all jobs that could run
// have run.
TEST(Reservations, random_jobs_avoid_reservations_and_all_finish) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "reservations");
    const auto below = [&](int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
    };
    cluster::ReservationBook book;
    for (int r = 1 + below(3); r > 0; --r) {
      book.add({.name = "r",
                .nodes = {static_cast<std::uint64_t>(1 + below(255))},
                .start = SimTime::from(seconds(below(2000))),
                .length = SimTime::from(seconds(10 + below(300))),
                .every = SimTime::from(seconds(below(2) > 0 ? 20'000 : 0))});
    }
    Yard yard(8, kVariants[seed % std::size(kVariants)], book);
    for (int i = 0; i < 40; ++i) {
      const int limit = 5 + below(900);
      JobRequest ask = job(1 + below(6), seconds(limit));
      ask.stays = below(5) == 0;
      if (ask.stays) ask.limit = SimTime::from(years(1));
      ask.guest_of = below(4) == 0 ? random.below(8) : 0;
      yard.add(seconds(below(6000)), ask, seconds(1 + below(limit)));
    }
    yard.kernel.run(SimTime::from(seconds(60'000)));
    int ended = 0;
    for (const Yard::Life& life : yard.lives) {
      if (!life.ended.is_never()) ++ended;
    }
    EXPECT_EQ(ended, 40);
    EXPECT_EQ(yard.queue->running(), 0U);
    EXPECT_EQ(yard.queue->pool().free_gpus(), 64);
  }
}

// Firmware maintenance on the whole fleet for four hours: the run is requeued once, waits and
// continues.
TEST(Reservations, a_run_resumes_after_maintenance) {
  const auto lived = [](bool is_reserved) {
    design::Design d = world::sample_design();
    for (design::Fleet& f : d.fleet) f.failures.node_mtbf = years(10'000);
    if (is_reserved) {
      d.scheduler.reservations = {
          {.name = "firmware", .start = days(1), .duration = hours(4), .tenants = {}}};
    }
    const Simulated sim(std::move(d), {.horizon = days(3), .replications = 1});
    return sim.done.front();
  };
  const Replication plain = lived(false);
  const Replication kept = lived(true);
  EXPECT_TRUE(kept.is_sound);
  EXPECT_EQ(plain.reserved_stops.front(), 0U);
  EXPECT_EQ(kept.reserved_stops.front(), 1U);
  EXPECT_EQ(kept.jobs[0].interruptions, 0U);  // this was not a fault
  EXPECT_EQ(kept.jobs[0].restores, plain.jobs[0].restores + 1);
  const double lost_h = (plain.jobs[0].units - kept.jobs[0].units) / plain.jobs[0].units * 72;
  EXPECT_GT(lost_h, 4);
  EXPECT_LT(lost_h, 5);
}

}  // namespace
}  // namespace orrery::run
