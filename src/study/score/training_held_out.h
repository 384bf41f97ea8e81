// How training estimates do on data that they have not seen: every row is predicted by a fit
// without rows of the same model, source, accelerator or release.
//
// The width that something unseen adds to an interval is taken from these rows (a split conformal
// argument with whole groups as the splits): the half-width w with which 80 % of the left-out rows
// of its class are within sqrt(seen^2 + w^2).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/words.h"
#include "study/score/score.h"
#include "study/score/training_refit.h"

namespace orrery::score {

enum class LeaveOut { model, source, accelerator, release, framework };
inline constexpr Word<LeaveOut> kLeaveOutWords[] = {
    {LeaveOut::model, "model"},         {LeaveOut::source, "source"},
    {LeaveOut::accelerator, "gpu"},     {LeaveOut::release, "release"},
    {LeaveOut::framework, "framework"},
};
constexpr WordTable<LeaveOut> words_of(LeaveOut) { return kLeaveOutWords; }

// `progress` is called with the folds done and their number.
using FoldProgress = std::function<void(int done, int all)>;
// Rows without a release are in no fold of releases, and left out of its score.
Result<Score> score_training_held_out(const CsvTable& table, const ScoreInputs& inputs, LeaveOut by,
                                      const FoldProgress& progress = {});

// Returns the results in sample and left out by model, source, accelerator and release:
// docs/accuracy.md's table.
Result<std::string> held_out_markdown(const CsvTable& table, const ScoreInputs& inputs,
                                      const FoldProgress& progress = {});

// Returns data/calibration/training_intervals.csv as these rows give it.
Result<CalibrationFile> fitted_intervals(const CsvTable& table, const ScoreInputs& inputs,
                                         const FoldProgress& progress = {});

}  // namespace orrery::score
