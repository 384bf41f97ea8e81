// Finds a model by its name in published rows: by its whole name, by the part after the slash, by
// its words ("LLaMA v3.1 70B", "Mixtral-8x7B-v0.1"), or from `--models DIR`.
#pragma once

#include <optional>
#include <string_view>

#include "study/score/score.h"

namespace orrery::score {

std::optional<catalog::ModelShape> model_of(std::string_view name, const ScoreInputs& inputs);

}  // namespace orrery::score
