// The fitted parameters that a review needs beside the catalog, loaded once.
#pragma once

#include <vector>

#include "catalog/catalog.h"
#include "fabric/collective_parameters.h"
#include "machine/predict_training.h"
#include "machine/tier.h"

namespace orrery {

struct Models {
  TrainingModels training;
  CollectiveParameters collectives;
  std::vector<TierMeasurement> tiers = {};  // of the reader's own storage; none as shipped
};

// From the files in the binary. `catalog` must outlive the result.
Result<Models> load_models(const Catalog& catalog);

}  // namespace orrery
