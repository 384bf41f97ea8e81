// Backfill with a promise for every waiting job: conservative, and Slurm's periodic one.
//
// conservative: each job is promised the earliest place that delays no earlier promise. When a job
// ends early or a node comes back, promises are revised in queue order and can only move forward.
// slurm: between periods, jobs start in order until one of their partition finds no room. Every
// bf_interval, if something changed, the first bf_max_job_test jobs get the earliest places within
// bf_window, planned from scratch with times rounded to bf_resolution; those whose time is now
// start (slurm.conf, sched/backfill; read for 22.05). Limits are treated like nodes: a job that
// lacks a limit closes it for the jobs behind it, as Slurm does with assoc_limit_stop.
// When looking ahead, reservation windows up to kWindowsAhead are closed to each job that they bar.
// Not modelled of Slurm: bf_max_time and yields, node weights, and dropping promises beyond
// bf_window; here such a job gets no promise.
#pragma once

#include <vector>

#include "layers/cluster/backfill.h"
#include "layers/cluster/profile.h"

namespace orrery::cluster {

class ConservativePass final : public QueuePolicy {
 public:
  void decide(const QueueView& view, NodePool& pool, Starts& starts) override;
  // A promise may come due between events if a job was expected to end but ended early on other
  // nodes.
  sim::SimTime wake() const override { return next_due_; }
  sim::SimTime promised(JobIndex job) const override;

 private:
  struct Kept {
    sim::SimTime submitted;
    sim::SimTime at;
    std::vector<NodeShare> shares;
    bool is_valid = false;
  };

  Kept* kept_for(JobIndex job, const QueueView& view);
  void rebuild(const QueueView& view, const NodePool& pool);
  void promise(JobIndex job, const QueueView& view);
  void start_due(const QueueView& view, NodePool& pool, Starts& starts);

  FreeProfile profile_;
  std::vector<Kept> kept_;  // indexed by job
  std::vector<NodeShare> where_;
  bool is_built_ = false;
  std::uint64_t surprises_ = 0;
  sim::SimTime next_due_ = sim::SimTime::never();
};

class SlurmPass final : public QueuePolicy {
 public:
  explicit SlurmPass(PeriodicBounds bounds) : bounds_(bounds) {}

  void decide(const QueueView& view, NodePool& pool, Starts& starts) override;
  sim::SimTime wake() const override { return next_; }
  sim::SimTime promised(JobIndex job) const override;

 private:
  void start_in_order(const QueueView& view, NodePool& pool, Starts& starts);
  void look_ahead(const QueueView& view, NodePool& pool, Starts& starts);
  sim::SimTime cut(sim::SimTime t) const;

  PeriodicBounds bounds_;
  FreeProfile profile_;
  std::vector<NodeShare> where_;
  std::vector<std::uint8_t> blocked_;  // partitions blocked in this pass
  LimitRoom room_;                     // limits left in this pass
  struct Expected {
    JobIndex job = 0;
    sim::SimTime at;
  };
  std::vector<Expected> expected_;  // expected at the last look ahead
  sim::SimTime next_ = sim::SimTime::never();
};

std::unique_ptr<QueuePolicy> make_policy(BackfillVariant variant, const PeriodicBounds& bounds);

}  // namespace orrery::cluster
