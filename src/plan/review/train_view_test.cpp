// Training runs by hand: what becomes training, how uncertain that is, what nodes do in that time.
#include "plan/review/train_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/failure/effective_time.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/service_review_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

// Sixteen nodes that fail every three days; storage shares the compute network, and cannot feed
// them fast enough.
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

TEST(TrainView, goodput_is_the_product_of_its_factors) {
  const Review r = joined_run(", checkpoint: { every: 20 min, to: [hot], mode: async }");
  const TrainView& t = r.trains.at(0);
  ASSERT_TRUE(t.feasible()) << t.infeasible;
  ASSERT_TRUE(t.checkpoint->async);
  EXPECT_LT(t.feed.loader.utilisation, 1) << "it waits for data";
  expect_joined(t);
  // While a save drains, the steps are slower by one share, otherwise by another.
  const double draining = t.checkpoint->drain.total / minutes(20);
  EXPECT_LT(draining, 1);
  const double slower = t.contended.draining * draining + t.contended.feeding * (1 - draining);
  EXPECT_GT(t.contended.draining, t.contended.feeding);
  EXPECT_GT(t.contended.feeding, 0);
  EXPECT_NEAR(t.contention, slower / (1 + slower), 1e-12);
}

// Drains take longer than the time between two saves: steps are slowed all of the time.
TEST(TrainView, overlapping_drains_slow_all_steps) {
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

TEST(TrainView, synchronous_save_has_no_drain) {
  const Review r = joined_run(", checkpoint: { every: 20 min, to: [hot], mode: sync }");
  const TrainView& t = r.trains.at(0);
  ASSERT_FALSE(t.checkpoint->async);
  expect_joined(t);
  EXPECT_NEAR(t.contention, t.contended.feeding / (1 + t.contended.feeding), 1e-12);
}

// Without saves a failure loses all work since the start.
TEST(TrainView, without_saves_a_failure_loses_the_run) {
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

// Shares of the wall time: steps at goodput, plus the steps that were lost; saves stall.
TEST(TrainView, phases_of_the_wall_time) {
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

// Fifteen nodes fail every hour, and saves are 20 hours apart: the kept share x / (e^x - 1) at x =
// 20 is below a millionth, so the run makes no progress.
TEST(TrainView, run_without_progress_has_no_rate) {
  const Review r =
      joined_run(", checkpoint: { every: 20 h, to: [hot], mode: sync }", "node_mtbf: 15 h");
  const TrainView& t = r.trains.at(0);
  ASSERT_TRUE(t.feasible());
  EXPECT_EQ(t.goodput, 0);
  EXPECT_EQ(t.goodput_low, 0);
  EXPECT_EQ(t.units_per_s, 0);
  EXPECT_EQ(t.run_time, Seconds());
}

TEST(TrainView, run_without_a_fleet_is_infeasible) {
  design::Design d = joined_run("").design();
  d.workloads[0].terms.fleet = "unknown";
  const Review r = run_stages(std::move(d), machine::known());
  EXPECT_NE(r.trains.at(0).infeasible, "");
  EXPECT_EQ(r.trains.at(0).goodput, 0);
}

// Equal steps are not searched again; the effect of failures is computed again.
TEST(TrainView, step_of_an_equal_design_is_kept) {
  Review first = joined_run(", checkpoint: { every: 20 min, to: [hot] }");
  jobs::Jobs changed = *first.resolved;
  auto& run = std::get<jobs::TrainJob>(changed.at(0));
  run.step.step = run.step.step * 2;
  run.step.layout = "as before";
  first.resolved = std::make_shared<const jobs::Jobs>(changed);
  design::Design d = first.design();
  d.fleet[0].failures.node_mtbf = days(1);
  const Review again = run_stages(std::move(d), machine::known(), &first);
  const TrainView& t = again.trains.at(0);
  EXPECT_EQ(t.step.step, run.step.step);
  EXPECT_EQ(t.step.layout, "as before");
  EXPECT_EQ(t.accelerators, first.trains[0].accelerators);
  EXPECT_EQ(t.hosts, first.trains[0].hosts);
  EXPECT_NEAR(t.failure.mtbf / first.trains[0].failure.mtbf, 1 / 3.0, 1e-9);
  run.infeasible = "as before";
  first.resolved = std::make_shared<const jobs::Jobs>(changed);
  EXPECT_NE(run_stages(first.design(), machine::known(), &first).trains[0].infeasible, "");
}

TEST(TrainView, run_on_sliced_accelerators_is_infeasible) {
  const std::string run = "  - train: { model: llama-3-8b, tokens: 1B, batch: 64 }\n";
  const Review cut = review_of(run, "dgx-h100, count: 2, mig: { 3g.40gb: 2 }");
  EXPECT_FALSE(cut.trains.front().feasible());
  EXPECT_TRUE(review_of(run, "dgx-h100, count: 2").trains.front().feasible());
}

design::Train& train_of(design::Design& d) { return std::get<design::Train>(d.workloads[0].task); }

double goodput_of(const design::Design& d) { return reviewed(d).trains.at(0).goodput; }

TEST(TrainView, goodput_falls_with_every_impairment) {
  const design::Design base = lab_design("superpod-h100");
  const double before = goodput_of(base);
  design::Design slow = base;
  slow.storage[0].write = *base.storage[0].write / 20;
  EXPECT_LT(goodput_of(slow), before);
  design::Design sync = base;
  train_of(sync).checkpoint->mode = design::CheckpointMode::sync;
  EXPECT_LT(goodput_of(sync), before);
  design::Design frail = base;
  frail.fleet[0].failures.node_mtbf = days(50);
  EXPECT_LT(goodput_of(frail), before);
  design::Design lemons = base;
  lemons.fleet[0].failures.lemon_share = 0.02;
  lemons.fleet[0].failures.lemon_factor = 10;
  EXPECT_LT(goodput_of(lemons), before);
  design::Design manual = base;
  manual.scheduler.recovery.automatic = false;
  EXPECT_LT(goodput_of(manual), before);
  design::Design shared = base;
  shared.fabric.storage.converged = true;
  EXPECT_LE(goodput_of(shared), before);
}

TEST(TrainView, given_interval_is_never_better_than_the_optimum) {
  design::Design d = lab_design("superpod-h100");
  const double best = goodput_of(d);
  for (const double minutes_between : {1.0, 5.0, 20.0, 60.0, 240.0}) {
    train_of(d).checkpoint->every = minutes(minutes_between);
    EXPECT_LE(goodput_of(d), best * (1 + 1e-9)) << minutes_between << " min";
  }
}

TEST(TrainView, shares_of_the_step_and_of_the_wall_time_add_up) {
  for (const char* name : {"superpod-h100", "superpod-gb200", "av-vision", "recommender"}) {
    const design::Design d = lab_design(name);
    const Review r = reviewed(d);
    const TrainView& t = r.trains.at(0);
    EXPECT_LE(t.step.matrix_share + t.step.memory_share + t.step.exposed_share, 1 + 1e-9) << name;
    const facility::PhaseShares& p = t.phases;
    EXPECT_LE(p.matrix + p.memory + p.communication + p.checkpoint, 1 + 1e-9) << name;
    const failure::TimeShares& s = t.shares;
    EXPECT_NEAR(s.productive + s.saving + s.lost_work + s.restarting, 1, 1e-9) << name;
    EXPECT_LE(t.goodput_low, t.goodput) << name;
    EXPECT_GE(t.goodput_high, t.goodput) << name;
  }
}

// Without published failure rates, only restarts may be longer or shorter.
TEST(TrainView, without_published_rates_only_the_restart_varies) {
  machine::Models models = machine::known();
  models.failure_rates.clear();
  const Review r = run_stages(lab_design("superpod-h100"), models);
  const TrainView& t = r.trains.at(0);
  ASSERT_EQ(t.failure.rate_high, 0);
  const auto kept = [&](double restart) {
    return failure::exact_efficiency({.interval = t.checkpoint->interval,
                                      .save_stall = t.checkpoint->stall.total,
                                      .mtbf = t.failure.mtbf,
                                      .restart = t.failure.restart * restart,
                                      .unsafe_window = t.checkpoint->drain.total});
  };
  EXPECT_NEAR(t.goodput_low / t.goodput, kept(t.failure.restart_factor) / kept(1), 1e-9);
}

}  // namespace
}  // namespace orrery::review
