// What a training run is told of its plan, the same under Slurm and under Kubernetes: variables of
// its environment, and the time that it gets to save before it must go.
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
// The layout, the step and, where the plan saves, how often, how and to which tiers. The names are
// an interface (docs/guide/emit.md): the scripts of the people who train read them.
std::vector<RunVariable> run_variables(const review::TrainView& train);

Seconds time_to_save(const review::TrainView& train);

}  // namespace orrery::emit
