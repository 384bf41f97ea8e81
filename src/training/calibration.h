// The parameters of training estimates: per framework family, per accelerator, one factor a
// release.
//
// data/calibration/training_frameworks.csv, training_accelerators.csv and training_releases.csv
// hold one value a row with the rows that fixed it; training_models.csv names the models of those
// rows. A framework that no table names gets the family
// "default"; a release that none names gets its family's factor (1). Nothing is per model or per
// row.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "catalog/knowledge.h"
#include "training/framework.h"

namespace orrery::training {

// Times of kernels inside a training step over compute's times of the same kernels alone: two
// matrices in a row find the clock lower and the cache fuller than a benchmark does.
struct AcceleratorTuning {
  std::string id;
  double matrix = 1;  // 16-bit products
  double matrix_8bit = 1;
  double matrix_4bit = 1;
  double attention = 1;
  double passes = 1;
  double pass_energy = 1;  // energy of passes over memory: they compute too, a copy does not
  double scaleup = 1;      // collective time inside a domain
  double network = 1;      // collective time across domains
  double error = 0.1;      // half-width that an accelerator adds, as a fraction
};

struct ReleaseFactor {
  std::string framework;
  std::string release;
  double factor = 1;  // FrameworkModel::overhead_factor
};

struct TrainingCalibration {
  std::vector<FrameworkModel> frameworks;
  std::vector<AcceleratorTuning> accelerators;
  std::vector<ReleaseFactor> releases;
  std::vector<std::string> models;  // that the fitted rows are of; only intervals ask

  // "default" where unknown; the release's factor applied where it is known.
  FrameworkModel framework(std::string_view id, std::string_view release) const;
  bool knows_framework(std::string_view id) const;
  AcceleratorTuning accelerator(std::string_view id) const;
  double release_factor(std::string_view framework, std::string_view release) const;
  bool knows_release(std::string_view framework, std::string_view release) const;
  bool saw_model(std::string_view id) const;
};

// A parameter as calibration files and the fitter name it.
using ParameterField = double*;
ParameterField framework_field(FrameworkModel& f, std::string_view parameter);
ParameterField accelerator_field(AcceleratorTuning& a, std::string_view parameter);

Result<TrainingCalibration> read_training_calibration(const catalog::Knowledge& knowledge);

}  // namespace orrery::training
