// The share of wall time that becomes training: what failures and saves leave of it.
//
//   exact         tau / (M e^(R/M) (e^((tau + C)/M) - 1)): a restart may itself be struck
//   safe restart  tau / ((M + R) (e^((tau + C)/M) - 1)): nothing strikes during a restart
//   first order   1 - C/tau - (tau/2 + R + queue)/M     (ETTR of Kokolis et al., arXiv 2410.21680)
// An asynchronous save stalls for the snapshot only, but work is lost back to the last safe copy:
// `unsafe_window` (the drain) is added to what a failure loses. Source of the exponential forms:
// Daly 2006. Wrong where R is near M: there the first-order form turns negative and is cut at 0.
#pragma once

#include "base/quantity.h"

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
double safe_restart_efficiency(const EffectiveTimeInput& in);
double first_order_ettr(const EffectiveTimeInput& in);

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
