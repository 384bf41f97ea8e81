// The all-reduce kernel of a serving engine, captured in a graph: each rank reads its peers'
// buffers over the scale-up link, whole (one shot) or by shares that are gathered again (two
// shots).
//
//   t = alpha + min((n-1) S, 2 (n-1)/n S + sync rate) / rate,   rate = 0.65 of the link
// alpha 4.5 us on NVLink 4, 7 us on NVLink 5; sync 3 us. Read off vLLM 0.24's custom all-reduce on
// H100, H200 and B200 (2 to 8 ranks, 256 B to 1 GiB: within 15 %). The library's own collectives
// take over above some megabytes: callers take the lesser. Wrong beyond one scale-up domain.
#pragma once

#include "core/base/quantity.h"

namespace orrery::serving {

Seconds graph_all_reduce(Bytes buffer, int ranks, BytesPerSecond link, double link_generation);

}  // namespace orrery::serving
