// Megatron-LM's command-line arguments as a query: a launch script's own words in, a prediction
// out.
//
// Read from free text (a script, a log line): "--num-layers 96 --hidden-size 12288 ...". What is
// not about the model, the batch, the precision or the layout is ignored; what is missing and
// needed is a Diagnostic. Names and defaults: megatron/training/arguments.py of Megatron-LM.
#pragma once

#include <string_view>

#include "model/jobs/predict_training.h"

namespace orrery::emit {

// Everything but accelerator, device count and network, which no argument tells.
Result<jobs::TrainingQuery> query_from_megatron(std::string_view text, const std::string& file);

}  // namespace orrery::emit
