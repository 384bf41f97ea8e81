// Who has used how much of a fleet lately, and what that makes of their place in the queue.
//
//   use(t) = use 2^(-t / half-life), half-life 7 days (Slurm's default)
//   factor  of the fair tree or the classic one, over all users that were seen (fair_share.h); before
//           anything was used it is 1
// Settled every few minutes, as Slurm's PriorityCalcPeriod does, and not at every job.
#pragma once

#include <vector>

#include "core/catalog/vocabulary.h"
#include "core/sim/sim_time.h"
#include "layers/cluster/fair_share.h"

namespace orrery::cluster {

class FairUse {
 public:
  explicit FairUse(catalog::FairShareBy by = catalog::FairShareBy::fair_tree) : by_(by) {}

  // Gives the user's number. Shares are as the accounting has them; use counts from here on.
  std::size_t add_user(const FairUser& user);
  void add_use(std::size_t user, double gpu_seconds) { users_[user].use += gpu_seconds; }
  // Lets what was used fade and ranks all anew.
  void settle(sim::SimTime now);
  double factor(std::size_t user) const { return factors_[user]; }

 private:
  catalog::FairShareBy by_;
  std::vector<FairUser> users_;
  std::vector<double> factors_;
  sim::SimTime settled_;
};

}  // namespace orrery::cluster
