// A service whose zones take each other's traffic, in closed form: a site is lost at peak.
//
//   whom the others take    traffic/failover.h, by what their replicas carry within the objective
//   TTFT there              of a replica with its own users and the guests, and the way:
//                           + round trip + bytes of a request / rate of the line
//   replicas needed there   (own peak + guests) / what one carries: none stands by while a site is
//                           lost
// All zones are at their peak together, so that no hour is worse. Keys and values of talks are lost
// with their site; that turns are computed anew, only a run sees.
#pragma once

#include <optional>
#include <vector>

#include "model/jobs/failover_ways.h"

namespace orrery::review {

struct ServeView;
struct SiteView;

struct FailoverTo {
  std::size_t zone = 0;  // of the same service
  jobs::FailoverWay way;
  PerSecond rate;
  double replicas_needed = 0;
  double replicas = 0;  // that stand there
  double load = 0;      // of what they carry, with the guests
  Seconds ttft_p99;
  Seconds latency_p99;
  BytesPerSecond line;  // what crosses with the requests
};

struct FailoverView {
  std::vector<FailoverTo> to;
  std::optional<std::size_t> first;  // zone that is asked first; none where no way leads
  PerSecond refused;                 // for which nobody has room
  double spilled = 0;  // of what is over its capacity with a host too few left: that others take

  double served(PerSecond peak) const;  // of its users
  double load() const;                  // of the fullest that take them
  Seconds ttft_p99() const;             // of the slowest
  Seconds latency_p99() const;
};

// Of the views of one service after the other.
void view_failovers(std::vector<ServeView>& views, const machine::Machine& machine);
// How often users are answered, with all that may take a site or its replicas.
//   alone = (1 - dark) P(enough replicas)       dark: no power, nor batteries, nor generators
void settle_availability(std::vector<ServeView>& views, const machine::Machine& machine,
                         const std::vector<SiteView>& sites);

}  // namespace orrery::review
