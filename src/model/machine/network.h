// The three networks of a site as built: topology, bill and what one host gets from each.
//
// Every site has its own, for the machines that stand there; lines between sites are in wan.h. A
// NIC is in a host: an NVL72 rack is 18 hosts of 4 NICs, and NIC i of every host hangs on rail i.
//   compute     sum over fleets of hosts x NICs of a host, filled up to whole rails
//   storage     the hosts' ports, and of every server max(1, its rate / port rate)
//   management  one port a host, a storage server and a switch of the other two
// A server's port is split over two leaves, of which one may fail (DGX SuperPOD H100: 48 cables of
// 2 x 200 Gb/s to storage; 16 switches for 127 nodes).
// Wrong where fleets of different NICs share a network: the narrower ones are counted as so many
// hosts of the widest kind. Wrong where storage shares the compute network: its servers have no
// ports there. Power strips, which have management ports too, are not counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"
#include "layers/fabric/pause_fluid.h"
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
  const catalog::Nic* nic = nullptr;  // bought for it; nullptr: the node's own
  std::optional<fabric::Topology>
      topology;        // none where the network is not declared, or cannot be built
  Diagnostics faults;  // why it cannot be built
  catalog::Bill bill;
  int ports_per_node = 0;      // of one host of the widest fleet
  std::int64_t nic_ports = 0;  // compute: NICs of the machines here, spares included
  BytesPerSecond port_rate;    // of one port, per direction
  bool is_roce = false;

  BytesPerSecond per_node() const { return port_rate * ports_per_node; }
};

struct Networks {
  const design::Site* site = nullptr;
  design::SiteIndex site_index;
  Network compute;
  Network storage;
  Network management;
};

// One a site of the design, in their order; fleets and tiers stand in these sites. `wanted` are the
// design's networks or others in their stead, and must outlive the result.
IndexedVector<design::SiteIndex, Networks> build_networks(const design::Design& design,
                                                          const design::Networks& wanted,
                                                          const catalog::Catalog& catalog,
                                                          const Fleets& fleets, const Tiers& tiers);
// Ports of one of a fleet's hosts on a network as wanted.
int compute_ports(const design::Network& wanted, const Fleet& fleet);
// Hosts of a fleet under one leaf switch, where NIC i of each is on leaf i of a set; all of them
// where the network has no leaves.
int hosts_per_leaf(const Network& network, int hosts);
// Rate of one of them, per direction: as given, else of the NIC named, else of the node's own.
BytesPerSecond compute_port_rate(const Network& network, const Fleet& fleet);

// One network by itself, without a design: InfiniBand's managers and the usual optics with it.
struct PlainNetwork {
  catalog::TopologyKind kind = catalog::TopologyKind::rail_fat_tree;
  int nodes = 0;
  int ports_per_node = 1;
  const catalog::Switch* switch_part = nullptr;  // never nullptr
  std::optional<int> radix;                      // where the catalog's is not meant
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

// Ports of a switch when each serves an endpoint of `rate`: breakout doubles 64 x 800G to 128 x
// 400G.
int radix_at(const catalog::Switch& part, BytesPerSecond rate);
// Its optics sit beside the chip: nothing is plugged into it.
bool is_co_packaged(const catalog::Switch* part);
bool speaks_roce(const design::Network& network, const catalog::Switch* part);

// How a RoCE network marks and pauses, as declared or by default; links of the network's rate.
fabric::PauseOptions pause_options(const Network& network);

}  // namespace orrery::machine
