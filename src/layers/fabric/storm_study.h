// One NIC of a network pauses without end: whom that stops, how fast, and what comes back once a
// watchdog has shut its port. In time, by the fluid of pause_fluid.h.
//
// Traffic: every node sends to the next one and to others round the machine, as rings and trees of
// several jobs do, on one rail: rails meet nowhere but in their own leaves and spines. Above
// kStormNodes nodes a network of the same switches with so many stands in. A node goes as fast as
// its slowest message: collectives wait for all.
//   reach    of the other nodes, those left below 90 % of their rate
//   left     of such a node's rate, what it keeps
//   spread   until the loss of all is nine tenths of what it comes to
// Once nothing moves any more it stays so until the watchdog acts: the wait in between is not run.
#pragma once

#include "core/base/diagnostic.h"
#include "layers/fabric/pause_fluid.h"
#include "layers/fabric/router.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

inline constexpr int kStormNodes = 256;

struct StormSpec {
  RoutingOptions routing;
  int queue_pairs = 1;  // of a hashed message
  int partners = 4;     // that a node sends to; all others: who sends to everybody stops everybody
  PauseOptions options;
};

struct StormReport {
  int nodes = 0;  // of the network that was run
  double reach = 0;
  double left = 1;
  Seconds spread;
  std::uint64_t pauses = 0;
  double back =
      1;  // of the rate of messages not to it, once the watchdog has acted; with none, `held`
  double held = 1;    // the same while the storm lasts
  double before = 1;  // of the wire, what a node gets without a storm
};

// Trees alone: others are refused.
Result<StormReport> study_storm(const Topology& topology, const StormSpec& spec);

}  // namespace orrery::fabric
