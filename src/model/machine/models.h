// What the layers made of the tables in Knowledge: every parameter that a machine, a review or a
// run needs, each table parsed once by its layer's reader.
//
// One object is read at the start (cli/, server/, a test) and passed down. It owns the Knowledge
// that it was read from, so it can be copied and kept; pointers into the catalog are valid as long
// as any copy exists.
#pragma once

#include <memory>
#include <vector>

#include "core/catalog/knowledge.h"
#include "layers/compute/calibration.h"
#include "layers/engines/engine.h"
#include "layers/fabric/collective_parameters.h"
#include "layers/failure/causes.h"
#include "layers/failure/rates.h"
#include "layers/storage/dataset.h"
#include "layers/storage/guidance.h"
#include "layers/training/calibration.h"
#include "model/machine/tier.h"

namespace orrery::machine {

struct Models {
  std::shared_ptr<const catalog::Knowledge> knowledge;
  compute::Calibration kernels;
  training::TrainingCalibration training;
  fabric::CollectiveParameters collectives;
  std::vector<failure::NodeFailureRate> failure_rates;
  std::vector<failure::FaultCause> fault_causes;
  std::vector<storage::DatasetKind> dataset_kinds;
  std::vector<storage::StorageGuidance> storage_guidance;
  std::vector<engines::Engine> engines;
  std::vector<engines::TuningRow> tunings;
  std::vector<TierMeasurement> tiers;  // measurements of the user's own storage; none as shipped

  const catalog::Catalog& catalog() const { return knowledge->catalog; }
};

// Returns the models, or every fault of every table at once.
Result<Models> read_models(std::shared_ptr<const catalog::Knowledge> knowledge);
// Reads the models from the files of data/, as embedded_files() has them.
Result<Models> load_models(std::span<const catalog::EmbeddedFile> files);

// Reads kernel parameters that `orrery calibrate` wrote for the user's own machine. A row that
// names no accelerator or parameter, or has no number, is a fault, as in the shipped files.
Result<std::vector<compute::CalibrationValue>> read_kernel_values(const CsvTable& table);

}  // namespace orrery::machine
