// How long a host lives between two failures: Weibull, of which the exponential is shape 1.
//
//   P(life > t) = e^(-(t/eta)^k),   mean = eta Gamma(1 + 1/k)
//   m(T) = F(T) + integral over 0..T of m(T - s) dF(s)       failures within T, repaired as new
// k < 1: most fail early, and a fleet that is new at the run's beginning fails more often than its
// mean says (burn-in); k > 1: wear. m is the trapezoid of Xie (Commun. Stat. 18, 1989) on kSteps
// steps, and beyond kLongRun means T/mean + (cv^2 - 1)/2, what renewal theory gives there; both
// are within 1 % of what a million drawn lives come to. Repair takes no time here, and a process
// that dies renews its host as a repair does.
#pragma once

#include "layers/failure/rates.h"

namespace orrery::failure {

// The Weibull of that shape and mean.
Weibull life_of(double shape, Seconds mean);
// The life at a uniform draw in [0, 1).
Seconds life_at(const Weibull& life, double draw);
// Expected within `span` of a host that is new at its beginning.
double failures_within(const Weibull& life, Seconds span);
// Those over what an exponential of the same mean gives: 1 where the shape is 1, never below a
// thousandth.
double early_factor(double shape, Seconds mean, Seconds span);

}  // namespace orrery::failure
