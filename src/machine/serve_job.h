// A service of the design as a question to the serving model: whose requests, how long, on which
// replica. plan/ answers it in closed form and twin/ runs it in time; both start here.
//
// Built-in mixes: chat and code are the medians and 99th percentiles of the Azure 2023 conversation
// and code traces; summary is assumed. Lengths that the design gives are means, and every request
// then has them.
#pragma once

#include <optional>
#include <string>

#include "design/design.h"
#include "machine/machine.h"
#include "machine/predict_serving.h"

namespace orrery::machine {

serving::RequestShape request_of(const design::Serve& serve);

struct ServeLengths {
  serving::LengthLaw prompt;
  serving::LengthLaw output;
};
ServeLengths lengths_of(const design::Serve& serve);

// With its tensor split left to the caller.
ServingQuery serving_query(const design::Serve& serve, const catalog::ModelShape& model,
                           const catalog::Accelerator& accelerator,
                           const serving::RequestShape& request);

}  // namespace orrery::machine
