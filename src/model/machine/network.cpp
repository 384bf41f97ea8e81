#include "model/machine/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "layers/fabric/bill.h"
#include "layers/fabric/hazards.h"
#include "model/figures/assumptions.h"
#include "model/machine/tier_purchase.h"

namespace orrery::machine {
namespace {

using figures::assumptions::kFastestCopper;
using figures::assumptions::kManagementPorts;
using figures::assumptions::kManagementRate;
using figures::assumptions::kManagerPorts;
using figures::assumptions::kStoragePort;
using figures::assumptions::kStoragePorts;
// A storage server connects to two leaves, each with half a port: a switch port can be split in
// two.
constexpr std::int64_t kServerPorts = 1;

// A port can be split into its lanes, eight at most; slower endpoints waste part of a lane.
constexpr double kMostBreakout = 8;

// What is installed in the sites, and what is known of its parts.
struct Standing {
  const design::Design& design;
  const catalog::Catalog& catalog;
  const Fleets& fleets;
  const Tiers& tiers;
};

struct Endpoints {
  int nodes = 0;  // hosts, counted in hosts of the widest fleet
  int ports_per_node = 0;
  BytesPerSecond port_rate;
  std::int64_t ports = 0;
  std::int64_t nics = 0;  // NICs of the hosts, wired or not

  void add(std::int64_t hosts, int ports_each, BytesPerSecond rate) {
    ports += hosts * ports_each;
    if (ports_each > ports_per_node) {
      ports_per_node = ports_each;
      port_rate = rate;
    }
  }
  void count_nodes() {
    if (ports_per_node == 0) return;
    nodes = static_cast<int>((ports + ports_per_node - 1) / ports_per_node);
  }
};

std::int64_t hosts_with_spares(const Fleet& f) {
  const int per_node = f.hosts_per_node();
  return (std::int64_t{f.fleet->count} + f.fleet->spares) * per_node;
}

int nics_of_host(const Fleet& f) {
  const int hosts = f.hosts_per_node();
  return (f.node.part.compute_nics + hosts - 1) / hosts;
}

// Returns true for an owned fleet in this site; a rented fleet has its provider's network.
bool stands_in(const Fleet& f, const design::Site* site) { return !f.rented() && f.site == site; }

BytesPerSecond port_rate_of(const design::Network& wanted, const catalog::Nic* nic,
                            const Fleet& f) {
  return wanted.port_rate.value_or(nic ? nic->port_rate : f.node.part.nic_rate);
}

Endpoints compute_endpoints(const design::Network& wanted, const catalog::Nic* nic,
                            const Fleets& fleets, const design::Site* site) {
  Endpoints e;
  for (const Fleet& f : fleets) {
    if (!stands_in(f, site) || f.node.part.compute_nics == 0) continue;
    e.add(hosts_with_spares(f), compute_ports(wanted, f), port_rate_of(wanted, nic, f));
    e.nics += hosts_with_spares(f) * nics_of_host(f);
  }
  e.count_nodes();
  return e;
}

Endpoints service_endpoints(const design::Network& wanted, const Fleets& fleets,
                            const design::Site* site, int default_ports,
                            BytesPerSecond default_rate) {
  Endpoints e;
  for (const Fleet& f : fleets) {
    if (!stands_in(f, site)) continue;
    e.add(hosts_with_spares(f),
          wanted.ports_per_node.value_or(f.node.storage_nics.value_or(default_ports)),
          wanted.port_rate.value_or(f.node.storage_nic_rate.value_or(default_rate)));
  }
  e.count_nodes();
  return e;
}

// Returns the storage servers in a site.
std::vector<TierServers> servers_in(const Standing& all, const design::Site* site) {
  std::vector<TierServers> out;
  for (const Tier& t : all.tiers) {
    if (find_site(all.design, t.tier->site) == site) out.push_back(servers_of(t, all.catalog));
  }
  return out;
}

// Adds ports for servers beyond the hosts'; the hosts' ports do not change.
void add_storage_ports(Endpoints& e, const std::vector<TierServers>& servers) {
  if (e.port_rate <= BytesPerSecond(0)) return;
  for (const TierServers& s : servers) {
    const auto wide = static_cast<std::int64_t>(std::ceil(s.each / e.port_rate - 1e-9));
    e.ports += s.data * std::max(kServerPorts, wide) + s.metadata * kServerPorts;
  }
  e.count_nodes();
}

std::int64_t switches_of(const Network& n) { return n.topology ? n.topology->switches() : 0; }

const catalog::Nic* nic_of(const design::Network& wanted, const catalog::Catalog& catalog) {
  return wanted.nic.empty() ? nullptr : catalog.nic(wanted.nic);
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
  spec.manager_ports = part && part->network == "infiniband" ? kManagerPorts : 0;
  spec.torus = wanted.dimensions;
  return spec;
}

// Returns the optic with the nearest rate above, among those with a price; twin-port modules carry
// two links.
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
  parts.all_copper = link_rate <= kFastestCopper && wanted.link.empty();
  parts.cable = catalog.optic(parts.all_copper ? "cat5e" : "mpo-trunk");
  parts.co_packaged = is_co_packaged(part);
  if (!wanted.nic.empty()) parts.nic = catalog.nic(wanted.nic);
  parts.nics_in_node = parts.nic == nullptr;
  return parts;
}

Network build(const std::string& name, const design::Network& wanted, const Standing& all,
              const Endpoints& e) {
  const catalog::Catalog& catalog = all.catalog;
  Network v{.name = name, .path = "fabric." + name, .wanted = &wanted};
  v.switch_part = wanted.switch_part.empty() ? nullptr : catalog.switch_part(wanted.switch_part);
  v.nic = nic_of(wanted, catalog);
  v.is_roce = speaks_roce(wanted, v.switch_part);
  v.is_scattered = all.design.scheduler.topology == design::PlacementTopology::none;
  v.ports_per_node = e.ports_per_node;
  v.port_rate = e.port_rate;
  v.nic_ports = e.nics;
  if (wanted.topology == design::NamedTopology::none || e.nodes == 0) return v;
  const fabric::FabricSpec spec = spec_of(wanted, v.switch_part, e);
  auto topology = make_topology(spec);
  if (!topology) {
    v.faults = std::move(topology.error());
    return v;
  }
  v.topology = std::move(*topology);
  if (const auto tree = routed_spec(v)) v.routed = std::make_shared<fabric::RoutedTree>(*tree);
  if (v.switch_part) {
    v.bill = fabric_bill(*v.topology, parts_of(wanted, v.switch_part, catalog, spec.link_rate),
                         name + " fabric");
  }
  return v;
}

}  // namespace

int radix_at(const catalog::Switch& part, BytesPerSecond rate) {
  if (rate <= BytesPerSecond(0)) return part.ports;
  const double split = std::clamp(std::floor(part.port_rate / rate + 1e-9), 1.0, kMostBreakout);
  return static_cast<int>(part.ports * split);
}

bool is_co_packaged(const catalog::Switch* part) { return part != nullptr && part->co_packaged; }

bool speaks_roce(const design::Network& network, const catalog::Switch* part) {
  if (network.protocol) return *network.protocol == design::Protocol::roce;
  return part != nullptr && part->network == "ethernet" &&
         network.topology != design::NamedTopology::none;
}

LeafSet leaf_set(const Network& network, int hosts) {
  const int all = std::max(1, hosts);
  if (!network.topology || network.topology->leaves <= 0) return {.hosts = all, .leaves = 0};
  const fabric::Topology& t = *network.topology;
  const int rails = std::max(1, t.spec.rails);
  if (t.groups.empty()) {  // a dragonfly: endpoints are spread evenly over the routers
    const std::int64_t endpoints = std::max<std::int64_t>(1, t.endpoints / t.leaves);
    return {.hosts = std::clamp(static_cast<int>(endpoints / rails), 1, all)};
  }
  // In a plain tree and with one switch a unit's nodes are endpoints, filled host by host.
  const fabric::LeafUnit& unit = t.groups.front().units.front();
  const bool separate = t.spec.kind == catalog::TopologyKind::rail_only;
  const bool plain = t.spec.kind == catalog::TopologyKind::fat_tree || t.tiers == 1;
  if (plain && !separate) return {.hosts = std::clamp(unit.nodes / rails, 1, all)};
  // Three tiers and separate rails have a group per rail, whose units have one leaf each.
  const int sets = t.groups.size() > 1 ? rails / std::max(1, unit.rails) : 1;
  return {.hosts = std::clamp(unit.nodes, 1, all), .leaves = std::max(1, unit.leaves * sets)};
}

std::optional<fabric::RoutedTreeSpec> routed_spec(const Network& n, fabric::LinksUp up) {
  if (!n.topology) return std::nullopt;
  auto spec = fabric::tree_spec(*n.topology, up);
  if (!spec) return spec;
  spec->routing = n.wanted->routing;
  spec->queue_pairs = n.wanted->queue_pairs;
  spec->lossless = !n.is_roce || n.wanted->roce.pfc.value_or(true);
  spec->marks = !n.is_roce || n.wanted->roce.ecn.value_or(true);
  spec->scattered = n.is_scattered;
  return spec;
}

BytesPerSecond compute_port_rate(const Network& network, const Fleet& fleet) {
  return port_rate_of(*network.wanted, network.nic, fleet);
}

int compute_ports(const design::Network& wanted, const Fleet& f) {
  return wanted.ports_per_node.value_or(nics_of_host(f));
}

namespace {

Networks networks_in(const design::Networks& f, const Standing& all, const design::Site* site) {
  Networks n{.site = site};
  Endpoints joined = compute_endpoints(f.compute, nic_of(f.compute, all.catalog), all.fleets, site);
  // A single host needs no network: its accelerators are joined inside it.
  if (joined.nodes == 1) joined.nodes = 0;
  n.compute = build("compute", f.compute, all, joined);
  const BytesPerSecond storage_rate =
      n.compute.port_rate > BytesPerSecond(0) ? n.compute.port_rate : kStoragePort;
  const std::vector<TierServers> servers = servers_in(all, site);
  Endpoints stored = service_endpoints(f.storage, all.fleets, site, kStoragePorts, storage_rate);
  add_storage_ports(stored, servers);
  n.storage = build("storage", f.storage, all, stored);
  Endpoints managed =
      service_endpoints(f.management, all.fleets, site, kManagementPorts, kManagementRate);
  managed.ports += switches_of(n.compute) + switches_of(n.storage);
  for (const TierServers& s : servers) managed.ports += s.data + s.metadata;
  managed.count_nodes();
  n.management = build("management", f.management, all, managed);
  return n;
}

}  // namespace

IndexedVector<design::SiteIndex, Networks> build_networks(const design::Design& design,
                                                          const design::Networks& wanted,
                                                          const catalog::Catalog& catalog,
                                                          const Fleets& fleets,
                                                          const Tiers& tiers) {
  const Standing everything{design, catalog, fleets, tiers};
  IndexedVector<design::SiteIndex, Networks> all;
  for (const design::Site& site : design.sites) {
    const design::SiteIndex at = all.push_back(networks_in(wanted, everything, &site));
    all[at].site_index = at;
  }
  if (all.empty()) all.push_back(networks_in(wanted, everything, nullptr));
  return all;
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
  if (part.network == "infiniband") spec.manager_ports = kManagerPorts;
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

fabric::PauseOptions pause_options(const Network& n) {
  const design::RoceChecklist& roce = n.wanted->roce;
  fabric::PauseOptions o;
  o.pauses = roce.pfc.value_or(true);
  o.xoff = roce.xoff.value_or(o.xoff);
  const BytesPerSecond rate = n.topology ? n.topology->spec.link_rate : n.port_rate;
  // Bytes that arrive until a pause takes effect: those on the wires, and those of the fluid
  // model's time steps.
  o.headroom = max(fabric::check_headroom({.rate = rate}).per_port, rate * (3 * o.step));
  o.marking->kmin = roce.ecn_kmin.value_or(o.marking->kmin);
  o.marking->kmax = roce.ecn_kmax.value_or(o.marking->kmax);
  o.marking->pmax = roce.ecn_pmax.value_or(o.marking->pmax);
  // If only one of the two thresholds is given, the other follows from it.
  if (!roce.ecn_kmax) o.marking->kmax = max(o.marking->kmax, o.marking->kmin);
  if (!roce.ecn_kmin) o.marking->kmin = min(o.marking->kmin, o.marking->kmax);
  if (!roce.ecn.value_or(true)) o.marking.reset();
  if (roce.pfc_watchdog.value_or(false)) {
    o.watchdog = roce.watchdog_time.value_or(fabric::kWatchdogTime);
  }
  return o;
}

}  // namespace orrery::machine
