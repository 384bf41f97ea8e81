// Fits the parameters of training estimates to published rows: Gauss-Newton steps on the logarithms
// of parameters, damped (Marquardt), with slopes taken by a small change of each.
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

#include "core/base/words.h"
#include "model/jobs/predict_training.h"
#include "study/score/training_rows.h"

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
  double apart = 1;  // its prior over that of all others, where something is known of it alone
};

struct FitOptions {
  int rounds = 10;
  double probe = 0.01;          // change of ln(value) that a slope is taken over
  double first_damping = 0.05;  // of the diagonal
  double largest_step = 0.5;    // of ln(value) in one round
  double enough = 1e-4;         // a round that lowers the loss by a smaller share is the last
  double knee = 0.08;           // c of rho
  bool with_told = false;       // FitReport::told is asked for
};

struct FitReport {
  double loss_before = 0;
  double loss_after = 0;
  int evaluations = 0;
  // Of each parameter, how far rows decide it: 0 where none speaks of it and it stands at its
  // prior, towards 1 where the prior no longer matters.
  std::vector<double> told;
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
