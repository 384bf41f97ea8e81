// The fit behind data/calibration/training_*.csv.
//
// Which parameters move: the rows of the three files whose `origin` is fitted; what a framework is
// known to do (bytes it keeps, overlaps it lacks) stays. Where each starts and how firmly it is
// held: data/calibration/training_priors.csv, one row a parameter for all families, accelerators
// and releases alike. Every fit starts at the priors, so a fold that leaves rows out knows nothing
// of them. A first fit says how far rows decide each parameter; what families (and accelerators of
// one generation) have in common by it becomes their prior in a second: a family or an accelerator
// without rows stands where the others are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/words.h"
#include "study/score/score.h"
#include "study/score/training_fit.h"

namespace orrery::score {

// Where the value of a row of the three files comes from: the column `origin`. The column `source`
// tells it to people and decides nothing.
enum class ParameterOrigin {
  known,    // read, measured or assumed: a fit leaves it alone
  fitted,   // moved by a fit
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

// In the order of the files. Faults: "calibration.origin", "calibration.prior".
Result<std::vector<TrainingFitParameter>> training_fit_parameters(
    const catalog::Knowledge& knowledge);

// The shipped models with these parameters fitted anew to the rows given.
machine::Models refit_training(const machine::Models& shipped, const std::vector<TrainingRow>& rows,
                               const std::vector<TrainingFitParameter>& parameters);

// The shipped models adjusted to a reader's own few rows: every parameter is held where it is
// shipped, more firmly than a fit holds it at its prior, so rows move what they can tell and
// nothing else moves at all.
machine::Models adjust_training(const machine::Models& shipped,
                                const std::vector<TrainingRow>& rows,
                                const std::vector<TrainingFitParameter>& parameters);

// Rows that count and have a measured value.
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
