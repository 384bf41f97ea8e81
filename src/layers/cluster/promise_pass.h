// Backfill with a promise for every waiting job: conservative, and Slurm's periodic one.
//
// conservative: a job is promised the earliest place that delays no promise made before; when a job
// ends early or a node comes back, promises are looked at again in the order of the queue and move
// only forward. slurm: between its periods jobs start in order until one of their partition finds
// no room; every bf_interval, where something changed, the first bf_max_job_test jobs are given the
// earliest places within bf_window, from nothing, times cut to bf_resolution; those whose time is
// now start (slurm.conf, sched/backfill; read for 22.05). A limit counts as nodes do: who lacks one
// closes it for those behind it, as Slurm does with assoc_limit_stop.
// Windows of reservations are closed in what is looked ahead at, for each job that they bar, as far
// as kWindowsAhead.
// Not modelled of Slurm: bf_max_time and yields, node weights, and that it forgets promises
// beyond bf_window silently, which here means the job is not promised anything either.
#pragma once

#include <vector>

#include "layers/cluster/backfill.h"
#include "layers/cluster/profile.h"

namespace orrery::cluster {

class ConservativePass final : public QueuePolicy {
 public:
  void decide(const QueueView& view, NodePool& pool, Starts& starts) override;
  // Promises fall due between events where an end was expected and came early on other nodes.
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
  std::vector<Kept> kept_;  // by job index
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
  std::vector<std::uint8_t> blocked_;  // partitions of this pass
  LimitRoom room_;                     // likewise
  struct Expected {
    JobIndex job = 0;
    sim::SimTime at;
  };
  std::vector<Expected> expected_;  // of the last look ahead
  sim::SimTime next_ = sim::SimTime::never();
};

std::unique_ptr<QueuePolicy> make_policy(BackfillVariant variant, const PeriodicBounds& bounds);

}  // namespace orrery::cluster
