// The three networks of a site (compute, storage, management), and the lines between sites.
//
// Each network is described once and built in every site, for the machines of that site.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::design {

// The networks that a file can ask for, by their usual names. Some are another generator's network
// with certain parameters: topology_terms says which.
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

// The parameters of the generator in fabric/ for a named network.
struct TopologyTerms {
  catalog::TopologyKind kind = catalog::TopologyKind::fat_tree;
  int tiers = 0;   // 0: as many as are needed
  int planes = 1;  // at least this many
};
TopologyTerms topology_terms(NamedTopology name);

// The protocols that a network can declare; collectives know more kinds (NetworkKind).
enum class Protocol { infiniband, roce, ethernet, ultra_ethernet };

// What a lossless Ethernet needs to be safe. Undeclared is not the same as false: for an undeclared
// item the review asks.
struct RoceChecklist {
  std::optional<bool> pfc;              // priority flow control, for the RDMA class only
  std::optional<bool> ecn;              // ECN marking below the PFC threshold
  std::optional<bool> dedicated_queue;  // RDMA has its own queue; CNPs have strict priority
  std::optional<bool> hash_spread;      // entropy in the hash (more queue pairs, or spraying)
  std::optional<bool> pfc_watchdog;
  std::optional<bool> headroom_checked;  // buffer headroom for cable length and rate
  std::optional<Bytes> ecn_kmin;         // egress queue at which marking begins
  std::optional<Bytes> ecn_kmax;         // egress queue above which every packet is marked
  std::optional<double> ecn_pmax;        // share of packets marked at kmax
  std::optional<Bytes> xoff;             // buffered bytes per ingress port at which it is paused
  // length of an unbroken pause after which the watchdog acts
  std::optional<Seconds> watchdog_time;

  bool operator==(const RoceChecklist&) const = default;
};

struct Network {
  NamedTopology topology = NamedTopology::none;
  std::string switch_part;  // catalog id; `switch` in the file
  std::string nic;          // catalog id; empty: the node's own
  std::string link;         // optic or cable between switches; empty: chosen by rate and reach
  std::string node_link;    // optic or cable at the node; empty: chosen like `link`
  catalog::RoutingKind routing = catalog::RoutingKind::ecmp;
  std::optional<Protocol> protocol;  // none: the switch's protocol
  double oversubscription = 1;       // bandwidth down over bandwidth up, at the leaf
  std::optional<int> rails;          // none: the host's NICs on this network
  int planes = 1;
  bool sharp = false;   // reduction in the switches (SHARP)
  int queue_pairs = 1;  // per connection
  RoceChecklist roce;
  bool converged = false;       // storage only: its traffic runs over the compute network
  std::vector<int> dimensions;  // of a torus: nodes along each dimension
  std::optional<int> groups;    // number of dragonfly groups
  std::optional<int> ports_per_node;
  std::optional<BytesPerSecond> port_rate;  // rate of one port
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
