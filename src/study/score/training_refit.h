// The fit behind data/calibration/training_*.csv.
//
// Which parameters move: the rows of the three files whose `origin` is fitted; what a framework is
// known to do (bytes that it keeps, overlaps that it lacks) is not fitted. The starting values and
// how firmly they hold: data/calibration/training_priors.csv, one row per parameter for all
// families, accelerators and releases. Every fit starts at the priors, so a fold that leaves rows
// out has no information from them. A first fit shows how far rows decide each parameter; what
// families (and accelerators of one generation) have in common becomes their prior in a second fit:
// a family or an accelerator without rows gets the values of the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/words.h"
#include "study/score/score.h"
#include "study/score/training_fit.h"

namespace orrery::score {

// The origin of the value in a row of the three files: the column `origin`. The column `source`
// explains it to people and decides nothing.
enum class ParameterOrigin {
  known,    // read, measured or assumed: a fit does not change it
  fitted,   // changed by a fit
  carried,  // that of the row's `relative`, an accelerator that has rows of its own
  width,    // 80 % half-width of the framework's rows
  pooled    // what the fitted families or accelerators have in common
};
inline constexpr Word<ParameterOrigin> kParameterOriginWords[] = {
    {ParameterOrigin::known, "known"},     {ParameterOrigin::fitted, "fitted"},
    {ParameterOrigin::carried, "carried"}, {ParameterOrigin::width, "width"},
    {ParameterOrigin::pooled, "pooled"},
};
constexpr WordTable<ParameterOrigin> words_of(ParameterOrigin) { return kParameterOriginWords; }

// Returns the parameters in the order of the files. Faults: "calibration.origin",
// "calibration.prior".
Result<std::vector<TrainingFitParameter>> training_fit_parameters(
    const catalog::Knowledge& knowledge);

// Returns the shipped models with these parameters fitted again to the given rows.
machine::Models refit_training(const machine::Models& shipped, const std::vector<TrainingRow>& rows,
                               const std::vector<TrainingFitParameter>& parameters);

// Returns the shipped models adjusted to a user's own few rows: every parameter is held at its
// shipped value, more firmly than a fit holds it at its prior, so rows move only what they can
// decide.
machine::Models adjust_training(const machine::Models& shipped,
                                const std::vector<TrainingRow>& rows,
                                const std::vector<TrainingFitParameter>& parameters);

// Returns the rows that count and have a measured value.
std::vector<TrainingRow> rows_to_fit(const CsvTable& table, const ScoreInputs& inputs);

// The calibration files with the values that these rows give; path below data/ and text.
struct CalibrationFile {
  std::string path;
  std::string text;
};
enum class FitFrom { priors, shipped };
Result<std::vector<CalibrationFile>> refitted_files(const CsvTable& table,
                                                    const ScoreInputs& inputs,
                                                    std::string_view table_name,
                                                    FitFrom from = FitFrom::priors);

}  // namespace orrery::score
