#include "layers/fabric/topology.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "layers/fabric/fault.h"

namespace orrery::fabric {
namespace {

// Above this the counts no longer describe a building, and int arithmetic could overflow.
constexpr std::int64_t kMostEndpoints = 16'000'000;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Ports of a leaf that face nodes; the rest face up: R/2 at 1:1, 32 of 56 at 4:3.
struct LeafPorts {
  int down = 0;
  int up = 0;
};

LeafPorts leaf_ports(const FabricSpec& s) {
  const int down = s.radix / 2;
  return {.down = down, .up = std::max(1, static_cast<int>(down / s.oversubscription + 1e-9))};
}

Diagnostics faults_of(const FabricSpec& s) {
  Diagnostics out;
  if (s.nodes < 1 || s.rails < 1) {
    out.push_back(fault("fabric.size", "a network needs at least one node and one rail",
                        "give nodes and NICs per node"));
  }
  if (std::int64_t{s.nodes} * s.rails * s.planes > kMostEndpoints) {
    out.push_back(fault("fabric.size", "more endpoints than can be modelled",
                        "at most " + std::to_string(kMostEndpoints)));
  }
  if (s.planes < 1 || s.planes > 8) {
    out.push_back(fault("fabric.planes", "planes must be 1 to 8", "use 2 for twin-plane networks"));
  }
  const bool switched =
      s.kind != catalog::TopologyKind::torus && s.kind != catalog::TopologyKind::scale_up;
  const bool halved = switched && s.kind != catalog::TopologyKind::dragonfly;
  if (switched && (s.radix < 4 || (halved && s.radix % 2 != 0))) {
    out.push_back(fault("fabric.radix",
                        "the radix of a switch in a tree must be even and at least 4",
                        "count ports at the endpoint's rate: 64 for a QM9700"));
  }
  if (!(s.oversubscription >= 1) || s.oversubscription > s.radix) {
    out.push_back(fault("fabric.oversubscription",
                        "oversubscription (down divided by up) must be at least 1",
                        "use 1 for non-blocking, 1.333 for 4:3"));
  }
  if (s.kind == catalog::TopologyKind::torus) {
    std::int64_t product = 1;
    bool positive = !s.torus.empty();
    for (const int k : s.torus) {
      positive = positive && k > 0 && k <= kMostEndpoints;
      product = std::min(product * std::max(k, 1), kMostEndpoints + 1);
    }
    if (!positive || product != std::int64_t{s.nodes} * s.rails) {
      out.push_back(fault("fabric.torus",
                          "the product of a torus's sizes must be its number of endpoints",
                          "for example 16 x 16 for 256 endpoints"));
    }
  }
  return out;
}

// Returns the leaves of a unit of `nodes` nodes and `rails` rails. A full unit has one leaf per
// rail.
LeafUnit rail_unit(int node_from, int nodes, int rail_from, int rails, int down) {
  const int per_leaf = std::max(1, std::min(rails, down / nodes));
  return {.node_from = node_from,
          .nodes = nodes,
          .rail_from = rail_from,
          .rails = rails,
          .rails_per_leaf = per_leaf,
          .leaves = static_cast<int>(ceil_div(rails, per_leaf))};
}

// Returns the units of one group over all nodes, with `rails` rails from `rail_from`.
SwitchGroup rail_group(int down, int node_from, int nodes, int rail_from, int rails) {
  SwitchGroup g;
  for (int at = node_from; at < node_from + nodes; at += down) {
    g.units.push_back(
        rail_unit(at, std::min(down, node_from + nodes - at), rail_from, rails, down));
    g.leaves += g.units.back().leaves;
  }
  return g;
}

// A plain fat tree fills leaves in the order of endpoints: one unit with one rail, whose "nodes"
// are endpoints.
SwitchGroup plain_group(int from, int endpoints, int down) {
  SwitchGroup g;
  for (int at = from; at < from + endpoints; at += down) {
    g.units.push_back({.node_from = at,
                       .nodes = std::min(down, from + endpoints - at),
                       .rail_from = 0,
                       .rails = 1,
                       .rails_per_leaf = 1,
                       .leaves = 1});
  }
  g.leaves = static_cast<int>(g.units.size());
  return g;
}

std::int64_t leaf_count(const FabricSpec& s, int down) {
  if (s.kind == catalog::TopologyKind::fat_tree)
    return ceil_div(std::int64_t{s.nodes} * s.rails, down);
  return rail_group(down, 0, s.nodes, 0, s.rails).leaves;
}

std::vector<SwitchGroup> three_tier_groups(const FabricSpec& s, int down) {
  std::vector<SwitchGroup> out;
  const int most_leaves = down;  // a spine has R/2 ports down, one to each leaf of its group
  if (s.kind == catalog::TopologyKind::fat_tree) {
    const int endpoints = s.nodes * s.rails;
    for (int at = 0; at < endpoints; at += most_leaves * down) {
      out.push_back(plain_group(at, std::min(most_leaves * down, endpoints - at), down));
    }
    return out;
  }
  for (int rail = 0; rail < s.rails; ++rail) {
    for (int at = 0; at < s.nodes; at += most_leaves * down) {
      out.push_back(rail_group(down, at, std::min(most_leaves * down, s.nodes - at), rail, 1));
    }
  }
  return out;
}

void finish_clos(Topology& t, int up) {
  const std::int64_t planes = t.spec.planes;
  std::int64_t leaves = 0, spines = 0;
  for (const SwitchGroup& g : t.groups) {
    leaves += g.leaves;
    spines += g.spines;
  }
  t.leaf_uplinks = spines > 0 ? up : 0;
  t.leaves = leaves * planes;
  t.spines = spines * planes;
  t.leaf_spine_links = t.leaves * t.leaf_uplinks;
  const std::int64_t down = t.tiers == 1 ? t.spec.radix : t.spec.radix / 2;
  t.spare_leaf_ports = t.leaves * down - t.node_links;
  t.manager_links = std::min<std::int64_t>(t.spec.manager_ports, t.spare_leaf_ports);
  if (t.tiers == 3) {
    t.spine_core_links = t.leaf_spine_links;
    t.cores = ceil_div(leaves * up, t.spec.radix) * planes;
  }
}

void build_two_tiers(Topology& t, LeafPorts ports) {
  const FabricSpec& s = t.spec;
  t.tiers = 2;
  SwitchGroup g = s.kind == catalog::TopologyKind::fat_tree
                      ? plain_group(0, s.nodes * s.rails, ports.down)
                      : rail_group(ports.down, 0, s.nodes, 0, s.rails);
  const auto need = static_cast<int>(ceil_div(std::int64_t{g.leaves} * ports.up, s.radix));
  g.spines = smallest_divisor_at_least(ports.up, need);
  t.groups.push_back(std::move(g));
  finish_clos(t, ports.up);
}

void build_three_tiers(Topology& t, LeafPorts ports) {
  t.tiers = 3;
  t.groups = three_tier_groups(t.spec, ports.down);
  for (SwitchGroup& g : t.groups) g.spines = smallest_divisor_at_least(ports.up, g.leaves);
  finish_clos(t, ports.up);
}

// Builds one leaf switch with all its ports down, for a network too small for a second tier.
void build_one_tier(Topology& t) {
  const FabricSpec& s = t.spec;
  t.tiers = 1;
  t.groups.push_back(plain_group(0, s.nodes * s.rails, s.radix));
  finish_clos(t, 0);
}

// Builds each rail separately: one switch with all its ports down, or its own two tiers above R
// nodes.
void build_rail_only(Topology& t, LeafPorts ports) {
  const FabricSpec& s = t.spec;
  t.tiers = s.nodes <= s.radix ? 1 : 2;
  for (int rail = 0; rail < s.rails; ++rail) {
    if (t.tiers == 1) {
      SwitchGroup g = rail_group(s.radix, 0, s.nodes, rail, 1);
      t.groups.push_back(std::move(g));
      continue;
    }
    SwitchGroup g = rail_group(ports.down, 0, s.nodes, rail, 1);
    const auto need = static_cast<int>(ceil_div(std::int64_t{g.leaves} * ports.up, s.radix));
    g.spines = smallest_divisor_at_least(ports.up, need);
    t.groups.push_back(std::move(g));
  }
  finish_clos(t, ports.up);
}

Result<Topology> build_clos(Topology t) {
  const FabricSpec& s = t.spec;
  const LeafPorts ports = leaf_ports(s);
  if (s.kind == catalog::TopologyKind::rail_only) {
    build_rail_only(t, ports);
    if (t.tiers == 2 && t.groups.front().leaves > s.radix) {
      return fail(fault("fabric.size", "a rail has more nodes than two tiers can connect",
                        "use a fat tree, or switches with a larger radix"));
    }
    return t;
  }
  const std::int64_t leaves = leaf_count(s, ports.down);
  // A spine has R ports, at least one to each leaf.
  const bool two_fit = leaves <= s.radix;
  const bool one_fits =
      std::int64_t{s.nodes} * s.rails + s.manager_ports <= s.radix && s.oversubscription == 1;
  if (s.tiers == 1 || (s.tiers == 0 && one_fits)) {
    if (!one_fits) {
      return fail(fault("fabric.size", "one switch cannot connect all endpoints", "use two tiers"));
    }
    build_one_tier(t);
  } else if (s.tiers == 2 || (s.tiers == 0 && two_fit)) {
    if (!two_fit) {
      return fail(fault("fabric.size",
                        "two tiers of radix " + std::to_string(s.radix) + " hold " +
                            std::to_string(two_tier_limit(s.radix)) + " endpoints",
                        "use three tiers, a larger radix or two planes"));
    }
    build_two_tiers(t, ports);
  } else {
    if (std::int64_t{s.nodes} * s.rails > three_tier_limit(s.radix)) {
      return fail(fault("fabric.size",
                        "three tiers of radix " + std::to_string(s.radix) + " hold " +
                            std::to_string(three_tier_limit(s.radix)) + " endpoints",
                        "use a larger radix or two planes"));
    }
    build_three_tiers(t, ports);
  }
  return t;
}

Result<Topology> build_dragonfly(Topology t) {
  const FabricSpec& s = t.spec;
  const int h = s.dragonfly_h > 0 ? s.dragonfly_h : (s.radix + 1) / 4;
  const std::int64_t a = 2 * std::int64_t{h}, p = h;
  const std::int64_t group = a * p;
  const std::int64_t groups = std::max<std::int64_t>(2, ceil_div(t.endpoints, group));
  if (4 * h - 1 > s.radix || groups > a * h + 1) {
    return fail(fault("fabric.size",
                      "a balanced dragonfly of this radix holds " +
                          std::to_string(group * (a * h + 1)) + " endpoints",
                      "use a larger radix"));
  }
  t.tiers = 1;
  t.dragonfly_h = h;
  t.dragonfly_groups = static_cast<int>(groups);
  t.leaves = groups * a;
  t.leaf_spine_links = groups * a * (a - 1) / 2;
  t.spine_core_links = groups * a * h / 2;
  return t;
}

Topology build_torus(Topology t) {
  const std::int64_t n = t.endpoints;
  t.tiers = 0;
  t.node_links = 0;
  // A ring of 2 is one link, not two; a ring of 1 is none.
  for (const int k : t.spec.torus) t.node_links += k > 2 ? n : (k == 2 ? n / 2 : 0);
  return t;
}

// nodes = domains, rails = accelerators per domain; each accelerator has one link to each switch
// chip.
Topology build_scale_up(Topology t) {
  t.tiers = 1;
  t.leaves = std::int64_t{t.spec.nodes} * t.spec.scaleup_chips;
  t.node_links = t.endpoints * t.spec.scaleup_chips;
  return t;
}

}  // namespace

std::int64_t two_tier_limit(int radix) { return std::int64_t{radix} * radix / 2; }
std::int64_t three_tier_limit(int radix) { return std::int64_t{radix} * radix * radix / 4; }

int smallest_divisor_at_least(int of, int at_least) {
  for (int d = std::max(1, at_least); d < of; ++d) {
    if (of % d == 0) return d;
  }
  return of;
}

Result<Topology> make_topology(const FabricSpec& spec) {
  Diagnostics faults = faults_of(spec);
  if (!faults.empty()) return std::unexpected(std::move(faults));
  Topology t{.spec = spec};
  t.endpoints = std::int64_t{spec.nodes} * spec.rails * spec.planes;
  t.node_links = t.endpoints;
  switch (spec.kind) {
    case catalog::TopologyKind::dragonfly:
      return build_dragonfly(std::move(t));
    case catalog::TopologyKind::torus:
      return build_torus(std::move(t));
    case catalog::TopologyKind::scale_up:
      return build_scale_up(std::move(t));
    default:
      return build_clos(std::move(t));
  }
}

int diameter_links(const Topology& t) {
  switch (t.spec.kind) {
    case catalog::TopologyKind::torus: {
      int hops = 0;
      for (const int k : t.spec.torus) hops += k / 2;
      return hops;
    }
    case catalog::TopologyKind::dragonfly:
      return 5;  // endpoint, local, global, local, endpoint
    default:
      return 2 * std::max(1, t.tiers);
  }
}

BytesPerSecond bisection(const Topology& t) {
  const BytesPerSecond rate = t.spec.link_rate;
  const double half = static_cast<double>(t.endpoints) / 2;
  switch (t.spec.kind) {
    case catalog::TopologyKind::torus: {
      const int k_max = *std::max_element(t.spec.torus.begin(), t.spec.torus.end());
      if (k_max < 2) return BytesPerSecond(0);
      const double wrap = k_max > 2 ? 2 : 1;
      return rate * (wrap * static_cast<double>(t.endpoints) / k_max);
    }
    case catalog::TopologyKind::dragonfly: {
      // Half the groups face the other half; each pair of groups has an equal share of the global
      // links.
      const double g = t.dragonfly_groups;
      const double cut =
          g / 2 * (g / 2) / (g * (g - 1) / 2) * static_cast<double>(t.spine_core_links);
      return rate * std::min(cut, half);
    }
    case catalog::TopologyKind::scale_up:
      return rate * (half * t.spec.scaleup_chips / std::max(1, t.spec.nodes));
    default:
      break;
  }
  if (t.tiers == 1) return rate * half;
  return rate * std::min(half, static_cast<double>(t.leaf_spine_links) / 2);
}

double bisection_share(const Topology& t) {
  if (t.spec.kind == catalog::TopologyKind::scale_up) return 1;
  const double half = static_cast<double>(t.endpoints) / 2;
  // Ports without a rate (of a node whose NICs are unknown) send nothing.
  return t.spec.link_rate > BytesPerSecond(0) ? bisection(t) / (t.spec.link_rate * half) : 0;
}

}  // namespace orrery::fabric
