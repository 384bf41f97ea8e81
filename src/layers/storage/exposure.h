// What a failure can destroy: the time during which the only copies are on machines that may fail.
//
//   window    a copy on node-local drives or in host memory is the only one during the drain t
//   P(loss)   1 - exp(-nodes t / MTBF_node)                    one holder per shard
//             1 - (1 - q^r)^(nodes/r), q = 1 - exp(-t/MTBF)    r holders in groups of r
//   RPO       interval, or interval + t if a holder fails
// Assumes independent failures. Wrong if holders share a power feed, a rack or a software rollout:
// put the copies of a shard into different failure domains.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

struct ExposureProblem {
  double nodes = 1;   // nodes that hold parts of the checkpoint
  Seconds node_mtbf;  // per node
  Seconds drain;      // from the snapshot until a copy survives the nodes
  Seconds interval;
  int holders = 1;  // nodes that hold each shard during the drain, including its own
};

struct Exposure {
  Seconds window;
  double loss_per_save = 0;    // probability that a save is lost before it is safe
  double share_exposed = 0;    // share of time during which some save is unsafe
  double losses_per_year = 0;  // expected, with a save at every interval
  Seconds rpo;                 // most work lost if no holder fails
  Seconds rpo_holder_lost;     // most work lost if all holders of a shard fail
};

Exposure expose(const ExposureProblem& problem);

}  // namespace orrery::storage
