// What the parts of a world write down: accelerators by share, watts by site, who has which host.
//
// Only the first replication is recorded (recorder.h). In the others every call returns at once.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/sim/kernel.h"
#include "model/machine/machine.h"
#include "twin/world/cause.h"
#include "twin/world/host_index.h"
#include "twin/world/recorder.h"

namespace orrery::world {

class RunRecorder {
 public:
  // `recorder` may be null; otherwise it and the kernel outlive this.
  RunRecorder(const sim::Kernel& kernel, Recorder* recorder, const machine::Machine& machine);

  bool is_on() const { return recorder_ != nullptr; }

  // Accelerators that are there from now on, idle.
  void add_idle(double accelerators);
  // Accelerators pass from one cause to another. Those that step are marked by their means
  // (mark_steps), so that `productive` on either side changes nothing.
  void move(Cause from, Cause to, std::int64_t accelerators);
  // Adds or takes back (`sign` -1) accelerators that step: a run's are under several shares at
  // once.
  void mark_steps(const std::array<double, kShares>& accelerators, double sign);
  // Accelerators that compute for a share of the time and otherwise wait, as services' do.
  void mark_busy(double accelerators, double share);
  void change_watts(design::SiteIndex site, Watts delta);
  // The host passes to the training run, to other work (no `run`), or to nobody, by `mark`.
  void mark_host(design::FleetIndex fleet, HostIndex host, HostMark mark,
                 std::optional<int> run = {});

 private:
  const sim::Kernel& kernel_;
  Recorder* recorder_;
  std::array<std::size_t, kShares> share_columns_{};
  IndexedVector<design::SiteIndex, std::size_t> site_columns_;
};

}  // namespace orrery::world
