// How long a collective takes on a machine of the catalog, as an Estimate: joins the accelerator's
// scale-up link, the node's NICs and the fitted parameters of the fabric room.
//
// A rank's NICs give it no more than its PCIe port does: 55.4 GB/s were measured on generation 5
// x16 (nvbandwidth, H200), the others are scaled by generation. The interval comes from the
// residuals of the rows the parameters were fitted on (docs/models/collectives.md), by size and by
// whether NICs take part, and is widened for links that no row covers.
#pragma once

#include <string>

#include "base/estimate.h"
#include "catalog/parts.h"
#include "fabric/collective_parameters.h"

namespace orrery {

struct CollectiveMachine {
  const Accelerator* accelerator = nullptr;
  int domain = 0;  // accelerators joined by the scale-up link; 0: the catalog's
  int accelerators_per_host = 8;
  double nics_per_host = 0;
  BytesPerSecond nic_rate;  // each, per direction
  NetworkKind network = NetworkKind::infiniband;
  bool rccl = false;  // AMD's library
  double oversubscription = 1;
  double network_free = 1;
  bool sharp = false;
  bool torch_timed = false;  // timed from PyTorch, launch included
  bool in_graph = false;
};

LinkHierarchy link_hierarchy(const CollectiveMachine& machine,
                             const CollectiveParameters& parameters);

// How `ranks` ranks lie when whole domains are filled in order: the largest even split.
GroupShape packed_group(int ranks, int domain);

struct CollectivePrediction {
  Estimate seconds;
  CollectiveTime detail;
};

CollectivePrediction predict_collective(
    const LinkHierarchy& links, const CollectiveCall& call, const CollectiveParameters& parameters,
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic);

// Whether rows fixed the parameters of both levels; else the Estimate is `assumed`.
bool is_fitted(const CollectiveMachine& machine, const CollectiveParameters& parameters);

}  // namespace orrery
