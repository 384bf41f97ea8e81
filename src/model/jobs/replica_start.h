// The time from placing a replica to its first answer: its weights and the rest of a cold start,
// and the image too if replicas come and go.
#pragma once

#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns the tier that a replica loads from: the one that the design names, else the hot tier of
// its own site, else any.
const machine::Tier* weights_tier(const machine::Machine& machine, const design::Serve& serve,
                                  const machine::Fleet& fleet);
// Returns how fast the processes of that many devices load, with the tier and one host's ports to
// themselves.
BytesPerSecond weights_rate(const machine::Machine& machine, const machine::Tier& tier,
                            const machine::Fleet& fleet, int devices);
Seconds replica_start(const machine::Machine& machine, const design::Serve& serve,
                      const machine::Fleet& fleet, int devices);

}  // namespace orrery::jobs
