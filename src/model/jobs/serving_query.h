// Turns a service of the design into a query for the serving model.
#pragma once

#include "model/jobs/predict_serving.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

// Leaves the tensor split to the caller.
ServingQuery serving_query(const machine::Models& models, const design::Serve& serve,
                           const catalog::ModelShape& model, const machine::Fleet& fleet,
                           const serving::RequestShape& request);

}  // namespace orrery::jobs
