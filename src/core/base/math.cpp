#include "core/base/math.h"

#include <cmath>

namespace orrery::math {

double exp(double x) { return std::exp(x); }
double exp2(double x) { return std::exp2(x); }
double expm1(double x) { return std::expm1(x); }
double log(double x) { return std::log(x); }
double log2(double x) { return std::log2(x); }
double log1p(double x) { return std::log1p(x); }
double pow(double base, double exponent) { return std::pow(base, exponent); }
double hypot(double x, double y) { return std::hypot(x, y); }
double sin(double x) { return std::sin(x); }
double cos(double x) { return std::cos(x); }
double erfc(double x) { return std::erfc(x); }

}  // namespace orrery::math
