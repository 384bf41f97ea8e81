// Fits the parameters of training estimates to published rows: coordinate search, no derivatives.
//
//   loss = mean over rows of rho(ln(predicted / measured))
//        + sum over parameters of (ln(value / prior) / width)^2 / rows
//   rho(x) = x^2 / (|x| + c): a square for small errors, the error itself for large ones
// The second term holds a parameter at its prior unless rows ask for another value, so few rows
// cannot bend it far. Only parameters that the caller names move. Deterministic: the same rows and
// priors give the same parameters.
#pragma once

#include <string>
#include <vector>

#include "base/words.h"
#include "machine/predict_training.h"
#include "score/training_rows.h"

namespace orrery::score {

enum class FitSubject { framework, accelerator, release };
inline constexpr Word<FitSubject> kFitSubjectWords[] = {
    {FitSubject::framework, "framework"},
    {FitSubject::accelerator, "accelerator"},
    {FitSubject::release, "release"},
};
constexpr WordTable<FitSubject> words_of(FitSubject) { return kFitSubjectWords; }

struct TrainingFitParameter {
  FitSubject subject = FitSubject::framework;
  std::string id;    // framework or accelerator; "framework release" for a release
  std::string name;  // of the field; empty for a release
  double prior = 1;
  double width = 0.2;  // of ln(value / prior)
  double least = 0;
  double most = 0;
};

struct FitOptions {
  int sweeps = 32;
  double first_step = 0.2;  // of ln(value)
  double shrink = 0.88;     // of the step, each sweep: the last is 0.004
  double knee = 0.08;       // c of rho
};

struct FitReport {
  double loss_before = 0;
  double loss_after = 0;
  int evaluations = 0;
};

// The value that a parameter names; nullptr where the calibration has no such subject or field.
double* fitted_field(training::TrainingCalibration& calibration,
                     const TrainingFitParameter& parameter);

// The row is of the framework, accelerator or release that the parameter belongs to.
bool fit_touches(const TrainingFitParameter& parameter, const TrainingRow& row);

// Rows whose layout is open keep the layout that the starting parameters choose.
FitReport fit_training(const std::vector<TrainingRow>& rows,
                       const std::vector<TrainingFitParameter>& parameters,
                       const FitOptions& options, machine::Models& models);

}  // namespace orrery::score
