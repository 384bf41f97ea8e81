// A service whose zones take each other's traffic, in closed form: one site is lost at peak.
//
//   users taken over        traffic/failover.h, by what the others' replicas carry in the objective
//   TTFT there              of a replica with its own users and the guests, and the path:
//                           + round trip + bytes of a request / rate of the line
//   replicas needed there   (own peak + guests) / what one carries: no spares while a site is lost
// All zones are at their peak together, so no hour is worse. The KV caches of conversations are
// lost with their site; only a run sees that their turns are computed again.
#pragma once

#include <optional>
#include <vector>

#include "model/jobs/failover_ways.h"

namespace orrery::review {

struct ServeView;
struct SiteView;

struct FailoverTo {
  std::size_t zone = 0;  // zone of the same service
  jobs::FailoverWay way;
  PerSecond rate;
  double replicas_needed = 0;
  double replicas = 0;  // replicas in that zone
  double load = 0;      // share of what they carry, guests included
  Seconds ttft_p99;
  Seconds latency_p99;
  BytesPerSecond line;  // bytes per second of the requests on the way there
};

struct FailoverView {
  std::vector<FailoverTo> to;
  std::optional<std::size_t> first;  // zone that is asked first; none if no line leads to any
  PerSecond refused;                 // requests per second for which no zone has room
  double spilled = 0;  // share of the excess that others take when one host too few is left

  double served(PerSecond peak) const;  // share of its users that others take
  double load() const;                  // of the fullest zone that takes users
  Seconds ttft_p99() const;             // of the slowest zone
  Seconds latency_p99() const;
};

// Fills in the failover of each service's views, one service after the other.
void view_failovers(std::vector<ServeView>& views, const machine::Machine& machine);
// How often users get answers, with everything that may take down a site or its replicas.
//   alone = (1 - dark) P(enough replicas)       dark: no power from utility, batteries or
//   generators
void settle_availability(std::vector<ServeView>& views, const machine::Machine& machine,
                         const std::vector<SiteView>& sites);

}  // namespace orrery::review
