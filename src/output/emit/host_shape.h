// What one host offers to jobs: cores and memory. From the design where it says so, else from
// data/emit/slurm/hosts.csv by catalog node, else an assumption that the emitted files own up to.
#pragma once

#include <optional>

#include "core/base/quantity.h"
#include "output/emit/hosts.h"

namespace orrery::emit {

struct HostShape {
  int sockets = 1;
  int cores_per_socket = 1;
  std::optional<Bytes> memory;
  bool assumed = false;  // nothing was known: 16 cores an accelerator

  int cores() const { return sockets * cores_per_socket; }
};

HostShape host_shape(const HostFleet& fleet);

}  // namespace orrery::emit
