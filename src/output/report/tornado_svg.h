// The sensitivity of an answer as a drawing: one bar per input, from the answer with a low input to
// the answer with a high input, widest first.
//
// The SVG is complete by itself and also fits into a page: its text takes the colour of the text
// around it, so that it is readable on light and on dark paper.
#pragma once

#include <string>

#include "layers/cost/sensitivity.h"
#include "model/figures/figure.h"

namespace orrery::report {

std::string tornado_svg(const cost::Tornado& t, figures::Unit unit);

}  // namespace orrery::report
