// Megatron-LM's command-line arguments as a query: the words of a launch script in, a prediction
// out.
//
// Reads free text (a script, a log line): "--num-layers 96 --hidden-size 12288 ...". Ignores
// everything that does not concern the model, the batch, the precision or the layout. A required
// argument that is missing is a Diagnostic. Names and defaults: megatron/training/arguments.py of
// Megatron-LM.
#pragma once

#include <string_view>

#include "model/jobs/predict_training.h"

namespace orrery::emit {

// Returns everything except accelerator, device count and network, which no argument states.
Result<jobs::TrainingQuery> query_from_megatron(std::string_view text, const std::string& file);

}  // namespace orrery::emit
