// Admits jobs by the site's power, in front of a fleet's quotas (facility/power_admission.h). The
// power room belongs to the site, and all of its fleets share it.
#pragma once

#include <limits>

#include "layers/cluster/quota_gate.h"
#include "layers/facility/power_admission.h"

namespace orrery::world {

class PowerGate final : public cluster::StartGate {
 public:
  // `behind` and `room` must outlive the gate. `room` may be null: then every job is admitted.
  PowerGate(cluster::StartGate& behind, facility::PowerRoom* room, Watts rise_of_slot)
      : behind_(behind), room_(room), rise_(rise_of_slot) {}

  bool admits(const cluster::QueuedJob& job) const override {
    return behind_.admits(job) && (room_ == nullptr || facility::admits(*room_, rise(job)));
  }
  void started(const cluster::QueuedJob& job) override {
    behind_.started(job);
    if (room_) room_->running += rise(job);
  }
  void ended(const cluster::QueuedJob& job) override {
    behind_.ended(job);
    if (room_) room_->running -= rise(job);
  }
  std::size_t limits() const override { return behind_.limits() + 1; }
  void add_left(std::vector<double>& left) const override {
    behind_.add_left(left);
    left.push_back(room_ ? facility::admissible(*room_).base()
                         : std::numeric_limits<double>::infinity());
  }
  cluster::LimitUses uses_of(const cluster::QueuedJob& job) const override {
    cluster::LimitUses uses = behind_.uses_of(job);
    if (room_) {
      uses.add({.limit = static_cast<std::uint32_t>(behind_.limits()), .amount = rise(job).base()});
    }
    return uses;
  }

 private:
  Watts rise(const cluster::QueuedJob& job) const { return rise_ * job.ask.gpus; }

  cluster::StartGate& behind_;
  facility::PowerRoom* room_;
  Watts rise_;
};

}  // namespace orrery::world
