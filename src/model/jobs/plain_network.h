// The speed of a non-transformer network on one device of a fleet, or on its slice: a share of the
// 16-bit peak (docs/models/plain-network.md).
#pragma once

#include <optional>

#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns nothing for a device that cannot multiply in 16 bits.
std::optional<FlopsPerSecond> plain_rate(const machine::Machine& machine,
                                         const machine::Fleet& fleet);

}  // namespace orrery::jobs
