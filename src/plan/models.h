// The fitted parameters that a review needs beside the catalog, loaded once.
#pragma once

#include "catalog/catalog.h"
#include "fabric/collective_parameters.h"
#include "plan/predict_training.h"

namespace orrery {

struct Models {
  TrainingModels training;
  CollectiveParameters collectives;
};

// From the files in the binary. `catalog` must outlive the result.
Result<Models> load_models(const Catalog& catalog);

}  // namespace orrery
