// Why a run and the review may give different values for a figure with one meaning: how their
// methods differ, one sentence per row of the table of figures where it is known.
#pragma once

#include <string_view>

#include "model/figures/figure_kind.h"

namespace orrery::figures {

// Empty if the reason is not known.
std::string_view because(FigureId id);

}  // namespace orrery::figures
