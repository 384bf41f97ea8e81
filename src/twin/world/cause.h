// The causes of a GPU-second and the book of them (cluster/gpu_ledger.h), by their own names: every
// process of a run speaks of them.
#pragma once

#include "layers/cluster/gpu_ledger.h"

namespace orrery::world {

using cluster::at;
using cluster::ByCause;
using cluster::Cause;
using cluster::GpuLedger;
using cluster::GpuTime;
using cluster::kCauses;
using cluster::kShares;
using cluster::Share;

}  // namespace orrery::world
