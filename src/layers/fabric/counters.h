// Reads and judges switch counters: are packets ECN-marked under load, is a pause storm spreading?
//
// CSV, one row per port and interval:
//   switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops
// peer is the name of the switch or node at the far end; pause_* count PFC frames of the RDMA
// class, ecn_marked its marked packets, drops its discarded ones (not tail drops of other queues).
// Rules (thresholds are assumptions, named below):
//   drops in a lossless class            -> headroom or PFC is wrong on that port
//   load above 80 % and no marks         -> ECN is off, or its thresholds are never reached
//   pauses sent without marks            -> PFC acts before ECN: thresholds are in the wrong order
//   a port is paused for long, and the switch behind it pauses others -> a storm is spreading
#pragma once

#include "core/base/csv.h"
#include "core/base/diagnostic.h"

namespace orrery::fabric {

inline constexpr double kBusyLoad = 0.8;
inline constexpr double kStormPausesPerSecond = 10'000;  // about 5 % of the time at 400 Gb/s

Diagnostics judge_counters(const CsvTable& counters);

}  // namespace orrery::fabric
