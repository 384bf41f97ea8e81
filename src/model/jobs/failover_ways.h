// Zones of a service: the fleet that answers, and the ways a zone's requests may take when their
// own site cannot answer them.
#pragma once

#include <vector>

#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns nullptr if nothing stands in the zone.
const machine::Fleet* fleet_of_zone(const machine::Fleets& fleets, const design::Zone& zone);

struct FailoverWay {
  std::size_t zone = 0;  // of the same service
  machine::WanPath path;
  Seconds carry;  // a request's bytes over its slowest line

  // What the way adds to a first token.
  Seconds away() const { return path.latency + carry; }
};
// Returns the ways of a zone in the order in which it names their sites. Leaves out fleets outside
// the zone's or the workload's residency, and sites that no line leads to.
std::vector<FailoverWay> failover_ways(const machine::Machine& machine,
                                       const design::Workload& workload, std::size_t zone);

// Returns the longest way a request may take: an overloaded zone never forwards requests to a site
// farther away than its TTFT objective allows.
Seconds farthest_failover(const design::Serve& serve);

}  // namespace orrery::jobs
