// The parts of the plan that a training run needs, the same under Slurm and under Kubernetes:
// environment variables, and the time that it gets to save before it is stopped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/review/train_view.h"

namespace orrery::emit {

struct RunVariable {
  std::string_view name;
  std::string value;
};
// Returns the layout, the step and, if the plan saves, how often, how and to which tiers. The names
// are an interface (docs/guide/emit.md), because users' training scripts read them.
std::vector<RunVariable> run_variables(const review::TrainView& train);

Seconds time_to_save(const review::TrainView& train);

}  // namespace orrery::emit
