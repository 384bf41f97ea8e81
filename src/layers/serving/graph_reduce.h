// A serving engine's own all-reduce kernel, captured in a graph: each rank reads its peers' buffers
// over the scale-up link, either whole (one shot), or in shares that are then gathered (two shots).
//
//   t = alpha + min((n-1) S, 2 (n-1)/n S + sync rate) / rate,   rate = 0.65 of the link
// alpha is 4.5 us on NVLink 4, 7 us on NVLink 5; sync is 3 us. Measured on vLLM 0.24's custom
// all-reduce on H100, H200 and B200 (2 to 8 ranks, 256 B to 1 GiB: within 15 %). Above some
// megabytes the library's own collectives are faster: callers take the minimum. Wrong beyond one
// scale-up domain.
#pragma once

#include "core/base/quantity.h"

namespace orrery::serving {

Seconds graph_all_reduce(Bytes buffer, int ranks, BytesPerSecond link, double link_generation);

}  // namespace orrery::serving
