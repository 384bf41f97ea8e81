// The lines between sites: the path that data takes from one site to another, and its rate.
//
//   path = the lines with the least total round trip; its rate is that of its slowest line
// The design gives the lines (fabric.wan); if no chain of lines joins two sites there is no path,
// and the review says so. Wrong if other traffic shares a line, and for one stream over a long
// line, whose rate is its window over the round trip.
#pragma once

#include <optional>
#include <string_view>

#include "model/design/design.h"

namespace orrery::machine {

struct WanPath {
  BytesPerSecond rate;      // per direction
  Seconds latency;          // round trip
  std::size_t slowest = 0;  // index of the slowest of the design's lines
};

std::optional<WanPath> wan_between(const design::Design& design, std::string_view from,
                                   std::string_view to);

// The path between a fleet and a tier that it uses.
struct Crossing {
  bool leaves_site = false;
  std::optional<WanPath> path;  // none if no line leads there

  bool leads_there() const { return !leaves_site || path; }
  // Returns the rate, limited to what the line carries.
  BytesPerSecond capped(BytesPerSecond rate) const { return path ? min(rate, path->rate) : rate; }
  Seconds latency() const { return path ? path->latency : Seconds(0); }
};

}  // namespace orrery::machine
