// A service of the design in simulated time: its replicas under the arrivals of its peak hour, and
// what the loss of one of them does.
//
// Replicas are those that the design gives, or as many as the closed form wants at 80 % of what one
// carries; requests come as a Poisson stream with the lengths of their mix, each is routed to the
// replica with the fewest, engines decide iteration by iteration (serving/fleet.h, apart_fleet.h
// where prefill and decode are apart). A second run loses a replica halfway: its requests begin
// anew elsewhere, and it is back after a cold start by parts (one H200: imports and context 5 s,
// weights at 1.4 GB/s a device, graphs 3.8 s). Large services are cut to a number of replicas with
// their share of the arrivals, since replicas know nothing of each other. Left out: traces by path
// (their lengths are those of the design), swings of the day, hosts that failed for other
// workloads.
#pragma once

#include <cstdint>

#include "machine/machine.h"
#include "machine/section.h"

namespace orrery::twin {

// One section a service and zone, in the design's order; a service that cannot run says why.
std::vector<machine::Section> serving_sections(const machine::Machine& machine, std::uint64_t seed);

}  // namespace orrery::twin
