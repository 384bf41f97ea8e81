// The lines between sites: which way data take from one site to another, and how fast.
//
//   path = the lines with the least round trip in sum; its rate is that of its slowest line
// Given by the design (fabric.wan); where no chain of lines joins two sites there is no path, and
// the review says so. Wrong where other traffic shares a line, and for one stream over a long line,
// whose rate is its window over the round trip.
#pragma once

#include <optional>
#include <string_view>

#include "model/design/design.h"

namespace orrery::machine {

struct WanPath {
  BytesPerSecond rate;      // per direction
  Seconds latency;          // round trip
  std::size_t slowest = 0;  // of the design's lines
};

std::optional<WanPath> wan_between(const design::Design& design, std::string_view from,
                                   std::string_view to);

// What lies between a fleet and a tier that it uses.
struct Crossing {
  bool leaves_site = false;
  std::optional<WanPath> path;  // none where no line leads there

  bool leads_there() const { return !leaves_site || path; }
  // At most what the line carries.
  BytesPerSecond capped(BytesPerSecond rate) const { return path ? min(rate, path->rate) : rate; }
  Seconds latency() const { return path ? path->latency : Seconds(0); }
};

}  // namespace orrery::machine
