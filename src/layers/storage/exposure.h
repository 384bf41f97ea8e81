// What a failure can take: the window in which the only copies sit on machines that may die.
//
//   window    a copy on node-local drives or in host memory is alone for the drain t
//   P(loss)   1 - exp(-nodes t / MTBF_node)                    one holder for each shard
//             1 - (1 - q^r)^(nodes/r), q = 1 - exp(-t/MTBF)    r holders in groups of r
//   RPO       interval, or interval + t when a holder dies
// Independent failures. Wrong where holders share a power feed, a rack or a software push: place
// the copies of a shard in different failure domains.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

struct ExposureProblem {
  double nodes = 1;   // that hold parts of the checkpoint
  Seconds node_mtbf;  // of one node
  Seconds drain;      // from snapshot to a copy that outlives the nodes
  Seconds interval;
  int holders = 1;  // nodes that hold each shard during the drain, its own among them
};

struct Exposure {
  Seconds window;
  double loss_per_save = 0;    // chance that this save is lost before it is safe
  double share_exposed = 0;    // of the time some save is unsafe
  double losses_per_year = 0;  // expected, saving at every interval
  Seconds rpo;                 // most work lost when no holder dies
  Seconds rpo_holder_lost;     // and when all holders of a shard do
};

Exposure expose(const ExposureProblem& problem);

}  // namespace orrery::storage
