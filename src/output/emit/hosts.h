// The machines of a design as a scheduler names them, and the tree of switches that connects them.
//
// Hosts are numbered within their fleet, in service first and spares after: train-001 .. train-127.
// A scheduler's tree needs each host below one leaf, while a rail-optimised fabric connects a host
// to eight. Hosts that share all their leaves (a scalable unit) therefore become one leaf of the
// tree. This keeps its cost model, "one leaf or two": traffic within a unit crosses one switch on
// every rail. An accelerator domain of several hosts (an NVL72 rack) is a leaf below its unit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::emit {

// Position of a fleet among those whose hosts are named; one scheduler may have fewer fleets than
// the design.
using HostFleetIndex = Index<struct HostFleetTag>;

// A fleet and the names of its hosts.
struct HostFleet {
  HostFleetIndex index;
  const machine::Fleet* view = nullptr;
  int hosts_per_node = 1;
  int in_service = 0;
  int spares = 0;
  int digits = 1;  // digits of a host's number

  const std::string& name() const { return view->fleet->name; }
  int hosts() const { return in_service + spares; }
};

// Hosts `from .. from + count` of a fleet, counted from 1.
struct HostRange {
  HostFleetIndex fleet;
  int from = 1;
  int count = 0;

  bool operator==(const HostRange&) const = default;
};

struct TreeSwitch {
  std::string name;
  std::vector<std::string> switches;  // switches below it; empty for a leaf
  std::vector<HostRange> hosts;       // hosts of a leaf

  bool operator==(const TreeSwitch&) const = default;
};

struct Hosts {
  IndexedVector<HostFleetIndex, HostFleet> fleets;
  std::vector<TreeSwitch> tree;  // leaves first, the root last; empty if there are no hosts
};

// Selects fleets: all, or those that the design assigns to one scheduler.
enum class HostsOf { all, slurm, kubernetes };
// Fails for a fleet name that cannot be part of a host name, and for a tree with faults by
// check_tree.
Result<Hosts> hosts_of(const review::Review& review, HostsOf which);

// Finds faults that a scheduler would only warn about: a host in two leaves or in none, a leaf or a
// switch that is missing or used twice, a host that does not exist. Codes "emit.tree".
Diagnostics check_tree(const Hosts& hosts);

std::string host_name(const HostFleet& fleet, int number);
// Returns "train-[001-064,080],cpu-1": Slurm's hostlist notation.
std::string hostlist(const Hosts& hosts, const std::vector<HostRange>& ranges);
// Returns the leaf of a host, or nullptr if it has none.
const TreeSwitch* leaf_of(const Hosts& hosts, HostFleetIndex fleet, int number);

}  // namespace orrery::emit
