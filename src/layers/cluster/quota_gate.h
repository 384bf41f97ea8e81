// Quotas at the moment of a start: who may begin, beside finding a place.
//
// Every job belongs to a group (QueuedJob::group). A group has a guarantee and may borrow what
// others of its cohort leave of theirs (Kueue's rule, quota.h); groups of different cohorts
// lend each other nothing. What a group does not use of its guarantee is kept for it as a number of
// GPUs, not as named nodes: whichever are free will do, so that a lost node is nobody's in
// particular. Wrong where a gang needs its guarantee in one place: the number may be there and the
// place not.
#pragma once

#include <vector>

#include "layers/cluster/backfill.h"
#include "layers/cluster/quota.h"

namespace orrery::cluster {

class QuotaGate final : public StartGate {
 public:
  // Gives the group's number.
  int add_group(std::size_t cohort, const QuotaState& group);

  bool admits(const QueuedJob& job) const override;
  void started(const QueuedJob& job) override { used_of(job) += job.ask.gpus; }
  void ended(const QueuedJob& job) override { used_of(job) -= job.ask.gpus; }
  // A limit a cohort, what its guarantees leave; then one a group, up to what it may borrow.
  std::size_t limits() const override { return cohorts_.size() + seats_.size(); }
  void add_left(std::vector<double>& left) const override;
  LimitUses uses_of(const QueuedJob& job) const override;

  // Whether the job could start with nobody else there.
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
  std::vector<Seat> seats_;  // by group
};

}  // namespace orrery::cluster
