// A zone whose site is lost: where its users go at the worst hour, and how they are answered there.
//
// All zones of a service have their busiest hour together, so that the worst hour to lose a site is
// that one. traffic/failover.h says whom the others take, by what their replicas carry within the
// objective; each of them has a window of requests of its own (service_windows.h): those that were
// lost begin anew at once and fill a cache that has none of their blocks. A request crosses the
// line between the sites before it is computed, and so does its first token:
//   TTFT there = TTFT + round trip + bytes of the request / rate of the line
#pragma once

#include <optional>
#include <vector>

#include "layers/traffic/failover.h"
#include "twin/processes/service_windows.h"

namespace orrery::processes {

struct ServicePlan;

// Of the worst hour.
struct FailoverHost {
  std::size_t zone = 0;                 // that takes them
  double rate = 0;                      // requests a second
  std::optional<GuestWindows> windows;  // none of a plain network
};

struct ZoneFailover {
  traffic::Region region;  // the policy's view of the zone
  double refused = 0;      // requests a second for which nobody has room, worst hour
  std::vector<FailoverHost> hosts;
};

// Of all zones of a service, in their order; nothing where no zone names another.
void plan_failovers(std::vector<ServicePlan>& zones);
void simulate_failovers(const machine::Machine& machine, std::vector<ServicePlan>& zones);

}  // namespace orrery::processes
