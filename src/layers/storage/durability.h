// How likely stored data is to survive a year: copies or an erasure code k + m on drives that fail
// and are rebuilt, on servers that are lost as a whole.
//
//   state i = shards of a group that are gone, 0..m; loss beyond m. From i:
//     to i + 1      (n - i) lambda            a drive fails
//     to i + s      (n / s) sigma             a server with s shards of the group is lost for good
//     to i - 1      i / rebuild               each lost shard is rebuilt by itself, in parallel
//     to loss       i / rebuild x u  (i = m)  a rebuild without redundancy meets a sector that
//                                             cannot be read: u = 1 - exp(-object x 8 x ber)
//   MTTDL = 1 / (flow into loss of the chain that begins anew after each loss)
//   P(loss in a year) = 1 - exp(-1 y / MTTDL),   nines = -log10 P
// The stationary flow is found by Grassmann, Taksar and Heyman's elimination (1985), which only
// adds, multiplies and divides: twenty nines are as exact as two. Checked against the closed form
// of a mirrored pair and Backblaze's published 17 + 3 (11 nines at 0.405 % a year, 6.5 days).
//
// Where it is wrong: failures are exponential, so that batches of bad drives, firmware, fire,
// theft and operators are not in it. Beyond ten nines those are what loses data; a figure there
// says only that drives will not.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

struct DurabilityQuestion {
  int shards = 1;                 // n = k + m, or copies
  int losses = 0;                 // m, or copies - 1: survived
  PerSecond drive_failures;       // of one drive
  Seconds rebuild;                // of one drive's shards, from failure to whole again
  PerSecond server_losses;        // of one server with all its drives; 0: not counted
  int shards_on_server = 1;       // of one group, on the fullest server
  Bytes rebuild_reads;            // of the data that is asked about; 0: every sector can be read
  double bit_error_rate = 1e-15;  // a bit read, as drives are specified
};

struct Durability {
  Seconds mean_time_to_loss;  // of one group
  double loss_a_year = 0;     // of an object: its group
  double nines = 0;
};

// Where a lost server takes more shards than survive, that is what loses data.
Durability durability_of(const DurabilityQuestion& question);

// From a failure to whole again: it is noticed, then `bytes` are written by as many drives as
// take part, each giving `share` of its rate to it while it serves.
struct RebuildQuestion {
  Bytes bytes;
  BytesPerSecond drive;
  int drives = 1;      // that write: 1 for a spare, many where shards are spread
  double share = 0.2;  // of a drive's rate; assumption: what keeps the latency of others
  Seconds notice = minutes(10);
};
Seconds rebuild_time(const RebuildQuestion& question);

}  // namespace orrery::storage
