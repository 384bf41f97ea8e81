// A collective on a network as built: how long it takes, what each link carries, and how the loss
// of switches and cables changes both.
//
//   before   the closed form (collective_model.h), if accelerators are on the network
//   load     the messages of its algorithm routed link by link, with the bytes that the closed form
//            puts on a NIC: rings and chains in the order of the nodes, one per rail; two binary
//            trees in that order; for all_to_all, some equally spaced shifts instead of all of them
//   share    time of those messages as flows before the loss over the time after it
//   after    the closed form with that share of the network left
// A network without accelerators (storage, management) has only the flows. Wrong if the library
// plans its rings around the loss: this is the time until it does. Wrong if in-network reduction
// takes load off the upper links: it is drawn as trees.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/fabric/graph.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"

namespace orrery::compare {

struct CollectiveAsk {
  workload::Collective kind = workload::Collective::all_reduce;
  Bytes bytes = gib(1);
};

struct NetworkLoss {
  std::vector<fabric::VertexId> switches;
  std::vector<fabric::LinkId> cables;  // named by either of a cable's two links

  bool empty() const { return switches.empty() && cables.empty(); }
};

struct LoadedTime {
  Estimate seconds;
  BytesPerSecond bus_bandwidth;
  bool network_binds = false;  // false: the scale-up link or the launch is the limit
  std::vector<double> bytes;   // by link, for one run of the collective
};

struct NetworkLoad {
  int ranks = 0;
  LoadedTime before;
  std::optional<LoadedTime> after;  // none if nothing is lost
  std::vector<std::uint8_t> down;   // by link
  double bisection_share = 1;       // bisection left, as a share of the full one
  double worst_link = 0;            // bytes of the fullest uplink left over those of a NIC
  std::int64_t cut = 0;             // messages without a path left
  std::int64_t slowed = 0;          // messages that take over 1 % longer
  std::string note;
};

// Computes the load. `network` is one of the machine's, `graph` is build_graph of its topology. On
// the compute network the widest fleet runs the collective; elsewhere there are only flows.
NetworkLoad load_network(const machine::Machine& machine, const machine::Network& network,
                         const fabric::FabricGraph& graph, const NetworkLoss& loss,
                         const CollectiveAsk& ask);

// Returns the fleet whose nodes have the most ports on the compute network; nullptr if none has
// any.
const machine::Fleet* widest_fleet(const machine::Machine& machine,
                                   const machine::Network& network);

}  // namespace orrery::compare
