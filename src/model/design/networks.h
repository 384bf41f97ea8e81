// The three networks of a site (compute, storage, management), and the lines between sites.
//
// What is described once is built in every site, for the machines that stand there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::design {

// The networks a file can ask for, by the names they go by. Some are a generator's network with
// its parameters set: topology_terms says which.
enum class NamedTopology {
  none,
  rail_fat_tree,
  fat_tree,
  three_tier,
  twin_plane,
  dragonfly,
  torus,
  rail_only,
  nvl72
};

// What the generator of fabric/ is told of a named network.
struct TopologyTerms {
  catalog::TopologyKind kind = catalog::TopologyKind::fat_tree;
  int tiers = 0;   // 0: as many as are needed
  int planes = 1;  // at least
};
TopologyTerms topology_terms(NamedTopology name);

// What a network can be declared to speak; collectives know more kinds (NetworkKind).
enum class Protocol { infiniband, roce, ethernet, ultra_ethernet };

// What a lossless Ethernet needs to be safe. Undeclared is not the same as false: the review asks.
struct RoceChecklist {
  std::optional<bool> pfc;              // priority flow control on the RDMA class only
  std::optional<bool> ecn;              // marking below the PFC threshold
  std::optional<bool> dedicated_queue;  // RDMA has a queue of its own, CNPs a strict one
  std::optional<bool> hash_spread;      // entropy in the hash (more queue pairs, or spraying)
  std::optional<bool> pfc_watchdog;
  std::optional<bool> headroom_checked;  // buffer headroom for cable length and rate
  std::optional<Bytes> ecn_kmin;         // of an egress queue: marking begins
  std::optional<Bytes> ecn_kmax;         // and marks all above
  std::optional<double> ecn_pmax;        // of the packets at kmax
  std::optional<Bytes> xoff;             // of what came by one port: it is paused
  std::optional<Seconds> watchdog_time;  // of a pause without a break, until the watchdog acts

  bool operator==(const RoceChecklist&) const = default;
};

struct Network {
  NamedTopology topology = NamedTopology::none;
  std::string switch_part;  // catalog id; `switch` in the file
  std::string nic;          // catalog id; empty: the node's own
  std::string link;         // optic or cable between switches; empty: chosen by rate and reach
  std::string node_link;    // optic or cable at the node; empty: as `link`
  catalog::RoutingKind routing = catalog::RoutingKind::ecmp;
  std::optional<Protocol> protocol;  // none: what the switch speaks
  double oversubscription = 1;       // down over up bandwidth at the leaf
  std::optional<int> rails;          // none: the host's NICs on this network
  int planes = 1;
  bool sharp = false;   // reduction in the switches
  int queue_pairs = 1;  // per connection
  RoceChecklist roce;
  bool converged = false;       // storage only: its traffic runs over the compute network
  std::vector<int> dimensions;  // of a torus
  std::optional<int> groups;    // of a dragonfly
  std::optional<int> ports_per_node;
  std::optional<BytesPerSecond> port_rate;  // of one of them
  bool encrypted = false;

  bool operator==(const Network&) const = default;
};

// A line between two sites.
struct WanLink {
  std::vector<std::string> between;  // the names of two sites
  BytesPerSecond rate;               // per direction
  Seconds latency;                   // round trip
  std::optional<UsdPerSecond> price;

  bool operator==(const WanLink&) const = default;
};

struct Networks {
  Network compute;
  Network storage;
  Network management;
  std::vector<WanLink> wan;

  bool operator==(const Networks&) const = default;
};

}  // namespace orrery::design
