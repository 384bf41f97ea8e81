// The cores and memory that one host offers to jobs: from the design if it says so, else from
// data/emit/slurm/hosts.csv by catalog node, else an assumption, which the emitted files mention.
#pragma once

#include <optional>

#include "core/base/quantity.h"
#include "output/emit/hosts.h"

namespace orrery::emit {

struct HostShape {
  int sockets = 1;
  int cores_per_socket = 1;
  std::optional<Bytes> memory;
  bool assumed = false;  // nothing was known: 16 cores per accelerator

  int cores() const { return sockets * cores_per_socket; }
};

HostShape host_shape(const HostFleet& fleet);

}  // namespace orrery::emit
