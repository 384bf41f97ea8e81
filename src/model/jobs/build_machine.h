// Builds the whole machine of a design; tiers of open size get what the workloads need.
//
// The servers of such a tier depend on the steps that it feeds, and the steps depend on the
// networks. So the machine is laid out once, the workloads are asked what they need if tiers never
// limit them, and those tiers are built again.
#pragma once

#include "model/machine/machine.h"

namespace orrery::jobs {

machine::Machine build_machine(design::Design design, const machine::Models& models);

}  // namespace orrery::jobs
