// How training estimates do on what they have not seen: every row predicted by a fit that saw no
// row of the same model, source, accelerator or release.
//
// The width that an unseen thing adds to an interval is read off these rows (a split conformal
// argument with whole groups as the splits): the half-width w with which 80 % of the left-out rows
// of its class lie within sqrt(seen^2 + w^2).
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

// `progress` is told folds done and their number.
using FoldProgress = std::function<void(int done, int all)>;
// Rows whose release is not told are in no fold of releases, and left out of its score.
Result<Score> score_training_held_out(const CsvTable& table, const ScoreInputs& inputs, LeaveOut by,
                                      const FoldProgress& progress = {});

// In sample and left out by model, source, accelerator and release: docs/accuracy.md's table.
Result<std::string> held_out_markdown(const CsvTable& table, const ScoreInputs& inputs,
                                      const FoldProgress& progress = {});

// data/calibration/training_intervals.csv as these rows give it.
Result<CalibrationFile> fitted_intervals(const CsvTable& table, const ScoreInputs& inputs,
                                         const FoldProgress& progress = {});

}  // namespace orrery::score
