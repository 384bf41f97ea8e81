// Until a replica that was placed answers: its weights and all else of a cold start, and the image
// too if replicas come and go.
#pragma once

#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns the tier a replica loads from: the one the design names, else the hot tier of its own
// site, else any.
const machine::Tier* weights_tier(const machine::Machine& machine, const design::Serve& serve,
                                  const machine::Fleet& fleet);
// Returns how fast the processes of so many devices load, alone on the tier and on one host's
// ports.
BytesPerSecond weights_rate(const machine::Machine& machine, const machine::Tier& tier,
                            const machine::Fleet& fleet, int devices);
Seconds replica_start(const machine::Machine& machine, const design::Serve& serve,
                      const machine::Fleet& fleet, int devices);

}  // namespace orrery::jobs
