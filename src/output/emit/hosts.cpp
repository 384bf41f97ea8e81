#include "output/emit/hosts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/design/slurm_fleets.h"
#include "output/emit/escape.h"

namespace orrery::emit {
namespace {

// Position of a node in the network: its scalable unit (nodes that share leaf switches) and the pod
// of that unit.
struct Seat {
  design::SiteIndex site;
  int unit = 0;
  int pod = 0;

  auto operator<=>(const Seat&) const = default;
};

int digits_of(int n) { return static_cast<int>(std::to_string(std::max(1, n)).size()); }

bool is_wanted(const review::Review& review, const machine::Fleet& view, HostsOf which) {
  if (which == HostsOf::all) return true;
  return is_slurms(review.design(), *view.fleet) == (which == HostsOf::slurm);
}

Result<IndexedVector<HostFleetIndex, HostFleet>> fleets_of(const review::Review& review,
                                                           HostsOf which) {
  IndexedVector<HostFleetIndex, HostFleet> out;
  Diagnostics faults;
  for (const machine::Fleet& view : review.fleets()) {
    if (!is_wanted(review, view, which)) continue;
    const auto name =
        checked_name(view.fleet->name, NameRule::dns_label,
                     {"the fleet", design::place_of(review.design(), view.path + ".name")});
    if (!name) faults.insert(faults.end(), name.error().begin(), name.error().end());
    HostFleet f{.index = HostFleetIndex(out.size()), .view = &view};
    f.hosts_per_node = view.hosts_per_node();
    f.in_service = view.hosts;
    f.spares = view.fleet->spares * f.hosts_per_node;
    f.digits = digits_of(f.hosts());
    out.push_back(f);
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

// A plain fat tree fills its leaves with endpoints in order, regardless of nodes; a node is placed
// where its first endpoint is.
std::vector<Seat> plain_seats(const fabric::Topology& t) {
  std::vector<Seat> seats(static_cast<std::size_t>(t.spec.nodes));
  int unit = 0;
  for (std::size_t pod = 0; pod < t.groups.size(); ++pod) {
    for (const fabric::LeafUnit& u : t.groups[pod].units) {
      for (int e = u.node_from; e < u.node_from + u.nodes; ++e) {
        if (e % t.spec.rails == 0) {
          seats[static_cast<std::size_t>(e / t.spec.rails)] = {{}, unit, static_cast<int>(pod)};
        }
      }
      ++unit;
    }
  }
  return seats;
}

// All rails have the same units, so the first rail gives them.
std::vector<Seat> rail_seats(const fabric::Topology& t) {
  std::vector<Seat> seats(static_cast<std::size_t>(t.spec.nodes));
  int unit = 0;
  int pod = 0;
  for (const fabric::SwitchGroup& g : t.groups) {
    if (g.units.empty() || g.units.front().rail_from != 0) continue;
    for (const fabric::LeafUnit& u : g.units) {
      for (int n = u.node_from; n < u.node_from + u.nodes; ++n) {
        seats[static_cast<std::size_t>(n)] = {{}, unit, pod};
      }
      ++unit;
    }
    ++pod;
  }
  return seats;
}

// Returns one seat per host of the widest fleet, as the network counts hosts.
std::vector<Seat> seats_of(const machine::Network& network) {
  const int nodes = network.topology ? network.topology->spec.nodes : 1;
  std::vector<Seat> together(static_cast<std::size_t>(nodes));
  if (!network.topology) return together;
  const fabric::Topology& t = *network.topology;
  if (t.spec.kind == catalog::TopologyKind::dragonfly) {
    const int size = (nodes + t.dragonfly_groups - 1) / std::max(1, t.dragonfly_groups);
    for (int n = 0; n < nodes; ++n) together[static_cast<std::size_t>(n)].unit = n / size;
    return together;
  }
  if (t.groups.empty()) return together;
  const bool plain = t.spec.kind == catalog::TopologyKind::fat_tree ||
                     (t.tiers == 1 && t.spec.kind == catalog::TopologyKind::rail_fat_tree);
  return plain ? plain_seats(t) : rail_seats(t);
}

bool on_compute_network(const machine::Fleet& view) {
  return !view.rented() && view.node.part.compute_nics > 0;
}

// Builds the levels from the bottom: domain (if hosts share one), unit, pod, core.
class TreeBuilder {
 public:
  TreeBuilder(const review::Review& review, Hosts& hosts) : review_(review), hosts_(hosts) {}

  void build() {
    seat_fabric_fleets();
    std::vector<std::string> tops = add_units();
    for (const HostFleet& fleet : hosts_.fleets) {
      if (on_compute_network(*fleet.view) || fleet.hosts() == 0) continue;
      tops.push_back(add_leaf("net-" + fleet.name(), {{fleet.index, 1, fleet.hosts()}}));
    }
    if (tops.size() > 1) hosts_.tree.push_back({"core", std::move(tops), {}});
  }

 private:
  // Ports are counted over all fleets of a site's fabric, including those of the other scheduler. A
  // rack is placed where its first host is.
  void seat_fabric_fleets() {
    for (const machine::Networks& here : review_.machine->networks) {
      const machine::Network& network = here.compute;
      const std::vector<Seat> seats = seats_of(network);
      std::size_t port = 0;
      for (const machine::Fleet& v : review_.fleets()) {
        if (!on_compute_network(v) || v.site != here.site) continue;
        const auto ports = static_cast<std::size_t>(std::max(1, compute_ports(*network.wanted, v)));
        port += seat_fleet(v, seats, port, ports) * ports;
      }
    }
  }

  // Returns the hosts that have a seat.
  std::size_t seat_fleet(const machine::Fleet& v, const std::vector<Seat>& seats, std::size_t port,
                         std::size_t ports) {
    const machine::Network& network = review_.machine->networks_of(v).compute;
    const auto rails = static_cast<std::size_t>(std::max(1, network.ports_per_node));
    const auto mine = std::ranges::find(hosts_.fleets, &v, &HostFleet::view);
    const auto nodes =
        static_cast<std::size_t>(v.fleet->count) + static_cast<std::size_t>(v.fleet->spares);
    const auto per_node = static_cast<std::size_t>(v.hosts_per_node());
    for (std::size_t n = 0; n < nodes && mine != hosts_.fleets.end(); ++n) {
      const std::size_t at = (port + n * per_node * ports) / rails;
      Seat seat = seats[std::min(at, seats.size() - 1)];
      seat.site = v.site_index;
      const int from = static_cast<int>(n) * mine->hosts_per_node + 1;
      units_[seat].push_back({mine->index, from, mine->hosts_per_node});
    }
    return nodes * per_node;
  }

  std::string add_leaf(std::string name, const std::vector<HostRange>& hosts) {
    hosts_.tree.push_back({name, {}, joined(hosts)});
    return name;
  }

  std::vector<std::string> add_units() {
    // keyed by site and pod
    std::map<std::pair<design::SiteIndex, int>, std::vector<std::string>> pods;
    std::vector<TreeSwitch> above;
    const int width = digits_of(static_cast<int>(units_.size()));
    int number = 0;
    for (const auto& [seat, nodes] : units_) {
      const std::string name = fmt::format("su-{:0{}}", ++number, width);
      pods[{seat.site, seat.pod}].push_back(name);
      const bool domains = std::ranges::any_of(nodes, [](auto& r) { return r.count > 1; });
      if (!domains) {
        add_leaf(name, nodes);
        continue;
      }
      TreeSwitch unit{name, {}, {}};
      for (const HostRange& r : nodes) {
        const HostFleet& f = hosts_.fleets[r.fleet];
        const int node = (r.from - 1) / f.hosts_per_node + 1;
        unit.switches.push_back(add_leaf(fmt::format("domain-{}-{}", f.name(), node), {r}));
      }
      above.push_back(std::move(unit));
    }
    hosts_.tree.insert(hosts_.tree.end(), above.begin(), above.end());
    return add_pods(pods);
  }

  // A single pod needs no switch above its units: the root is that switch.
  std::vector<std::string> add_pods(
      const std::map<std::pair<design::SiteIndex, int>, std::vector<std::string>>& pods) {
    if (pods.size() == 1) return pods.begin()->second;
    std::vector<std::string> names;
    for (const auto& [pod, units] : pods) {
      names.push_back(fmt::format("pod-{}", names.size() + 1));
      hosts_.tree.push_back({names.back(), units, {}});
    }
    return names;
  }

  static std::vector<HostRange> joined(const std::vector<HostRange>& ranges) {
    std::vector<HostRange> out;
    for (const HostRange& r : ranges) {
      const bool follows = !out.empty() && out.back().fleet == r.fleet &&
                           out.back().from + out.back().count == r.from;
      if (follows) {
        out.back().count += r.count;
      } else {
        out.push_back(r);
      }
    }
    return out;
  }

  const review::Review& review_;
  Hosts& hosts_;
  std::map<Seat, std::vector<HostRange>> units_;
};

Diagnostic tree_fault(std::string what, std::string_view why) {
  return {.code = "emit.tree",
          .what = std::move(what),
          .why = std::string(why),
          .fix = "change fabric.compute or the fleets so that each host is below one leaf"};
}

void check_hosts(const Hosts& hosts, Diagnostics& faults) {
  constexpr std::string_view kWhy = "Slurm would only warn, and then place gangs by a wrong tree";
  std::map<std::pair<HostFleetIndex, int>, std::string> seen;
  for (const TreeSwitch& s : hosts.tree) {
    for (const HostRange& r : s.hosts) {
      for (int n = r.from; n < r.from + r.count; ++n) {
        if (!hosts.fleets.has(r.fleet) || n < 1 || n > hosts.fleets[r.fleet].hosts()) {
          faults.push_back(tree_fault(
              fmt::format("leaf `{}` names host {} of a fleet that has none", s.name, n), kWhy));
          break;
        }
        const auto [at, fresh] = seen.try_emplace({r.fleet, n}, s.name);
        if (fresh) continue;
        faults.push_back(
            tree_fault(fmt::format("host `{}` is in the leaves `{}` and `{}`",
                                   host_name(hosts.fleets[r.fleet], n), at->second, s.name),
                       kWhy));
        break;
      }
    }
  }
  for (const HostFleet& f : hosts.fleets) {
    for (int n = 1; n <= f.hosts(); ++n) {
      if (seen.contains({f.index, n})) continue;
      faults.push_back(tree_fault(fmt::format("host `{}` is in no leaf", host_name(f, n)), kWhy));
      break;
    }
  }
}

void check_switches(const Hosts& hosts, Diagnostics& faults) {
  constexpr std::string_view kWhy = "a tree has one root, and every switch has one place in it";
  std::set<std::string> known;
  std::set<std::string> placed;
  for (const TreeSwitch& s : hosts.tree) {
    if (!known.insert(s.name).second) {
      faults.push_back(tree_fault(fmt::format("two switches are called `{}`", s.name), kWhy));
    }
    if (s.switches.empty() == s.hosts.empty()) {
      faults.push_back(tree_fault(
          fmt::format("switch `{}` needs either hosts or switches below it", s.name), kWhy));
    }
    for (const std::string& child : s.switches) {
      if (!known.contains(child)) {
        faults.push_back(tree_fault(
            fmt::format("switch `{}` joins `{}`, which is not below it", s.name, child), kWhy));
      }
      if (!placed.insert(child).second) {
        faults.push_back(tree_fault(fmt::format("switch `{}` is below two switches", child), kWhy));
      }
    }
  }
  if (!hosts.tree.empty() && known.size() != placed.size() + 1) {
    faults.push_back(tree_fault("no switch reaches all hosts", kWhy));
  }
}

}  // namespace

Result<Hosts> hosts_of(const review::Review& review, HostsOf which) {
  auto fleets = fleets_of(review, which);
  if (!fleets) return std::unexpected(std::move(fleets.error()));
  Hosts hosts{.fleets = std::move(*fleets)};
  TreeBuilder(review, hosts).build();
  if (Diagnostics faults = check_tree(hosts); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  return hosts;
}

Diagnostics check_tree(const Hosts& hosts) {
  Diagnostics faults;
  check_hosts(hosts, faults);
  check_switches(hosts, faults);
  return faults;
}

std::string host_name(const HostFleet& fleet, int number) {
  return fmt::format("{}-{:0{}}", fleet.name(), number, fleet.digits);
}

std::string hostlist(const Hosts& hosts, const std::vector<HostRange>& ranges) {
  std::string out;
  for (std::size_t i = 0; i < ranges.size();) {
    const HostFleet& fleet = hosts.fleets[ranges[i].fleet];
    std::string numbers;
    bool single = true;
    std::size_t j = i;
    for (; j < ranges.size() && ranges[j].fleet == ranges[i].fleet; ++j) {
      const HostRange& r = ranges[j];
      if (r.count <= 0) continue;
      single = single && numbers.empty() && r.count == 1;
      if (!numbers.empty()) numbers += ',';
      numbers += fmt::format("{:0{}}", r.from, fleet.digits);
      if (r.count > 1) numbers += fmt::format("-{:0{}}", r.from + r.count - 1, fleet.digits);
    }
    if (!numbers.empty()) {
      if (!out.empty()) out += ',';
      out += fleet.name() + '-' + (single ? numbers : '[' + numbers + ']');
    }
    i = j;
  }
  return out;
}

const TreeSwitch* leaf_of(const Hosts& hosts, HostFleetIndex fleet, int number) {
  for (const TreeSwitch& s : hosts.tree) {
    for (const HostRange& r : s.hosts) {
      if (r.fleet == fleet && number >= r.from && number < r.from + r.count) return &s;
    }
  }
  return nullptr;
}

}  // namespace orrery::emit
