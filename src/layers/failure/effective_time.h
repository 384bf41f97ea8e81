// The share of wall time that becomes training: what failures and saves leave of it.
//
//   tau / (M e^(R/M) (e^((tau + C)/M) - 1))      a restart may itself be struck
// An asynchronous save stalls for the snapshot only, but work is lost back to the last safe copy:
// `unsafe_window` (the drain) is added to what a failure loses. Source: Daly 2006.
#pragma once

#include "core/base/quantity.h"

namespace orrery::failure {

struct EffectiveTimeInput {
  Seconds interval;    // tau
  Seconds save_stall;  // C
  Seconds mtbf;        // M
  Seconds restart;     // R: detection, replacement, reload, warm-up
  Seconds queue;       // wait for a place to restart in; adds to R
  Seconds unsafe_window;
};

double exact_efficiency(const EffectiveTimeInput& in);

// Where the time goes, as shares that sum to 1: first-order shares of the losses scaled onto the
// exact efficiency, so that the parts explain the whole.
struct TimeShares {
  double productive = 0;
  double saving = 0;
  double lost_work = 0;
  double restarting = 0;
};
TimeShares time_shares(const EffectiveTimeInput& in);

}  // namespace orrery::failure
