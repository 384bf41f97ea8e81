// Messages sent over a network and when they arrive: traffic patterns, and one call that routes and
// runs them. Shared by tests, benches, `orrery fabric` and the failure study.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/quantity.h"
#include "layers/fabric/flow_engine.h"
#include "layers/fabric/graph.h"
#include "layers/fabric/router.h"

namespace orrery::fabric {

struct Message {
  VertexId source = 0;
  VertexId destination = 0;
  double bytes = 0;
  double start = 0;  // seconds
  std::uint8_t priority = 0;
};

std::vector<Message> all_to_all(int endpoints, Bytes each);
// Returns one cycle through all endpoints in random order: no endpoint sends to itself.
std::vector<Message> random_permutation(int endpoints, Bytes each, std::uint64_t seed);

struct TrafficOptions {
  int queue_pairs = 1;            // a message is split evenly over this many flows
  double tolerance = 0;           // as in FlowOptions
  bool weigh_by_latency = false;  // rate per 1/latency, as SimGrid's CM02 shares
};

struct TrafficResult {
  std::vector<double> finish;  // seconds, by message; infinity if it never ends
  double last = 0;             // end of the last message that ends
  std::size_t unreachable = 0;
  LinkId limiting_link = -1;    // the link that needs longest for the bytes it carries
  double limiting_seconds = 0;  // time of the limiting link
  std::uint64_t solves = 0;
};

TrafficResult run_traffic(const FabricGraph& graph, Router& router,
                          const std::vector<Message>& messages, const TrafficOptions& options = {});

std::vector<double> capacities_of(const FabricGraph& graph);

}  // namespace orrery::fabric
