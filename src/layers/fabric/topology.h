// A network as a generator gives it: how many switches and links of which tier, and who is on what.
//
// Two tiers, radix R (ports at endpoint speed), d = R/2, E endpoints:
//   leaves = ceil(E/d), need = ceil(leaves*d/R), spines = the smallest divisor of d that is >= need
//   (so that every leaf has the same number of links to every spine); leaf-spine links = leaves*d.
// Three tiers: groups of at most d leaves (of one rail, or a pod); spines of a group = the smallest
//   divisor of d that is >= its leaves; cores = ceil(spine uplinks / R).
// Rail: NIC i of every node goes to leaf i of its scalable unit of d nodes; a last unit that is not
//   full packs several rails on a leaf. Planes: the whole is built once a plane.
// Dragonfly (Kim 2008), balanced: a = 2p = 2h. Torus: N = prod k_i, direct links, no switch.
// Source: published SuperPOD tables (data/validation/fabric_counts.csv), which it gives exactly.
// Wrong where a builder leaves ports dark on purpose or mixes switch sizes within a tier.
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
  int rails = 8;   // endpoints of a node: its NICs on this network (GPUs for scale_up)
  int radix = 64;  // switch ports at the rate of an endpoint's port
  int planes = 1;  // 2: each port of a NIC in a plane of its own
  BytesPerSecond link_rate = gbits_per_s(400);  // of one endpoint's port, per direction
  Seconds link_latency = nanoseconds(500);      // of one link with the switch behind it: assumption
  double oversubscription = 1;                  // leaf: down over up; 4.0/3 for DGX storage
  int tiers = 0;                                // 0: two where they suffice, else three
  int manager_ports = 0;                        // leaf ports of the fabric manager (UFM): 4 or 0
  int dragonfly_h = 0;                          // global ports of a switch; 0: all the radix allows
  std::vector<int> torus;                       // sizes k_i; their product is the endpoints
  int scaleup_chips = 18;                       // switch chips of a domain, one link to each a GPU
};

// Leaves of a group serve `rails_from .. rails_from + rails` of nodes `node_from .. node_from +
// nodes`; where rails of one unit share a leaf, `leaves` is smaller than `rails`.
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

// Counts are of all planes together. Links are at endpoint-port rate; a cable of a twin-plane
// network carries one link of each plane.
struct Topology {
  FabricSpec spec;
  int tiers = 0;
  std::vector<SwitchGroup> groups;  // of one plane; empty for torus and dragonfly
  int leaf_uplinks = 0;             // of one leaf
  std::int64_t endpoints = 0;       // ports of nodes: nodes * rails * planes
  std::int64_t leaves = 0;
  std::int64_t spines = 0;
  std::int64_t cores = 0;
  std::int64_t node_links = 0;        // without the fabric manager's
  std::int64_t spare_leaf_ports = 0;  // of fat trees
  std::int64_t manager_links = 0;     // as many of manager_ports as the spare ports hold
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

// Every fault of the spec at once: codes "fabric.size", "fabric.radix", "fabric.torus" ...
Result<Topology> make_topology(const FabricSpec& spec);

// Endpoints that fit: R^2/2 with two tiers, R^3/4 with three.
std::int64_t two_tier_limit(int radix);
std::int64_t three_tier_limit(int radix);

int smallest_divisor_at_least(int of, int at_least);  // `of` itself where none is smaller

// Switches on the longest shortest path between endpoints, plus one: its links.
int diameter_links(const Topology& t);
// Capacity across the worst even cut, one direction; of one domain for scale_up, within the rails
// for rail_only (across rails the network has none: that traffic rides the scale-up link).
BytesPerSecond bisection(const Topology& t);
// bisection / (half the endpoints' rate): 1 is non-blocking.
double bisection_share(const Topology& t);

}  // namespace orrery::fabric
