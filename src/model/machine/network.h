// The three networks of a site as built: topology, cost and what one host gets from each.
//
// Every site has its own, for the machines in that site; lines between sites are in wan.h. NICs
// belong to hosts: an NVL72 rack is 18 hosts with 4 NICs, and NIC i of every host connects to rail
// i.
//   compute     sum over fleets of hosts x NICs per host, filled up to whole rails
//   storage     the hosts' ports, and for every server max(1, its rate / port rate)
//   management  one port per host, storage server and switch of the other two networks
// A server's port is split over two leaves, of which one may fail (DGX SuperPOD H100: 48 cables of
// 2 x 200 Gb/s to storage; 16 switches for 127 nodes).
// Wrong if fleets with different NICs share a network: the narrower hosts are counted as fractions
// of the widest kind. Wrong if storage shares the compute network: its servers have no ports there.
// Power strips, which have management ports too, are not counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"
#include "layers/fabric/pause_fluid.h"
#include "layers/fabric/routed_tree.h"
#include "layers/fabric/topology.h"
#include "model/design/design.h"
#include "model/machine/fleet.h"
#include "model/machine/tier.h"

namespace orrery::machine {

struct Network {
  std::string name;  // "compute"
  std::string path;  // "fabric.compute"
  const design::Network* wanted = nullptr;
  const catalog::Switch* switch_part = nullptr;
  const catalog::Nic* nic = nullptr;  // NIC bought for it; nullptr: the node's own
  std::optional<fabric::Topology>
      topology;        // none if the network is not declared, or cannot be built
  Diagnostics faults;  // why it cannot be built
  catalog::Bill bill;
  int ports_per_node = 0;      // per host of the widest fleet
  std::int64_t nic_ports = 0;  // compute: NICs of the machines here, spares included
  BytesPerSecond port_rate;    // per port and direction
  bool is_roce = false;
  bool is_scattered = false;  // the scheduler does not know the leaves
  // What routing leaves to collectives; nullptr without a tree of two tiers.
  std::shared_ptr<const fabric::RoutedTree> routed;

  BytesPerSecond per_node() const { return port_rate * ports_per_node; }
};

struct Networks {
  const design::Site* site = nullptr;
  design::SiteIndex site_index;
  Network compute;
  Network storage;
  Network management;
};

// Builds the networks of each site of the design, in their order, for the fleets and tiers in them.
// `wanted` are the design's networks or others instead, and must outlive the result.
IndexedVector<design::SiteIndex, Networks> build_networks(const design::Design& design,
                                                          const design::Networks& wanted,
                                                          const catalog::Catalog& catalog,
                                                          const Fleets& fleets, const Tiers& tiers);
// Returns the ports per host of a fleet on a network as wanted.
int compute_ports(const design::Network& wanted, const Fleet& fleet);
// The hosts below one full leaf and the leaves that they share: with rails, NIC i of each host is
// on leaf i of a set. Without leaves, all of a fleet's `hosts` and no leaf.
struct LeafSet {
  int hosts = 1;
  int leaves = 1;
};
LeafSet leaf_set(const Network& network, int hosts);
// Returns the tree with a share of its links up; nothing if the network has no tree of two tiers.
std::optional<fabric::RoutedTreeSpec> routed_spec(const Network& network, fabric::LinksUp up = {});
// Returns the rate of one such port, per direction: as given, else of the NIC named, else of the
// node's own.
BytesPerSecond compute_port_rate(const Network& network, const Fleet& fleet);

// A single network without a design: with InfiniBand's fabric managers and the usual optics.
struct PlainNetwork {
  catalog::TopologyKind kind = catalog::TopologyKind::rail_fat_tree;
  int nodes = 0;
  int ports_per_node = 1;
  const catalog::Switch* switch_part = nullptr;  // never nullptr
  std::optional<int> radix;                      // if it differs from the catalog's
  BytesPerSecond port_rate;
  int planes = 1;
  double oversubscription = 1;
  std::vector<int> torus;
};
struct BuiltNetwork {
  fabric::Topology topology;
  catalog::Bill bill;
};
Result<BuiltNetwork> build_network(const PlainNetwork& wanted, const catalog::Catalog& catalog);

// Returns the ports of a switch when each serves an endpoint of `rate`: splitting doubles 64 x 800G
// to 128 x 400G.
int radix_at(const catalog::Switch& part, BytesPerSecond rate);
// Returns true if its optics are on the chip's package: nothing is plugged into it.
bool is_co_packaged(const catalog::Switch* part);
bool speaks_roce(const design::Network& network, const catalog::Switch* part);

// Returns how a RoCE network marks and pauses, as declared or by default, with links of the
// network's rate.
fabric::PauseOptions pause_options(const Network& network);

}  // namespace orrery::machine
