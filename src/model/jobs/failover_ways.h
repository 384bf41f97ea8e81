// Zones of a service: the fleet that answers each, and the paths that a zone's requests may take
// when their own site cannot answer them.
#pragma once

#include <vector>

#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns nullptr if the zone has no fleet.
const machine::Fleet* fleet_of_zone(const machine::Fleets& fleets, const design::Zone& zone);

struct FailoverWay {
  std::size_t zone = 0;  // zone of the same service that takes over
  machine::WanPath path;
  Seconds carry;  // time of a request's bytes on the slowest line of the path

  // The time that the path adds to a first token.
  Seconds away() const { return path.latency + carry; }
};
// Returns the failover paths of a zone in the order in which it names their sites. Leaves out
// fleets outside the zone's or the workload's residency, and sites that no line leads to.
std::vector<FailoverWay> failover_ways(const machine::Machine& machine,
                                       const design::Workload& workload, std::size_t zone);

// Returns the longest latency that a forwarded request may have: an overloaded zone never forwards
// requests to a site farther away than its TTFT objective allows.
Seconds farthest_failover(const design::Serve& serve);

}  // namespace orrery::jobs
