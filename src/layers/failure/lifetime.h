// The time between two failures of a host: Weibull; shape 1 is the exponential distribution.
//
//   P(life > t) = e^(-(t/eta)^k),   mean = eta Gamma(1 + 1/k)
//   m(T) = F(T) + integral over 0..T of m(T - s) dF(s)       failures within T, if repair renews
// k < 1: most hosts fail early, and a fleet that is new at the beginning of the run fails more
// often than its mean suggests (burn-in); k > 1: wear. m is computed by Xie's trapezoid rule
// (Commun. Stat. 18, 1989) on kSteps steps, and beyond kLongRun means by renewal theory, T/mean +
// (cv^2 - 1)/2; both are within 1 % of a million drawn lifetimes. Repair takes no time here, and a
// process that dies renews its host as a repair does.
#pragma once

#include "layers/failure/rates.h"

namespace orrery::failure {

// Returns the Weibull distribution with this shape and mean.
Weibull life_of(double shape, Seconds mean);
// Returns the lifetime for a uniform draw in [0, 1).
Seconds life_at(const Weibull& life, double draw);
// Returns the expected failures within `span` of a host that is new at its beginning.
double failures_within(const Weibull& life, Seconds span);
// Returns those failures divided by what an exponential distribution with the same mean gives: 1
// for shape 1, never below a thousandth.
double early_factor(double shape, Seconds mean, Seconds span);

}  // namespace orrery::failure
