// The few distribution functions that several rooms need, written out so that every build gives
// the same bits: log n!, the Poisson tail, the normal density, tail and partial mean.
//
// log n! is Stirling's series with four terms above n = 15 (error below 1e-12) and the product
// itself below; the standard library's lgamma writes a global and is left alone.
#pragma once

#include <cstdint>

namespace orrery {

double log_factorial(std::int64_t n);

// P(X > k) for X ~ Poisson(mean), summed from the small end, so that a tail of 1e-12 keeps its
// digits.
double poisson_above(std::int64_t k, double mean);

double normal_density(double z);
double normal_above(double z);  // P(Z > z)

}  // namespace orrery
