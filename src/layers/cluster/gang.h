// All or nothing: whether a gang of nodes can start, must wait, or never will.
//
// A synchronous job needs all its nodes at once. One that may hold what it has while it waits for
// the rest can deadlock: two gangs that each hold half wait for each other for ever, and a gang of
// 8 on a machine with 7 waits for a node that does not exist. Cure: commit atomically, admit in one
// order, or give back after a hold timeout. Documented: kube-batch issue 158, koordinator 872.
// Counts nodes; where on the fabric they lie is topology_fit.h.
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
  waits,       // will fit when running jobs end
  fragmented,  // enough GPUs are free, but not enough on each of enough nodes
  over_quota,  // the fleet could, the tenant may not
  never,       // larger than the fleet
};
const char* to_text(GangVerdict v);

struct GangAnswer {
  GangVerdict verdict = GangVerdict::fits;
  int nodes_free = 0;   // with enough free GPUs for this request
  int nodes_short = 0;  // of the request; 0 where it fits
};

// `free_gpus` lists the free GPUs of every node in service; `gpus_on_node` is how many each has.
// quota_gpus: what the tenant may still take, none for no limit.
GangAnswer place_gang(const GangRequest& request, std::span<const int> free_gpus, int gpus_on_node,
                      std::optional<int> quota_gpus = std::nullopt);

// Gangs that hold some of their nodes and want the rest, on a pool with `free` left.
struct HeldGang {
  std::string name;
  int needs = 0;
  int holds = 0;
};

struct HoldOutcome {
  bool deadlock = false;
  std::vector<std::string> finish_order;  // that could run to their end, one after the other
  std::vector<std::string> stuck;
  int nodes_idle = 0;  // held by the stuck or free, doing nothing
};
// Banker's test: lets any gang that can be completed run and give back all it holds. What is left
// can never start.
HoldOutcome resolve_holds(std::span<const HeldGang> gangs, int free);

// The same gangs when each takes all or nothing, in the order given: how many run at once.
int gangs_started_atomically(std::span<const HeldGang> gangs, int nodes);

}  // namespace orrery::cluster
