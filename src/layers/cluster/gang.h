// Gang scheduling: whether a group of nodes can start together, must wait, or never can start.
//
// A synchronous job needs all its nodes at once. If jobs may hold nodes while they wait for the
// rest, they can deadlock: two gangs that each hold half wait for each other for ever, and a gang
// of 8 on a machine with 7 waits for a node that does not exist. The cure is to allocate
// atomically, to admit in one order, or to give nodes back after a timeout. Documented in
// kube-batch issue 158 and koordinator 872. This counts nodes only; topology_fit.h places them on
// the fabric.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orrery::cluster {

struct GangRequest {
  int nodes = 1;
  int gpus_per_node = 8;
};

enum class GangVerdict {
  fits,        // starts now
  waits,       // fits once running jobs end
  fragmented,  // enough GPUs are free, but spread over too many nodes
  over_quota,  // the fleet has room, but the tenant has no quota left
  never,       // larger than the fleet
};
const char* to_text(GangVerdict v);

struct GangAnswer {
  GangVerdict verdict = GangVerdict::fits;
  int nodes_free = 0;   // nodes with enough free GPUs for this request
  int nodes_short = 0;  // nodes that the request lacks; 0 if it fits
};

// `free_gpus` lists the free GPUs of every node in service; `gpus_on_node` is the size of a node.
// quota_gpus is what the tenant may still take; none means no limit.
GangAnswer place_gang(const GangRequest& request, std::span<const int> free_gpus, int gpus_on_node,
                      std::optional<int> quota_gpus = std::nullopt);

// A gang that holds some of its nodes and waits for the rest.
struct HeldGang {
  std::string name;
  int needs = 0;
  int holds = 0;
};

struct HoldOutcome {
  bool deadlock = false;
  std::vector<std::string> finish_order;  // gangs that could run to their end, one after the other
  std::vector<std::string> stuck;
  int nodes_idle = 0;  // nodes that stuck gangs hold or that are free, doing nothing
};
// The test of the banker's algorithm on a pool with `free` nodes left: lets any gang that can be
// completed run and give back all its nodes. The gangs that remain can never start.
HoldOutcome resolve_holds(std::span<const HeldGang> gangs, int free);

// Returns how many of the same gangs run at once if each takes all its nodes or none, in the order
// given.
int gangs_started_atomically(std::span<const HeldGang> gangs, int nodes);

}  // namespace orrery::cluster
