// Fits the parameters of training estimates to published rows: Gauss-Newton steps on the logarithms
// of parameters, damped (Marquardt), with slopes taken by a small change of each.
//
//   loss = mean over rows of rho(ln(predicted / measured))
//        + sum over parameters of (ln(value / prior) / width)^2 / rows
//   rho(x) = x^2 / (|x| + c): a square for small errors, the error itself for large ones
// The second term keeps a parameter at its prior unless rows support another value, so a few rows
// cannot move it far. Only parameters that the caller names move. Deterministic: the same rows and
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
  std::string name;  // name of the field; empty for a release
  double prior = 1;
  double width = 0.2;  // of ln(value / prior)
  double least = 0;
  double most = 0;
  double apart = 1;  // its own prior over the common one, if something is known of it alone
};

struct FitOptions {
  int rounds = 10;
  double probe = 0.01;          // change of ln(value) over which a slope is taken
  double first_damping = 0.05;  // share of the diagonal
  double largest_step = 0.5;    // change of ln(value) in one round
  double enough = 1e-4;         // a round that lowers the loss by less than this share is the last
  double knee = 0.08;           // c of rho
  bool with_decided = false;    // asks for FitReport::decided
};

struct FitReport {
  double loss_before = 0;
  double loss_after = 0;
  int evaluations = 0;
  // For each parameter, how far rows decide it: 0 if no row affects it and it keeps its prior,
  // close to 1 if the prior no longer matters.
  std::vector<double> decided;
};

// Returns the value that a parameter names; nullptr if the calibration has no such subject or
// field.
double* fitted_field(training::TrainingCalibration& calibration,
                     const TrainingFitParameter& parameter);

// Returns true if the row is of the framework, accelerator or release that the parameter belongs
// to.
bool fit_touches(const TrainingFitParameter& parameter, const TrainingRow& row);

// Rows with an open layout keep the layout that the starting parameters choose.
FitReport fit_training(const std::vector<TrainingRow>& rows,
                       const std::vector<TrainingFitParameter>& parameters,
                       const FitOptions& options, machine::Models& models);

}  // namespace orrery::score
