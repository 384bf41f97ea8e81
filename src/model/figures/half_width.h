// How far a figure may be off if its inputs bring no interval: one row per kind in half_widths.def.
//
//   low = value (1 - below)     high = value (1 + above)
// Latencies of a service have rows of another kind: a multiple of the service's own half-width,
// since a tail is less certain than a mean. A figure made of estimates takes theirs instead
// (base/estimate.h).
#pragma once

#include <string>
#include <string_view>

#include "core/base/estimate.h"
#include "model/figures/figure_kind.h"

namespace orrery::figures {

struct HalfWidth {
  FigureId id;
  double below;  // shares of the value
  double above;
  std::string_view source;  // "assumed: ..."
};
inline constexpr HalfWidth kHalfWidths[] = {
#define HALF_WIDTH(id, below, above, source) {FigureId::id, below, above, source},
#define WIDENED(id, times, source)
#include "model/figures/half_widths.def"
#undef HALF_WIDTH
#undef WIDENED
};

struct Widened {
  FigureId id;
  double times;
  std::string_view source;
};
inline constexpr Widened kWidened[] = {
#define HALF_WIDTH(id, below, above, source)
#define WIDENED(id, times, source) {FigureId::id, times, source},
#include "model/figures/half_widths.def"
#undef HALF_WIDTH
#undef WIDENED
};

// The row of a kind, which must have one.
const HalfWidth& half_width(FigureId id);
// The value with the interval of its row.
Estimate estimated(FigureId id, double value, Basis basis, std::string reference);
// The value with its row's multiple of `error`, the half-width of what it is made of; at most 90 %
// below.
Estimate widened(FigureId id, double value, double error, Basis basis, std::string reference);

}  // namespace orrery::figures
