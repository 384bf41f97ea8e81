// The complete bill of a network, made from the same object that gives its counts and its graph.
//
// Cables: one per link (a twin-plane cable carries one link of each plane). Optics: a switch cage
// is twin-port, so a switch with p ports in use has ceil(p/2) modules; a node's modules are
// twin-port too if its NICs share cages (DGX H100: 4 for 8 NICs). Power: switches at typical draw
// without optics, plus the modules. Source: DGX SuperPOD H100 RA tables 7 and 8, whose 4-SU bill it
// reproduces (data/catalog/refarch_bom_h100_4su.csv). Wrong if copper replaces optics: set
// BillParts::copper_node_links for racks whose leaves are within reach of copper.
#pragma once

#include "core/catalog/bill.h"
#include "core/catalog/parts.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {

// The parts that the lines name; nullptr leaves the line without part, price and power.
struct BillParts {
  const catalog::Switch* leaf = nullptr;
  const catalog::Switch* spine = nullptr;
  const catalog::Switch* core = nullptr;
  const catalog::Nic* nic = nullptr;
  const catalog::Optic* switch_module = nullptr;  // twin-port, in switch cages
  const catalog::Optic* node_module = nullptr;
  const catalog::Optic* cable =
      nullptr;                     // the passive fibre, or the copper if copper_node_links is set
  int nics_per_node_module = 2;    // 1: each NIC has its own cage (QSFP112)
  bool copper_node_links = false;  // node-leaf cables are copper: no modules at their ends
  bool all_copper = false;         // every link is RJ45, 1 to 10 Gb/s: no optical modules
  bool co_packaged = false;        // optics are inside the switches: no pluggable modules
  // The node's price and power include its NICs: counted here, not priced.
  bool nics_in_node = true;
};

// A manager such as UFM runs as a pair per network, with one cable and two transceivers each.
inline constexpr int kManagerAppliances = 2;

catalog::Bill fabric_bill(const Topology& t, const BillParts& parts, const std::string& section);

// Returns the number of twin-port modules in all switches.
std::int64_t switch_modules(const Topology& t, bool copper_node_links = false);
std::int64_t node_modules(const Topology& t, int nics_per_module);

}  // namespace orrery::fabric
