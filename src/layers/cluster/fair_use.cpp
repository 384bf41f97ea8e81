#include "layers/cluster/fair_use.h"

namespace orrery::cluster {
namespace {

constexpr Seconds kHalfLife = days(7);

}  // namespace

std::size_t FairUse::add_user(const FairUser& user) {
  users_.push_back(user);
  factors_.push_back(1);
  return users_.size() - 1;
}

void FairUse::settle(sim::SimTime now) {
  const Seconds elapsed = (now - settled_).seconds();
  settled_ = now;
  for (FairUser& u : users_) u.use = decayed_use(u.use, elapsed, kHalfLife);
  const bool is_classic = by_ == catalog::FairShareBy::classic;
  factors_ = is_classic ? classic_factors(users_) : fair_tree(users_);
}

}  // namespace orrery::cluster
