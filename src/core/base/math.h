// The functions of libm whose results different libraries and compilers round differently: exp,
// log, pow and the like. They are called through this header only, so that every build computes the
// same digits. A browser build has one file to link against a fixed library.
//
// They are compiled in a separate file on purpose: a compiler that sees the argument evaluates a
// constant with its own arithmetic or turns pow(2, x) into exp2(x), and the last digit changes.
// Call them as math::exp(x). Functions that IEEE 754 defines to the bit (sqrt, floor, round, fma,
// ldexp, fmod ...) are called from std. tests/tidy enforces both rules.
#pragma once

namespace orrery::math {

double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log1p(double x);
double pow(double base, double exponent);
double hypot(double x, double y);
double sin(double x);
double cos(double x);
double erfc(double x);

}  // namespace orrery::math
