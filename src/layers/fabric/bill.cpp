#include "layers/fabric/bill.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery::fabric {
namespace {

std::string part_id(const auto* part) { return part ? part->id : std::string(); }

std::string reference_of(const auto* part, const char* rule) {
  return part ? part->provenance.reference : std::string(rule);
}

constexpr const char* kRule = "docs/models/fabric.md#bill";

void add_switches(catalog::Bill& bill, const std::string& section, const char* item,
                  std::int64_t count, const catalog::Switch* part) {
  if (count == 0) return;
  bill.lines.push_back(
      {.section = section,
       .item = item,
       .part_id = part_id(part),
       .count = static_cast<double>(count),
       .unit_price = part ? part->price : std::nullopt,
       .unit_power =
           part ? part->typical_power.value_or(part->max_power.value_or(Watts(0))) : Watts(0),
       .reference = reference_of(part, kRule)});
}

void add_optics(catalog::Bill& bill, const std::string& section, const char* item,
                std::int64_t count, const catalog::Optic* part) {
  if (count == 0) return;
  bill.lines.push_back({.section = section,
                        .item = item,
                        .part_id = part_id(part),
                        .count = static_cast<double>(count),
                        .unit_price = part ? part->price : std::nullopt,
                        .unit_power = part ? part->power_per_end : Watts(0),
                        .reference = reference_of(part, kRule)});
}

void add_cables(catalog::Bill& bill, const std::string& section, const char* item,
                std::int64_t count, const catalog::Optic* part) {
  if (count == 0) return;
  bill.lines.push_back({.section = section,
                        .item = item,
                        .part_id = part_id(part),
                        .count = static_cast<double>(count),
                        .unit_price = part ? part->price : std::nullopt,
                        .unit_power = part ? part->power_per_end * 2 : Watts(0),
                        .reference = kRule});
}

void add_nics(catalog::Bill& bill, const Topology& t, const BillParts& parts,
              const std::string& section) {
  const std::int64_t count = std::int64_t{t.spec.nodes} * t.spec.rails;
  const catalog::Nic* nic = parts.nic;
  const bool priced = nic && !parts.nics_in_node;
  bill.lines.push_back({.section = section,
                        .item = parts.nics_in_node ? "NIC (part of the node)" : "NIC",
                        .part_id = part_id(nic),
                        .count = static_cast<double>(count),
                        .unit_price = priced ? nic->price : catalog::PriceRange{},
                        .unit_power = priced ? nic->typical_power.value_or(Watts(0)) : Watts(0),
                        .reference = reference_of(nic, kRule)});
}

}  // namespace

std::int64_t switch_modules(const Topology& t, bool copper_node_links) {
  const std::int64_t planes = t.spec.planes;
  std::int64_t modules = 0;
  // The number of downward ports differs by leaf, and a module serves two ports of one switch, so
  // modules are counted leaf by leaf.
  std::int64_t manager_left = t.manager_links;
  for (const SwitchGroup& g : t.groups) {
    for (const LeafUnit& u : g.units) {
      for (int leaf = 0; leaf < u.leaves; ++leaf) {
        const int rails = std::min(u.rails_per_leaf, u.rails - leaf * u.rails_per_leaf);
        std::int64_t down = copper_node_links ? 0 : std::int64_t{u.nodes} * rails;
        // A manager's port uses the free half of a module if there is one.
        if (manager_left > 0 && down % 2 == 1) {
          ++down;
          --manager_left;
        }
        modules += (down + t.leaf_uplinks + 1) / 2 * planes;
      }
    }
  }
  if (t.spec.kind == catalog::TopologyKind::dragonfly) {
    return (t.node_links + 2 * (t.leaf_spine_links + t.spine_core_links) + 1) / 2;
  }
  modules += (t.leaf_spine_links + t.spine_core_links + 1) / 2;  // spines: one end of each link
  modules += (t.spine_core_links + 1) / 2;                       // cores
  return modules;
}

std::int64_t node_modules(const Topology& t, int nics_per_module) {
  const std::int64_t per_node = (t.spec.rails + nics_per_module - 1) / nics_per_module;
  return per_node * t.spec.nodes;
}

catalog::Bill fabric_bill(const Topology& t, const BillParts& parts, const std::string& section) {
  catalog::Bill bill;
  const bool direct = t.spec.kind == catalog::TopologyKind::torus;
  const bool flat = direct || t.spec.kind == catalog::TopologyKind::dragonfly;
  add_switches(bill, section, flat ? "router" : "leaf switch", t.leaves, parts.leaf);
  add_switches(bill, section, "spine switch", t.spines, parts.spine ? parts.spine : parts.leaf);
  add_switches(bill, section, "core switch", t.cores, parts.core ? parts.core : parts.leaf);
  add_cables(bill, section, direct ? "cable between endpoints" : "cable node-leaf", t.node_cables(),
             parts.cable);
  add_cables(bill, section, flat ? "cable local" : "cable leaf-spine", t.leaf_spine_cables(),
             parts.cable);
  add_cables(bill, section, flat ? "cable global" : "cable spine-core", t.spine_core_cables(),
             parts.cable);
  if (t.manager_links > 0) {
    add_cables(bill, section, "cable fabric manager", kManagerAppliances, parts.cable);
    add_optics(bill, section, "fabric manager transceiver", std::int64_t{2} * kManagerAppliances,
               parts.node_module);
  }
  if (!direct && !parts.all_copper) {
    if (!parts.co_packaged) {
      add_optics(bill, section, "switch optics (twin-port)",
                 switch_modules(t, parts.copper_node_links), parts.switch_module);
    }
    if (!parts.copper_node_links) {
      add_optics(bill, section, "node optics", node_modules(t, parts.nics_per_node_module),
                 parts.node_module);
    }
  }
  add_nics(bill, t, parts, section);
  return bill;
}

}  // namespace orrery::fabric
