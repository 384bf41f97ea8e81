// How accelerators are joined, and how long a collective takes: the one place where the links of a
// machine are built.
//
// A Wiring says what is installed (from a design, a measured row, or the options of a calculation);
// Links are made from it with the fitted parameters of the fabric room. A rank's NICs give it no
// more than its PCIe port does: 55.4 GB/s were measured on generation 5 x16 (nvbandwidth, H200),
// the others are scaled by generation. The interval of a prediction comes from the residuals of the
// rows that the parameters were fitted on (docs/models/collectives.md), by size and by whether NICs
// take part.
#pragma once

#include "core/base/estimate.h"
#include "core/catalog/parts.h"
#include "layers/fabric/collective_parameters.h"
#include "model/machine/network.h"

namespace orrery::machine {

struct Wiring {
  const catalog::Accelerator* accelerator = nullptr;
  int domain = 0;  // accelerators joined by the scale-up link; 0: the catalog's
  int accelerators_per_host = 8;
  double nics_per_host = 0;
  BytesPerSecond nic_rate;  // per NIC and direction
  catalog::NetworkKind network = catalog::NetworkKind::infiniband;
  double oversubscription = 1;
  fabric::RoutedLinks routed;  // the network as built; a measured row has none
  bool sharp = false;          // reduction in the switches
  bool unmeasured = false;     // no row was measured on such a network
  bool torch_timed = false;    // timed from PyTorch, launch included
  bool in_graph = false;       // launched from a captured graph
};

// Returns the usable rate of an x16 port, in one direction.
BytesPerSecond pcie_rate(int generation);

// Returns the wiring of a fleet with accelerators, on its site's compute network as built or on its
// provider's.
Wiring wiring_of(const Fleet& fleet, const Networks& networks);

// Returns how `ranks` are placed when whole domains are filled in order: the largest even split.
workload::GroupShape packed_group(int ranks, int domain);

struct CollectivePrediction {
  Estimate seconds;
  fabric::CollectiveTime detail;
};

class Links {
 public:
  // `parameters` must outlive the Links.
  Links(const Wiring& wiring, const fabric::CollectiveParameters& parameters);

  fabric::CollectiveTime time(
      const workload::CollectiveCall& call,
      fabric::CollectiveAlgorithm algorithm = fabric::CollectiveAlgorithm::automatic) const {
    return collective_time(built_, call, algorithm);
  }
  CollectivePrediction predict(
      const workload::CollectiveCall& call,
      fabric::CollectiveAlgorithm algorithm = fabric::CollectiveAlgorithm::automatic) const;
  // Returns the group packed as the domain allows.
  workload::GroupShape group_of(int ranks) const {
    return packed_group(ranks, std::max(1, built_.domain));
  }

  // Returns the links with the share of the NICs and uplinks that other traffic or failures leave.
  Links left(double share) const;
  // Returns the links at one bound of what routing leaves.
  Links at(fabric::ShareBound bound) const;
  // Returns true if measured rows fixed the parameters of both levels; otherwise a prediction is
  // `assumed`.
  bool fitted() const { return fitted_; }
  const fabric::LinkHierarchy& built() const { return built_; }

 private:
  const fabric::CollectiveParameters* parameters_;
  fabric::LinkHierarchy built_;
  bool fitted_ = false;
};

}  // namespace orrery::machine
