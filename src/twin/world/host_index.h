// Names of things in a world: a process among its processes, a host within its fleet.
//
// Queues and timers carry 64 bits for their owner; JobTag and HostOfFleet are what the twin puts
// there, and the only types that pack and unpack them.
#pragma once

#include <cstdint>

#include "core/base/index.h"
#include "model/design/indices.h"

namespace orrery::world {

using ProcessIndex = Index<struct ProcessTag>;
using HostIndex = Index<struct HostTag>;

// Layers number the nodes of a fleet by int.
constexpr HostIndex host_at(int node) { return HostIndex(static_cast<std::size_t>(node)); }
constexpr int node_of(HostIndex host) { return static_cast<int>(host.value()); }

// A job in a queue: its process, and the process's own number for it.
struct JobTag {
  ProcessIndex process;
  std::uint32_t part = 0;

  constexpr std::uint64_t packed() const {
    return static_cast<std::uint64_t>(process.value()) << 32 | part;
  }
  static constexpr JobTag from(std::uint64_t packed) {
    return {ProcessIndex(static_cast<std::size_t>(packed >> 32)),
            static_cast<std::uint32_t>(packed)};
  }
  constexpr bool operator==(const JobTag&) const = default;
};

// A host of one of the fleets.
struct HostOfFleet {
  design::FleetIndex fleet;
  HostIndex host;

  constexpr std::uint64_t packed() const {
    return static_cast<std::uint64_t>(fleet.value()) << 32 | host.value();
  }
  static constexpr HostOfFleet from(std::uint64_t packed) {
    return {design::FleetIndex(static_cast<std::size_t>(packed >> 32)),
            HostIndex(static_cast<std::size_t>(packed & 0xffffffff))};
  }
};

}  // namespace orrery::world
