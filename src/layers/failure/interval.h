// When to save: the checkpoint interval that minimises the loss to saves and failures.
//
// M is the job's mean time between failures, C the stall per save, R the restart time, tau the work
// between two saves; failures are exponential.
//   Young 1974        tau = sqrt(2 C M)
//   Daly 2006         tau = sqrt(2 C M) (1 + sqrt(C/2M)/3 + C/18M) - C      for C < 2M, else M
//   exact             tau = M x,  x + ln(1 - x) = -C/M   (the maximum of the efficiency below)
//   efficiency        tau / (M e^(R/M) (e^((tau + C)/M) - 1))
// The exact optimum does not depend on R, but the efficiency does. Wrong if failures cluster (a
// Weibull shape below 1, a whole rack at once) or if a save may itself fail.
#pragma once

#include "core/base/quantity.h"

namespace orrery::failure {

Seconds young_interval(Seconds save_stall, Seconds mtbf);
Seconds daly_interval(Seconds save_stall, Seconds mtbf);
Seconds exact_interval(Seconds save_stall, Seconds mtbf);

struct IntervalProblem {
  Seconds save_stall;
  Seconds mtbf;
  Seconds restart;
  Seconds drain;  // time until a save is safe elsewhere; the next may not begin before
};

enum class IntervalLimit { optimum, drain };

struct IntervalChoice {
  Seconds interval;
  // Drain: the optimum would be shorter than the drain.
  IntervalLimit limit = IntervalLimit::optimum;
  double efficiency = 0;
};

// Returns the exact optimum, or the drain if that is longer. The efficiency falls on both sides of
// its one maximum, so the nearest allowed interval is the best allowed one.
IntervalChoice choose_interval(const IntervalProblem& problem);

const char* to_text(IntervalLimit limit);

}  // namespace orrery::failure
