// The cost of a loss: the same traffic before and after a NIC, cable, plane, leaf or spine is gone.
//
// Traffic: every endpoint exchanges with its counterpart about half the machine away, on its own
// rail (a step of a ring or tree across the fabric). Flows are rerouted around the loss and run:
// whole if routes are static or hashed, in many pieces if switches adapt. A message without a
// remaining path is cut. The closed form of collective_model.h (`share_after`) is computed for
// comparison. Wrong if the library re-plans its rings around the loss: this is the time until it
// does.
#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "layers/fabric/collective_model.h"
#include "layers/fabric/routed_tree.h"
#include "layers/fabric/router.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

struct LossSpec {
  Loss loss = Loss::leaf_uplink;
  int number = 0;  // index of the NIC, cable, leaf or spine, from 0
  RoutingOptions routing;
  int queue_pairs = 1;
  Bytes message = megabytes(100);
};

struct LossReport {
  std::string lost;  // "leaf 0 - spine 5"
  Seconds alone;     // time of a message with no other traffic on its path
  Seconds before;
  Seconds after;               // time of the messages that still arrive
  double share = 1;            // before / after: rate left for the slowest member
  double ring_share = 1;       // the same for a ring in the order of the nodes
  double bisection_share = 1;  // bisection after the loss, as a share of the full one
  double worst_link = 1;       // load of the fullest link before, in messages of one NIC
  double worst_link_after = 1;
  double closed_form_share = 1;
  std::int64_t cut = 0;     // messages without a path
  std::int64_t slowed = 0;  // messages that take over 1 % longer
  std::vector<int> nodes;   // affected nodes (cut or slowed); at most 64, in order
  std::string limiting_link;
};

// Trees (fat tree, rail, rail-only, planes). Machines with more than kMostStudied endpoints are
// refused.
inline constexpr std::int64_t kMostStudied = 40'000;
Result<LossReport> study_loss(const Topology& topology, const LossSpec& spec);

// Returns the share of the uplinks and core links that the router still uses.
LinksUp links_up(const FabricGraph& graph, const Router& router);
// Returns the bisection with these links left, as a share of full bisection.
double bisection_share(const Topology& topology, LinksUp up);

std::optional<Loss> loss_from(std::string_view text);  // "nic", "link", "plane", "leaf", "spine"

}  // namespace orrery::fabric
