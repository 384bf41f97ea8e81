#include "model/figures/half_width.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace orrery::figures {

const HalfWidth& half_width(FigureId id) {
  const HalfWidth* row = std::ranges::find(kHalfWidths, id, &HalfWidth::id);
  assert(row != std::end(kHalfWidths));
  return *row;
}

Estimate estimated(FigureId id, double value, Basis basis, std::string reference) {
  const HalfWidth& row = half_width(id);
  return within(value, row.below, row.above, basis, std::move(reference));
}

Estimate widened(FigureId id, double value, double error, Basis basis, std::string reference) {
  const Widened* row = std::ranges::find(kWidened, id, &Widened::id);
  assert(row != std::end(kWidened));
  const double width = error * row->times;
  return within(value, std::min(0.9, width), width, basis, std::move(reference));
}

}  // namespace orrery::figures
