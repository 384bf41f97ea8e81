#include "layers/cluster/start_gate.h"

#include <algorithm>

namespace orrery::cluster {

void LimitRoom::reset(const StartGate* gate) {
  gate_ = gate;
  left_.clear();
  if (gate_ != nullptr) gate_->add_left(left_);
}

bool LimitRoom::admits(const QueuedJob& job) const {
  if (gate_ == nullptr) return true;
  return std::ranges::all_of(gate_->uses_of(job),
                             [this](const LimitUse& u) { return u.amount <= left_[u.limit]; });
}

void LimitRoom::add(const QueuedJob& job, double sign) {
  if (gate_ == nullptr) return;
  for (const LimitUse& u : gate_->uses_of(job)) left_[u.limit] += sign * u.amount;
}

void LimitRoom::close_for(const QueuedJob& job) {
  if (gate_ == nullptr) return;
  for (const LimitUse& u : gate_->uses_of(job)) {
    if (u.amount > left_[u.limit]) left_[u.limit] = -std::numeric_limits<double>::infinity();
  }
}

}  // namespace orrery::cluster
