// A zone whose site is lost: where its users go at the worst hour, and how they are answered there.
//
// All zones of a service have their busiest hour together, so that is the worst hour to lose a
// site. traffic/failover.h decides how many users each other zone takes, by what its replicas carry
// within the objective; each of them has a window of requests of its own (service_windows.h): the
// lost requests start over at once and fill a cache that has none of their blocks. A request
// crosses the line between the sites before it is computed, and so does its first token:
//   TTFT there = TTFT + round trip + bytes of the request / rate of the line
#pragma once

#include <optional>
#include <vector>

#include "layers/traffic/failover.h"
#include "twin/processes/service_windows.h"

namespace orrery::processes {

struct ServicePlan;

// A zone that takes users, in the worst hour.
struct FailoverHost {
  std::size_t zone = 0;                 // zone that takes users
  double rate = 0;                      // requests per second
  std::optional<GuestWindows> windows;  // none for a non-transformer network
};

struct ZoneFailover {
  traffic::Region region;  // the zone as the policy sees it
  double refused = 0;      // requests per second for which no zone has room, in the worst hour
  std::vector<FailoverHost> hosts;
};

// Plans all zones of a service, in their order; does nothing if no zone names another.
void plan_failovers(std::vector<ServicePlan>& zones);
void simulate_failovers(const machine::Machine& machine, std::vector<ServicePlan>& zones);

}  // namespace orrery::processes
