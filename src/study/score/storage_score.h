// `orrery score storage`: throughput of published storage rows, in two layouts.
//
// Training (MLPerf Storage reports, column MiB_per_s): accelerators x ideal rate x pass mark x
// 1.017. A submitter raises the accelerators until utilisation nears the mark, so the mark is what
// a report shows; 1.017 and its interval are the quantiles of the 132 v1.0 rows, shared by all.
// Checkpoints (column write_GiB_s): t = t0 + S/(K b) fitted to the other published rows of the same
// system, never to the row itself; the size follows from the model. Reads (column read_s): t =
// S/min(K b, C c), likewise, as size over the mean time: a mean of the runs' rates would give most
// weight to runs served from a cache. Without such rows a row is skipped.
#pragma once

#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_storage(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
