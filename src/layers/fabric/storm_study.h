// One NIC of a network pauses permanently: which nodes that stops, how fast, and what recovers once
// a watchdog has shut its port. Simulated over time by the fluid of pause_fluid.h.
//
// Traffic: every node sends to the next one and to others around the machine, as rings and trees of
// several jobs do, on one rail, because rails have separate leaves and spines. Above kStormNodes
// nodes, a smaller network of that size with the same switches is simulated instead. A node runs at
// the rate of its slowest message, because collectives wait for all.
//   reach    share of the other nodes that fall below 90 % of their rate
//   left     share of its rate that such a node keeps
//   spread   time until nine tenths of the final total loss is reached
// Once nothing moves, nothing changes until the watchdog acts, so the wait in between is not
// simulated.
#pragma once

#include "core/base/diagnostic.h"
#include "layers/fabric/pause_fluid.h"
#include "layers/fabric/router.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

inline constexpr int kStormNodes = 256;

struct StormSpec {
  RoutingOptions routing;
  int queue_pairs = 1;  // per hashed message
  int partners = 4;     // nodes that each node sends to; if all, a storm stops every node
  PauseOptions options;
};

struct StormReport {
  int nodes = 0;  // nodes in the simulated network
  double reach = 0;
  double left = 1;
  Seconds spread;
  std::uint64_t pauses = 0;
  double back =
      1;  // share of the rate of messages not to it, after the watchdog acted; without one, `held`
  double held = 1;    // the same share while the storm lasts
  double before = 1;  // share of the wire that a node gets without a storm
};

// Accepts trees only; refuses other topologies.
Result<StormReport> study_storm(const Topology& topology, const StormSpec& spec);

}  // namespace orrery::fabric
