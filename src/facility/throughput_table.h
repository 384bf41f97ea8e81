// Throughput per watt and per rack across vendors: one row a catalog node.
//
//   per watt = accelerators * dense peak / node nameplate
//   per rack = nodes that fit under the cooling method * accelerators * dense peak
//
// Peaks are dense and of one precision; a node without a figure (power, price, peak) has it blank,
// never inferred, and nodes_per_rack says nothing then. Peak is not speed: the compute layer says
// what a kernel reaches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "facility/rack.h"

namespace orrery::facility {

struct ThroughputRow {
  std::string node_id;
  std::string vendor;
  int accelerators = 0;
  FlopsPerSecond peak;                    // of the node
  std::optional<double> tflops_per_watt;  // of nameplate
  std::optional<double> pflops_per_rack;
  std::optional<double> usd_per_tflops;  // middle of the node's price range
  int nodes_per_rack = 0;                // 0: not one fits under the method
  RackBound bound = RackBound::none_fits;
  std::string reference;
};

struct ThroughputRequest {
  catalog::Dtype dtype = catalog::Dtype::bf16;
  Watts rack_limit;  // 0: the method's own
};

// Best per watt first; rows without power last, in catalog order.
std::vector<ThroughputRow> throughput_table(const catalog::Catalog& catalog,
                                            const catalog::CoolingMethod& method,
                                            const ThroughputRequest& request);

}  // namespace orrery::facility
