// The functions of libm whose result is rounded differently by different libraries and compilers:
// exp, log, pow and their kin. This is their only home, so that every build computes the same
// digits and one file is pinned to one library where the core is built for a browser.
//
// They are compiled in a file of their own on purpose: a compiler that sees the argument folds a
// constant with its own arithmetic or turns pow(2, x) into exp2(x), and the last digit moves. Call
// them as math::exp(x). What IEEE 754 fixes to the bit (sqrt, floor, round, fma, ldexp, fmod ...)
// is called from std; tests/tidy keeps both halves.
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
