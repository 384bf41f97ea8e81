// What the parts of a world record: accelerators by share, watts by site, which work has which
// host.
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
  // `recorder` may be null; otherwise it and the kernel must outlive this.
  RunRecorder(const sim::Kernel& kernel, Recorder* recorder, const machine::Machine& machine);

  bool is_on() const { return recorder_ != nullptr; }

  // Adds accelerators that are present from now on, idle.
  void add_idle(double accelerators);
  // Moves accelerators from one cause to another. Those that step are marked by their means
  // (mark_steps), so `productive` on either side changes nothing.
  void move(Cause from, Cause to, std::int64_t accelerators);
  // Adds or takes back (`sign` -1) accelerators that step: a run's accelerators are under several
  // shares at once.
  void mark_steps(const std::array<double, kShares>& accelerators, double sign);
  // Marks accelerators that compute for a share of the time and otherwise wait, like a service's.
  void mark_busy(double accelerators, double share);
  void change_watts(design::SiteIndex site, Watts delta);
  // Marks a host as taken by the training run, by other work (no `run`), or as free.
  void mark_host(design::FleetIndex fleet, HostIndex host, HostMark mark, std::optional<int> run = {});

 private:
  const sim::Kernel& kernel_;
  Recorder* recorder_;
  std::array<std::size_t, kShares> share_columns_{};
  IndexedVector<design::SiteIndex, std::size_t> site_columns_;
};

}  // namespace orrery::world
