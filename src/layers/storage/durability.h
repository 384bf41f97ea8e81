// The probability that stored data survives a year: copies, or an erasure code k + m, on drives
// that fail and are rebuilt, in servers that may be lost whole.
//
//   state i = number of lost shards of a group, 0..m; loss beyond m. From i:
//     to i + 1      (n - i) lambda            a drive fails
//     to i + s      (n / s) sigma             a server with s shards of the group is lost for good
//     to i - 1      i / rebuild               each lost shard is rebuilt separately, in parallel
//     to loss       i / rebuild x u  (i = m)  a rebuild without redundancy meets an unreadable
//                                             sector: u = 1 - exp(-object x 8 x ber)
//   MTTDL = 1 / (flow into loss of the chain that restarts after each loss)
//   P(loss in a year) = 1 - exp(-1 y / MTTDL),   nines = -log10 P
// The stationary flow is found by the elimination of Grassmann, Taksar and Heyman (1985), which
// only adds, multiplies and divides, so twenty nines are as exact as two. Checked against the
// closed form of a mirrored pair and Backblaze's published 17 + 3 (11 nines at 0.405 % per year,
// 6.5 days).
//
// Wrong: failures are exponential, so batches of bad drives, firmware, fire, theft and operator
// errors are not included. Beyond ten nines those are the real causes of loss; such a figure only
// says that independent drive failures will not lose data.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

struct DurabilityQuestion {
  int shards = 1;            // n = k + m, or copies
  int losses = 0;            // m, or copies - 1: shards that may be lost
  PerSecond drive_failures;  // per drive
  Seconds rebuild;           // time to restore one drive's shards after a failure
  PerSecond server_losses;   // per server with all its drives; 0: not counted
  int shards_on_server = 1;  // shards of one group on the fullest server
  // Bytes of the object read in a rebuild; 0: every sector is readable.
  Bytes rebuild_reads;
  double bit_error_rate = 1e-15;  // per bit read, as in drive specifications
};

struct Durability {
  Seconds mean_time_to_loss;  // of one group of shards
  double loss_a_year = 0;     // probability for an object, through its group
  double nines = 0;
};

// If a lost server takes more shards than may be lost, that causes the data loss.
Durability durability_of(const DurabilityQuestion& question);

// Time from a failure until restored: detection, then `bytes` are written by the participating
// drives, each giving `share` of its rate to it while it serves requests.
struct RebuildQuestion {
  Bytes bytes;
  BytesPerSecond drive;
  int drives = 1;  // drives that write: 1 for a spare, many if shards are spread
  // Share of a drive's rate; assumption: keeps the latency of other requests acceptable.
  double share = 0.2;
  Seconds notice = minutes(10);
};
Seconds rebuild_time(const RebuildQuestion& question);

}  // namespace orrery::storage
