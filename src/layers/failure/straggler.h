// A synchronous step takes as long as its slowest rank.
//
//   E[max of n] = mean + deviation * e(n),   e(n) = integral of 1 - Phi(z)^n - [z < 0] dz
//   slow nodes:  1 + (f - 1) (1 - (1 - p)^n)  for a share p of ranks that are f times slower
// Assumes normal, independent step times. Real tails are heavier (garbage collection, a throttled
// clock), so the first form is a lower bound; use deviations measured in a trace if you have them.
#pragma once

namespace orrery::failure {

// Returns e(n), the expected maximum of n standard normal values: 0 for n = 1, 1.54 for 10, 3.24
// for 1000.
double expected_max_normal(double n);

struct StepSpread {
  double ranks = 1;
  double deviation = 0;    // of a rank's step time, relative to its mean
  double slow_share = 0;   // share of ranks that are slow
  double slow_factor = 1;  // their step time relative to the others'
};

// Returns the step time relative to the mean rank's; 1 for a perfect machine.
double straggler_factor(const StepSpread& spread);

}  // namespace orrery::failure
