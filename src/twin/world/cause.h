// The causes of a GPU-second and their ledger (cluster/gpu_ledger.h), under the twin's own names,
// because every process of a run uses them.
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
