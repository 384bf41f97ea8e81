// Configurations of DLIO, the benchmark behind MLPerf Storage, for the training runs of a design:
// the same reads and saves on the real storage, with a sleep instead of the step.
//
//   workload/dlio-NAME.yaml  samples, files, batch and threads of one accelerator; computation_time
//                            is the planned step; the checkpoint of one rank
//
// Run it with as many processes as the run has accelerators. `orrery calibrate` reads its result
// (summary.json) as a calibration of the tier (score/dlio_summary.h). Keys are those of
// argonne-lcf/dlio_benchmark's configs/workload/*.yaml.
//
// Differences from the real run: DLIO draws samples of one size and decodes nothing, saves after a
// fixed number of steps however long they take, and has no tiers. The data and checkpoint folders
// are therefore below the mount points that the other emitted files use (/mnt/TIER).
#pragma once

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "plan/review/stages.h"

namespace orrery::emit {

// Fails with "emit.no-reads" if no run reads a data set from a tier.
Result<EmittedFiles> emit_dlio(const review::Review& review, const EmitSource& source);

}  // namespace orrery::emit
