// A number that reaches a person: the value, how far off it may be, and where it came from.
//
// low..high is the 80 % interval (p10 to p90). The one rule for combining Estimates:
//   - errors of different inputs are independent;
//   - a product or quotient adds the log half-widths in quadrature, each side separately:
//       ln(high/value) = sqrt(sum_i ln(high_i/value_i)^2), and low likewise (a divisor swaps
//       sides);
//   - a sum adds the half-widths in quadrature, each side separately; a subtrahend swaps sides;
//   - the basis of a combination is the weakest of its inputs, and at best `derived`.
// Wrong if errors are correlated (two figures from one datasheet) or the formula bends sharply
// inside the interval; such code widens the interval itself and says so in the reference.
#pragma once

#include <string>

#include "core/base/words.h"

namespace orrery {

// Strongest first. given: the design says so, and it was not checked; measured: on a system like
// this one; fitted: a parameter set by our own fit; vendor: a datasheet; paper: published by
// others; derived: computed; assumed: a default of ours.
enum class Basis { given, measured, fitted, vendor, paper, derived, assumed };

inline constexpr Word<Basis> kBasisWords[] = {
    {Basis::given, "given"},    {Basis::measured, "measured"}, {Basis::fitted, "fitted"},
    {Basis::vendor, "vendor"},  {Basis::paper, "paper"},       {Basis::derived, "derived"},
    {Basis::assumed, "assumed"}};
constexpr WordTable<Basis> words_of(Basis) { return kBasisWords; }
constexpr std::string_view to_text(Basis b) { return word_of(b); }

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  Basis basis = Basis::derived;
  std::string
      reference;  // catalog row ("accelerators/h100-sxm") or rule ("docs/models/storage.md")

  bool operator==(const Estimate&) const = default;
};

Estimate exact(double value, Basis basis, std::string reference);
// Returns `value` with low = value * (1 - below) and high = value * (1 + above).
Estimate within(double value, double below, double above, Basis basis, std::string reference);

Estimate operator+(const Estimate& a, const Estimate& b);
Estimate operator-(const Estimate& a, const Estimate& b);
Estimate operator*(const Estimate& a, const Estimate& b);
Estimate operator/(const Estimate& a, const Estimate& b);
Estimate operator*(const Estimate& a, double factor);  // an exact factor scales the interval

}  // namespace orrery
