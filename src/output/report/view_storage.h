// The storage of a design for drawing: its tiers, where the checkpoints of a run are over time and
// why they moved, and the two clocks of a save.
//
// Tiers are the review's sections with what they are made of. The lives of checkpoints are the
// lifecycle policy on the planned clock (storage/save_lives.h): what `orrery agent lifecycle` would
// do where nothing fails. The two clocks are the plan's: until the job computes again, and until a
// copy outlives the node that wrote it.
#pragma once

#include <string>

#include "core/base/diagnostic.h"
#include "plan/review/stages.h"

namespace orrery::report {

// Saves of a picture; more are no picture.
inline constexpr int kMostSaves = 16;

// `workload` is a run that saves, by name; empty: the first. Faults: "storage.no-workload" for a
// name that no such run has. A design without one has tiers alone.
Result<std::string> storage_view_json(const review::Review& review, const std::string& workload);

}  // namespace orrery::report
