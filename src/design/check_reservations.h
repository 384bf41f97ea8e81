// Whether reservations are of fleets that Slurm runs, have a period that Slurm knows, and name
// tenants that have an account.
#pragma once

#include "design/design.h"
#include "design/value_reader.h"

namespace orrery::design {

// A job has a bit for each of them.
inline constexpr std::size_t kMostReservations = 64;

void check_reservations(const Design& design, ValueReader& values);

}  // namespace orrery::design
