// The share of wall time that becomes training after failures and saves.
//
//   tau / (M e^(R/M) (e^((tau + C)/M) - 1))      a restart may itself be interrupted
// An asynchronous save stalls the job only for the snapshot, but a failure loses work back to the
// last safe copy: `unsafe_window` (the drain) is added to the loss of a failure. Source: Daly 2006.
#pragma once

#include "core/base/quantity.h"

namespace orrery::failure {

struct EffectiveTimeInput {
  Seconds interval;    // tau
  Seconds save_stall;  // C
  Seconds mtbf;        // M
  Seconds restart;     // R: detection, replacement, reload, warm-up
  Seconds queue;       // wait for nodes to restart on; added to R
  Seconds unsafe_window;
};

double exact_efficiency(const EffectiveTimeInput& in);

// How the time divides, as shares that sum to 1. The losses are first-order shares scaled to match
// the exact efficiency, so that the parts add up to the whole.
struct TimeShares {
  double productive = 0;
  double saving = 0;
  double lost_work = 0;
  double restarting = 0;
};
TimeShares time_shares(const EffectiveTimeInput& in);

}  // namespace orrery::failure
