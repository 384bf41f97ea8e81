// One row's miss, taken apart: the parts of the predicted step beside the time that the row
// implies.
//
// A measured step says one number, so which part is off cannot be read off it. What can be said is
// how much longer or shorter each part alone would have to be to explain the whole difference: a
// part that would have to be negative, or ten times as long, is not the one.
#pragma once

#include <string>
#include <string_view>

#include "study/score/score.h"

namespace orrery::score {

Result<std::string> explain_training_row(const CsvTable& table, const ScoreInputs& inputs,
                                         std::string_view id);

}  // namespace orrery::score
