// A generated network: how many switches and links of each tier, and which endpoints are on which
// switch.
//
// Two tiers, radix R (ports at endpoint speed), d = R/2, E endpoints:
//   leaves = ceil(E/d), need = ceil(leaves*d/R), spines = the smallest divisor of d that is >= need
//   (so that every leaf has the same number of links to every spine); leaf-spine links = leaves*d.
// Three tiers: groups of at most d leaves (of one rail, or a pod); spines of a group = the smallest
//   divisor of d that is >= its leaves; cores = ceil(spine uplinks / R).
// Rail: NIC i of every node goes to leaf i of its scalable unit of d nodes; if the last unit is not
//   full, several rails share a leaf. Planes: the whole network is built once per plane.
// Dragonfly (Kim 2008), balanced: a = 2p = 2h. Torus: N = prod k_i, direct links, no switch.
// Source: published SuperPOD tables (data/validation/fabric_counts.csv), which it reproduces
// exactly. Wrong if a builder leaves ports unused on purpose or mixes switch sizes within a tier.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::fabric {

struct FabricSpec {
  catalog::TopologyKind kind = catalog::TopologyKind::rail_fat_tree;
  int nodes = 0;
  int rails = 8;   // endpoints per node: its NICs on this network (GPUs for scale_up)
  int radix = 64;  // switch ports at the rate of an endpoint's port
  int planes = 1;  // 2: each port of a NIC is in its own plane
  BytesPerSecond link_rate = gbits_per_s(400);  // rate of one endpoint's port, per direction
  Seconds link_latency = nanoseconds(500);      // one link and the switch behind it: assumption
  double oversubscription = 1;                  // leaf: down divided by up; 4.0/3 for DGX storage
  int tiers = 0;                                // 0: two if they suffice, otherwise three
  int manager_ports = 0;                        // leaf ports of the fabric manager (UFM): 4 or 0
  // Global ports per switch; 0: as many as the radix allows.
  int dragonfly_h = 0;
  std::vector<int> torus;  // sizes k_i; their product is the endpoints
  // Switch chips per domain; each GPU has one link to each.
  int scaleup_chips = 18;
};

// Leaves of a group that serve rails `rails_from .. rails_from + rails` of nodes `node_from ..
// node_from + nodes`. If rails of one unit share a leaf, `leaves` is smaller than `rails`.
struct LeafUnit {
  int node_from = 0;
  int nodes = 0;
  int rail_from = 0;
  int rails = 0;
  int rails_per_leaf = 1;
  int leaves = 0;
};

struct SwitchGroup {
  std::vector<LeafUnit> units;
  int leaves = 0;
  int spines = 0;
};

// Counts cover all planes. Links are at the rate of an endpoint's port; a cable of a twin-plane
// network carries one link of each plane.
struct Topology {
  FabricSpec spec;
  int tiers = 0;
  std::vector<SwitchGroup> groups;  // groups of one plane; empty for torus and dragonfly
  int leaf_uplinks = 0;             // per leaf
  std::int64_t endpoints = 0;       // ports of nodes: nodes * rails * planes
  std::int64_t leaves = 0;
  std::int64_t spines = 0;
  std::int64_t cores = 0;
  std::int64_t node_links = 0;        // links to nodes, without the fabric manager's
  std::int64_t spare_leaf_ports = 0;  // in fat trees; 0 otherwise
  std::int64_t manager_links = 0;     // manager_ports, or as many as the spare ports allow
  std::int64_t leaf_spine_links = 0;  // dragonfly: local links
  std::int64_t spine_core_links = 0;  // dragonfly: global links
  int dragonfly_h = 0;
  int dragonfly_groups = 0;

  std::int64_t switches() const { return leaves + spines + cores; }
  int links_per_cable() const { return spec.planes; }
  std::int64_t node_cables() const { return node_links / links_per_cable(); }
  std::int64_t leaf_spine_cables() const { return leaf_spine_links / links_per_cable(); }
  std::int64_t spine_core_cables() const { return spine_core_links / links_per_cable(); }
};

// Builds the topology, or returns every fault of the spec at once: codes "fabric.size",
// "fabric.radix", "fabric.torus" ...
Result<Topology> make_topology(const FabricSpec& spec);

// Maximum number of endpoints: R^2/2 with two tiers, R^3/4 with three.
std::int64_t two_tier_limit(int radix);
std::int64_t three_tier_limit(int radix);

int smallest_divisor_at_least(int of, int at_least);  // `of` itself if none is smaller

// Returns the number of links on the longest shortest path between endpoints (its switches plus
// one).
int diameter_links(const Topology& t);
// Returns the capacity across the worst even cut, one direction. For scale_up it is that of one
// domain, for rail_only that within the rails, because such a network has none across rails: that
// traffic uses the scale-up link.
BytesPerSecond bisection(const Topology& t);
// Returns bisection / (half the endpoints' rate); 1 is non-blocking.
double bisection_share(const Topology& t);

}  // namespace orrery::fabric
