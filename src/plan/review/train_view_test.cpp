// A run joined by hand: what of its time becomes training, how far off that may be, and what its
// nodes do meanwhile.
#include "plan/review/train_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/failure/effective_time.h"
#include "model/design_text/read_design.h"
#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

// Sixteen nodes that fail every three days; storage shares the compute network, and starves them.
Review joined_run(const std::string& train, const std::string& fleet = "node_mtbf: 3 d") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 16, "
      "failures: { " +
          fleet +
          " } }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 }, storage: { converged: "
          "true } }\nstorage: [{ name: hot, tier: hot, kind: parallel-fs, read: 90 GB/s, write: 9 "
          "GB/s, capacity: 9 PB }]\nworkloads:\n  - train: { name: run, nodes: 15, network: { "
          "params: 2B, forward: 20 GFLOP }, batch: 3840, samples: 10B, dataset: { samples: 10M, "
          "sample_size: 600 kB, tier: hot }" +
          train + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

double kept(const TrainView& t, double mtbf, double restart) {
  return failure::exact_efficiency(
      {.interval = t.checkpoint->interval,
       .save_stall = t.checkpoint->stall.total,
       .mtbf = t.failure.mtbf * mtbf,
       .restart = t.failure.restart * restart,
       .unsafe_window = t.checkpoint->async ? t.checkpoint->drain.total : Seconds()});
}

void expect_joined(const TrainView& t) {
  const double whole = kept(t, 1, 1);
  EXPECT_NEAR(t.efficiency, whole, 1e-12);
  const double rest =
      t.feed.loader.utilisation * (1 - t.contention) * (1 - t.failure.shortfall) / t.failure.slow;
  EXPECT_NEAR(t.goodput, rest * whole, 1e-12);
  const double factor = t.failure.restart_factor;
  const double worse =
      std::hypot(whole - kept(t, 1 / t.failure.rate_high, 1), whole - kept(t, 1, factor));
  const double better =
      std::hypot(whole - kept(t, 1 / t.failure.rate_low, 1), whole - kept(t, 1, 1 / factor));
  EXPECT_GT(worse, 0);
  EXPECT_NEAR(t.goodput_low, rest * (whole - worse), 1e-12);
  EXPECT_NEAR(t.goodput_high, rest * std::min(1.0, whole + better), 1e-12);
  EXPECT_NEAR(t.units_per_s, 3840 / t.step.step.base() * t.goodput, 1e-6);
  EXPECT_NEAR(t.run_time.base(), 10e9 / t.units_per_s, 1e-3);
}

TEST(TrainViewByHand, GoodputIsWhatAllOfItLeaves) {
  const Review r = joined_run(", checkpoint: { every: 20 min, to: [hot], mode: async }");
  const TrainView& t = r.trains.at(0);
  ASSERT_TRUE(t.feasible()) << t.infeasible;
  ASSERT_TRUE(t.checkpoint->async);
  EXPECT_LT(t.feed.loader.utilisation, 1) << "it waits for data";
  expect_joined(t);
  // While a save drains the steps are slower by one share, else by another.
  const double draining = t.checkpoint->drain.total / minutes(20);
  EXPECT_LT(draining, 1);
  const double slower = t.contended.draining * draining + t.contended.feeding * (1 - draining);
  EXPECT_GT(t.contended.draining, t.contended.feeding);
  EXPECT_GT(t.contended.feeding, 0);
  EXPECT_NEAR(t.contention, slower / (1 + slower), 1e-12);
}

// Drained for longer than the time between two saves: all of the time.
TEST(TrainViewByHand, DrainsThatOverlapSlowAllSteps) {
  const Review r = joined_run(", checkpoint: { every: 3 s, to: [hot], mode: async }");
  const TrainView& t = r.trains.at(0);
  ASSERT_GT(t.checkpoint->drain.total, seconds(3));
  EXPECT_NEAR(t.contention, t.contended.draining / (1 + t.contended.draining), 1e-12);
  design::Design d = r.design();
  std::get<design::Train>(d.workloads[0].task).checkpoint->every = Seconds();
  const TrainView never = run_stages(std::move(d), machine::known()).trains.at(0);
  EXPECT_NEAR(never.contention, never.contended.feeding / (1 + never.contended.feeding), 1e-12)
      << "of no time between saves nothing is known";
}

TEST(TrainViewByHand, ASaveThatIsWaitedForDrainsNothing) {
  const Review r = joined_run(", checkpoint: { every: 20 min, to: [hot], mode: sync }");
  const TrainView& t = r.trains.at(0);
  ASSERT_FALSE(t.checkpoint->async);
  expect_joined(t);
  EXPECT_NEAR(t.contention, t.contended.feeding / (1 + t.contended.feeding), 1e-12);
}

// Without a save a failure takes the whole run so far.
TEST(TrainViewByHand, NothingSavedIsAllLost) {
  const Review r = joined_run("", "node_mtbf: 30 d");
  const TrainView& t = r.trains.at(0);
  ASSERT_FALSE(t.checkpoint);
  EXPECT_NEAR(t.efficiency,
              failure::exact_efficiency(
                  {.interval = t.raw_time, .mtbf = t.failure.mtbf, .restart = t.failure.restart}),
              1e-12);
  EXPECT_GT(t.raw_time, hours(1));
  EXPECT_LT(t.efficiency, 0.9);
  EXPECT_NEAR(t.contention, t.contended.feeding / (1 + t.contended.feeding), 1e-12);
}

// Of the wall time: steps at goodput and once more what was lost of them; saves stall.
TEST(TrainViewByHand, PhasesOfTheWallTime) {
  const Review r = joined_run(", checkpoint: { every: 20 min, to: [hot], mode: sync }");
  const TrainView& t = r.trains.at(0);
  EXPECT_NEAR(t.phases.matrix, (t.goodput + t.shares.lost_work) * t.step.matrix_share, 1e-12);
  EXPECT_NEAR(t.phases.memory, t.goodput * t.step.memory_share, 1e-12);
  EXPECT_NEAR(t.phases.communication,
              t.goodput * t.step.exposed_share + t.contention * t.efficiency, 1e-12);
  EXPECT_NEAR(t.phases.checkpoint, t.shares.saving, 1e-12);
  EXPECT_GT(t.phases.checkpoint, 0);
  EXPECT_GT(t.shares.lost_work, 0);
}

// Fifteen nodes fail every hour, and 20 hours are saved at once: x / (e^x - 1) of them at x = 20 is
// below a millionth, where a run does not move.
TEST(TrainViewByHand, ARunThatNeverEndsHasNoRate) {
  const Review r =
      joined_run(", checkpoint: { every: 20 h, to: [hot], mode: sync }", "node_mtbf: 15 h");
  const TrainView& t = r.trains.at(0);
  ASSERT_TRUE(t.feasible());
  EXPECT_EQ(t.goodput, 0);
  EXPECT_EQ(t.goodput_low, 0);
  EXPECT_EQ(t.units_per_s, 0);
  EXPECT_EQ(t.run_time, Seconds());
}

TEST(TrainViewByHand, NowhereToRun) {
  design::Design d = joined_run("").design();
  d.workloads[0].terms.fleet = "nobody";
  const Review r = run_stages(std::move(d), machine::known());
  EXPECT_EQ(r.trains.at(0).infeasible, "no fleet to run on");
  EXPECT_EQ(r.trains.at(0).goodput, 0);
}

// Equal steps are not searched again; what failures leave of them is.
TEST(TrainViewByHand, KeepsTheStepOfAnEqualDesign) {
  Review first = joined_run(", checkpoint: { every: 20 min, to: [hot] }");
  first.trains[0].step.step = first.trains[0].step.step * 2;
  first.trains[0].step.layout = "as before";
  design::Design d = first.design();
  d.fleet[0].failures.node_mtbf = days(1);
  const Review again = run_stages(std::move(d), machine::known(), &first);
  const TrainView& t = again.trains.at(0);
  EXPECT_EQ(t.step.step, first.trains[0].step.step);
  EXPECT_EQ(t.step.layout, "as before");
  EXPECT_EQ(t.accelerators, first.trains[0].accelerators);
  EXPECT_EQ(t.hosts, first.trains[0].hosts);
  EXPECT_NEAR(t.failure.mtbf / first.trains[0].failure.mtbf, 1 / 3.0, 1e-9);
  first.trains[0].infeasible = "as before";
  EXPECT_EQ(run_stages(first.design(), machine::known(), &first).trains[0].infeasible,
            "as before");
}

}  // namespace
}  // namespace orrery::review
