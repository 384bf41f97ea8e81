// The distribution functions that several rooms need, written out so that every build gives the
// same bits: log n!, the Poisson tail, and the normal density, tail and partial mean.
//
// log n! uses Stirling's series with four terms above n = 15 (error below 1e-12) and the product
// itself below. The standard library's lgamma is not used, because it writes a global.
#pragma once

#include <cstdint>

namespace orrery {

double log_factorial(std::int64_t n);

// Returns P(X > k) for X ~ Poisson(mean). It sums from the small end, so that a tail of 1e-12 keeps
// its digits.
double poisson_above(std::int64_t k, double mean);

double normal_density(double z);
double normal_above(double z);  // P(Z > z)

}  // namespace orrery
