// Mathematical constants that several rooms need, in full precision.
#pragma once

namespace orrery::math {

// ln 100: the 99th percentile of an exponential time, in means (for example a sojourn in an M/M/1
// queue).
inline constexpr double kLog100 = 4.605170185988092;
// The 99th percentile of the normal distribution, in standard deviations.
inline constexpr double kNormal99 = 2.326;

}  // namespace orrery::math
