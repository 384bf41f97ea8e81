// What an answer hangs on, as a drawing: one bar an input, from the answer with it low to the
// answer with it high, widest first.
//
// The SVG stands alone and also fits into a page: its text has the colour of what is around it, so
// that it is read on light and dark paper.
#pragma once

#include <string>

#include "layers/cost/sensitivity.h"
#include "model/figures/figure.h"

namespace orrery::report {

std::string tornado_svg(const cost::Tornado& t, figures::Unit unit);

}  // namespace orrery::report
