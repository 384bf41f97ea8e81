// Takes one row's error apart: the parts of the predicted step compared with the time that the row
// implies.
//
// A measured step is a single number, so it does not show which part is wrong. But it shows how
// much longer or shorter each part alone would have to be to explain the whole difference: a part
// that would have to be negative, or ten times as long, is not the cause.
#pragma once

#include <string>
#include <string_view>

#include "study/score/score.h"

namespace orrery::score {

Result<std::string> explain_training_row(const CsvTable& table, const ScoreInputs& inputs,
                                         std::string_view id);

}  // namespace orrery::score
