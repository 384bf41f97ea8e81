// The whole bill of a network, from the same object that gives its counts and its graph.
//
// Cables: one a link (a twin-plane cable carries one link of each plane). Optics: a switch cage is
// twin-port, so a switch with p ports in use has ceil(p/2) modules; a node's modules are twin-port
// too where its NICs share cages (DGX H100: 4 for 8 NICs). Power: switches at typical draw without
// optics, plus the modules. Source: DGX SuperPOD H100 RA tables 7 and 8, whose 4-SU bill it gives
// (data/catalog/refarch_bom_h100_4su.csv). Wrong where copper replaces optics: set
// BillParts::copper_node_links for racks whose leaves are within reach.
#pragma once

#include "catalog/bill.h"
#include "catalog/parts.h"
#include "fabric/topology.h"

namespace orrery::fabric {

// Parts that the lines name; nullptr leaves the line without a part, price and power.
struct BillParts {
  const catalog::Switch* leaf = nullptr;
  const catalog::Switch* spine = nullptr;
  const catalog::Switch* core = nullptr;
  const catalog::Nic* nic = nullptr;
  const catalog::Optic* switch_module = nullptr;  // twin-port, in switch cages
  const catalog::Optic* node_module = nullptr;
  const catalog::Optic* cable =
      nullptr;                     // the passive fibre, or the copper where copper_node_links
  int nics_per_node_module = 2;    // 1: each NIC has its own cage (QSFP112)
  bool copper_node_links = false;  // node-leaf cables are copper: no modules at their ends
  bool all_copper = false;         // every link is RJ45, 1 to 10 Gb/s: no modules anywhere
  bool co_packaged = false;        // optics are in the switches: none are plugged
  bool nics_in_node = true;        // the node's price and power include them: counted, not priced
};

// A UFM-like manager runs as a pair a network, one cable with two transceivers each.
inline constexpr int kManagerAppliances = 2;

catalog::Bill fabric_bill(const Topology& t, const BillParts& parts, const std::string& section);

// Twin-port modules in all switches.
std::int64_t switch_modules(const Topology& t, bool copper_node_links = false);
std::int64_t node_modules(const Topology& t, int nics_per_module);

// Storage network of a SuperPOD: nodes on leaves at 4:3, storage on leaves of its own at 1:1.
//   node leaves = ceil(node links / 32) with 24 uplinks each, storage leaves = one an SU with
//   ports / leaves uplinks each, spines = the smallest count that divides both and holds the links.
struct StorageNetworkSpec {
  int nodes = 0;
  int nics_per_node = 2;
  int scalable_units = 1;
  int storage_ports = 0;  // 2 x 200G cables to storage: 48 in the 4-SU bill
  int radix = 64;
  double oversubscription = 4.0 / 3;
};

struct StorageNetwork {
  int node_leaves = 0;
  int storage_leaves = 0;
  int spines = 0;
  int node_links = 0;
  int storage_links = 0;
  int leaf_spine_links = 0;
  int switch_modules =
      0;  // node and leaf-spine ends and the manager's; storage cables bring theirs
  int node_modules = 0;

  int switches() const { return node_leaves + storage_leaves + spines; }
  int cables() const { return node_links + leaf_spine_links; }
};

StorageNetwork storage_network(const StorageNetworkSpec& spec);

// In-band and out-of-band Ethernet. In-band leaves come in pairs (each node is bonded to two), with
// four uplinks each to two cores; out-of-band switches come in pairs with two 100G uplinks each.
struct ManagementSpec {
  int nodes = 0;
  int inband_links_per_node = 2;
  int management_links = 8;  // management servers
  int storage_links = 8;     // NFS for home directories
  int fabric_switches = 0;   // InfiniBand or Ethernet switches of the other networks
  int appliances = 8;        // management servers and fabric managers
  int pdus = 0;
  int other_drops = 2;  // the source's list has two that it does not name
};

struct ManagementNetwork {
  int inband_leaves = 0;
  int inband_cores = 0;
  int inband_node_cables = 0;
  int inband_other_cables = 0;
  int outband_drops = 0;
  int outband_switches = 0;
  int outband_uplinks = 0;

  int inband_switches() const { return inband_leaves + inband_cores; }
};

ManagementNetwork management_network(const ManagementSpec& spec);

// Scale-up switches of rack-size domains (NVL72: 18 chips on 9 trays a rack).
catalog::Bill scale_up_bill(const Topology& t, const catalog::Switch* tray, int chips_per_tray);

}  // namespace orrery::fabric
