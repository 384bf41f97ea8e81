// How much of a fleet each user has used recently, and how that changes the user's priority in the
// queue.
//
//   use(t) = use 2^(-t / half-life), half-life 7 days (Slurm's default)
//   factor  of the fair tree or the classic formula over all users seen so far (fair_share.h);
//           1 before anything was used
// Updated every few minutes, as Slurm's PriorityCalcPeriod does, and not at every job.
#pragma once

#include <vector>

#include "core/catalog/vocabulary.h"
#include "core/sim/sim_time.h"
#include "layers/cluster/fair_share.h"

namespace orrery::cluster {

class FairUse {
 public:
  explicit FairUse(catalog::FairShareBy by = catalog::FairShareBy::fair_tree) : by_(by) {}

  // Adds a user and returns its number. Shares are as in the accounting; use is counted from now
  // on.
  std::size_t add_user(const FairUser& user);
  void add_use(std::size_t user, double gpu_seconds) { users_[user].use += gpu_seconds; }
  // Decays past use and ranks all users again.
  void settle(sim::SimTime now);
  double factor(std::size_t user) const { return factors_[user]; }

 private:
  catalog::FairShareBy by_;
  std::vector<FairUser> users_;
  std::vector<double> factors_;
  sim::SimTime settled_;
};

}  // namespace orrery::cluster
