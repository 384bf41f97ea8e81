// The storage of a design for drawing: its tiers, where the checkpoints of a run are over time and
// why they moved, and the two clocks of a save.
//
// Tiers are the review's sections with their parts. The lives of checkpoints come from the
// lifecycle policy on the planned clock (storage/save_lives.h): what `orrery agent lifecycle` would
// do without failures. The two clocks are the plan's: the time until the job computes again, and
// the time until a copy survives the loss of the node that wrote it.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::report {

// Most saves in a drawing.
inline constexpr int kMostSaves = 16;

// `workload` is the name of a run that saves; empty: the first. Fails with "storage.no-workload" if
// no such run has the name. A design without such runs has tiers only.
Result<std::string> storage_view_json(const review::Review& review, const std::string& workload);

}  // namespace orrery::report
