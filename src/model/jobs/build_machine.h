// The whole machine of a design, its open tiers sized by what the workloads ask of them.
//
// How many servers such a tier needs hangs on the steps it feeds, and those on the networks. So the
// machine is laid out once, the workloads are asked what they want of tiers that never bind, and
// those tiers are built again.
#pragma once

#include "model/machine/machine.h"

namespace orrery::jobs {

machine::Machine build_machine(design::Design design, const machine::Models& models);

}  // namespace orrery::jobs
