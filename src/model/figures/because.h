// Why a run and the review may give a figure of one meaning different values: how their methods
// differ, one sentence per row of the table of figures where it is known.
#pragma once

#include <string_view>

#include "model/figures/figure_kind.h"

namespace orrery::figures {

// Empty if nobody has found out.
std::string_view because(FigureId id);

}  // namespace orrery::figures
