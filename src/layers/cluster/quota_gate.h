// Checks quotas when a job starts, independently of whether it has a place.
//
// Every job belongs to a group (QueuedJob::group). A group has a guarantee and may borrow what
// other groups of its cohort do not use of theirs (Kueue's rule, quota.h); groups of different
// cohorts do not lend to each other. The unused part of a guarantee is a number of GPUs, not named
// nodes: any free ones count, so a lost node reduces no particular group's guarantee. Wrong if a
// gang needs its guarantee in one place: enough GPUs may be free, but scattered.
#pragma once

#include <vector>

#include "layers/cluster/backfill.h"
#include "layers/cluster/quota.h"

namespace orrery::cluster {

class QuotaGate final : public StartGate {
 public:
  // Adds a group and returns its number.
  int add_group(std::size_t cohort, const QuotaState& group);

  bool admits(const QueuedJob& job) const override;
  void started(const QueuedJob& job) override { used_of(job) += job.ask.gpus; }
  void ended(const QueuedJob& job) override { used_of(job) -= job.ask.gpus; }
  // One limit per cohort (the sum of its guarantees), then one per group (how much it may borrow).
  std::size_t limits() const override { return cohorts_.size() + seats_.size(); }
  void add_left(std::vector<double>& left) const override;
  LimitUses uses_of(const QueuedJob& job) const override;

  // Returns true if the job could start with no other job running.
  bool could_admit(int group, int gpus) const;

 private:
  struct Seat {
    std::size_t cohort = 0;
    std::size_t member = 0;
  };

  int& used_of(const QueuedJob& job) {
    const Seat& seat = seats_[job.group];
    return cohorts_[seat.cohort][seat.member].used;
  }

  std::vector<std::vector<QuotaState>> cohorts_;
  std::vector<Seat> seats_;  // indexed by group
};

}  // namespace orrery::cluster
