#include "machine/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "fabric/bill.h"

namespace orrery::machine {
namespace {

// Storage ports of a node where neither the design nor the catalog gives them: one dual-port card.
constexpr int kStoragePorts = 2;
constexpr int kManagementPorts = 1;
constexpr BytesPerSecond kManagementRate = gbits_per_s(1);
// A pair of UFM-like managers takes four leaf ports of an InfiniBand fabric (DGX SuperPOD H100 RA).
constexpr int kManagerPorts = 4;

struct Endpoints {
  int nodes = 0;
  int ports_per_node = 0;
  BytesPerSecond port_rate;
};

// Owned nodes of the largest kind set the ports; a rented fleet brings its provider's network.
Endpoints compute_endpoints(const design::Network& wanted, const std::vector<Fleet>& fleets) {
  Endpoints e;
  for (const Fleet& f : fleets) {
    if (f.rented() || f.node.part.compute_nics == 0) continue;
    e.nodes += f.fleet->count + f.fleet->spares;
    const int ports = wanted.ports_per_node.value_or(f.node.part.compute_nics);
    if (ports > e.ports_per_node) {
      e.ports_per_node = ports;
      e.port_rate = wanted.port_rate.value_or(f.node.part.nic_rate);
    }
  }
  return e;
}

Endpoints service_endpoints(const design::Network& wanted, const std::vector<Fleet>& fleets,
                            int default_ports, BytesPerSecond default_rate) {
  Endpoints e;
  for (const Fleet& f : fleets) {
    if (f.rented()) continue;
    e.nodes +=
        (f.fleet->count + f.fleet->spares) * std::max(1, f.hosts / std::max(1, f.fleet->count));
    e.ports_per_node =
        std::max(e.ports_per_node,
                 wanted.ports_per_node.value_or(f.node.storage_nics.value_or(default_ports)));
    const BytesPerSecond rate =
        wanted.port_rate.value_or(f.node.storage_nic_rate.value_or(default_rate));
    e.port_rate = max(e.port_rate, rate);
  }
  return e;
}

fabric::FabricSpec spec_of(const design::Network& wanted, const catalog::Switch* part,
                           const Endpoints& e) {
  const design::TopologyTerms terms = design::topology_terms(wanted.topology);
  const int planes = std::max(terms.planes, wanted.planes);
  fabric::FabricSpec spec{.kind = terms.kind, .nodes = e.nodes};
  spec.rails = wanted.rails.value_or(e.ports_per_node);
  spec.planes = planes;
  spec.link_rate = e.port_rate / planes;
  spec.radix = part ? radix_at(*part, spec.link_rate) : spec.radix;
  if (part && part->latency) spec.link_latency = *part->latency;
  spec.oversubscription = wanted.oversubscription;
  spec.tiers = terms.tiers;
  spec.manager_ports = part && part->type.starts_with("InfiniBand") ? kManagerPorts : 0;
  spec.torus = wanted.dimensions;
  return spec;
}

// The optic whose rate is nearest above, among those with a price; twin-port modules carry two
// links.
const catalog::Optic* optic_for(const catalog::Catalog& catalog, BytesPerSecond rate,
                                const std::string& asked) {
  if (!asked.empty()) return catalog.optic(asked);
  const catalog::Optic* best = nullptr;
  for (const catalog::Optic& o : catalog.optics) {
    const bool module = o.kind.starts_with("optic");
    if (!module || !o.rate || *o.rate < rate || !o.price) continue;
    if (!best || *o.rate < *best->rate) best = &o;
  }
  return best;
}

fabric::BillParts parts_of(const design::Network& wanted, const catalog::Switch* part,
                           const catalog::Catalog& catalog, BytesPerSecond link_rate) {
  fabric::BillParts parts{.leaf = part, .spine = part, .core = part};
  parts.switch_module = optic_for(catalog, 2 * link_rate, wanted.link);
  parts.node_module = optic_for(catalog, 2 * link_rate, wanted.node_link);
  parts.cable = catalog.optic("mpo-trunk");
  if (!wanted.nic.empty()) parts.nic = catalog.nic(wanted.nic);
  return parts;
}

Network build(const std::string& name, const design::Network& wanted,
              const catalog::Catalog& catalog, const Endpoints& e) {
  Network v{.name = name, .path = "fabric." + name, .wanted = &wanted};
  v.switch_part = wanted.switch_part.empty() ? nullptr : catalog.switch_part(wanted.switch_part);
  v.is_roce = speaks_roce(wanted, v.switch_part);
  v.ports_per_node = e.ports_per_node;
  v.port_rate = e.port_rate;
  if (wanted.topology == design::NamedTopology::none || e.nodes == 0) return v;
  const fabric::FabricSpec spec = spec_of(wanted, v.switch_part, e);
  auto topology = make_topology(spec);
  if (!topology) {
    v.faults = std::move(topology.error());
    return v;
  }
  v.topology = std::move(*topology);
  if (v.switch_part) {
    v.bill = fabric_bill(*v.topology, parts_of(wanted, v.switch_part, catalog, spec.link_rate),
                         name + " fabric");
  }
  return v;
}

}  // namespace

int radix_at(const catalog::Switch& part, BytesPerSecond rate) {
  if (rate <= BytesPerSecond(0)) return part.ports;
  const double split = std::max(1.0, std::floor(part.port_rate / rate + 1e-9));
  return static_cast<int>(part.ports * split);
}

bool speaks_roce(const design::Network& network, const catalog::Switch* part) {
  if (network.protocol) return *network.protocol == design::Protocol::roce;
  return part != nullptr && part->type.starts_with("Ethernet") &&
         network.topology != design::NamedTopology::none;
}

Networks build_networks(const design::Design& design, const catalog::Catalog& catalog,
                        const std::vector<Fleet>& fleets) {
  const design::Networks& f = design.fabric;
  Networks views;
  views.compute = build("compute", f.compute, catalog, compute_endpoints(f.compute, fleets));
  const BytesPerSecond storage_rate =
      views.compute.port_rate > BytesPerSecond(0) ? views.compute.port_rate : gbits_per_s(100);
  views.storage = build("storage", f.storage, catalog,
                        service_endpoints(f.storage, fleets, kStoragePorts, storage_rate));
  views.management =
      build("management", f.management, catalog,
            service_endpoints(f.management, fleets, kManagementPorts, kManagementRate));
  return views;
}

Result<BuiltNetwork> build_network(const PlainNetwork& wanted, const catalog::Catalog& catalog) {
  const catalog::Switch& part = *wanted.switch_part;
  fabric::FabricSpec spec{
      .kind = wanted.kind, .nodes = wanted.nodes, .rails = wanted.ports_per_node};
  spec.planes = wanted.planes;
  spec.link_rate = wanted.port_rate / std::max(1, wanted.planes);
  spec.radix = wanted.radix.value_or(radix_at(part, spec.link_rate));
  spec.oversubscription = wanted.oversubscription;
  if (part.latency) spec.link_latency = *part.latency;
  if (part.type.starts_with("InfiniBand")) spec.manager_ports = kManagerPorts;
  spec.torus = wanted.torus;
  auto topology = make_topology(spec);
  if (!topology) return std::unexpected(std::move(topology.error()));
  const fabric::BillParts parts{.leaf = &part,
                                .nic = catalog.nic("cx7"),
                                .switch_module = catalog.optic("800g-2xdr4"),
                                .node_module = catalog.optic("800g-2xdr4"),
                                .cable = catalog.optic("mpo-trunk")};
  catalog::Bill bill = fabric_bill(*topology, parts, "compute fabric");
  return BuiltNetwork{std::move(*topology), std::move(bill)};
}

}  // namespace orrery::machine
