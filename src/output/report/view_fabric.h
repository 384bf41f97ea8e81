// A network of a design for drawing: switches, the cables between them (grouped), what each carries
// during a collective, what a loss does, and the bill.
//
// A "switch" of the drawing is one switch or, in a large network, several alike: the spines of a
// group, the cores, the routers of a dragonfly group. The endpoints of a leaf are one group. 16,384
// endpoints are therefore drawn as some hundred items. Ids are stable for a design and name what to
// fail; an id named twice fails two of the parts that it represents.
#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/machine/machine.h"
#include "study/compare/network_load.h"

namespace orrery::report {

enum class FabricDetail { automatic, full, aggregated };

struct FabricViewQuestion {
  std::string network;  // "compute", "storage", "management"; empty: the first that exists
  compare::CollectiveAsk collective;
  std::vector<std::string> failed;  // ids of switches and links in the answer
  FabricDetail detail = FabricDetail::automatic;
};

// Most parts that may fail at once; more would be an outage, not a study.
inline constexpr std::size_t kMostFailed = 64;

// Fails with "fabric.no-network", "fabric.no-such-part", "fabric.too-large" or the faults of a
// network that cannot be built.
Result<std::string> fabric_view_json(const machine::Machine& machine,
                                     const FabricViewQuestion& question);

}  // namespace orrery::report
