#include "core/catalog/provenance.h"

namespace orrery::catalog {
namespace {

// Returns the basis shown to readers: a figure that we read or recalled counts as the vendor's; one
// that we computed is derived.
Basis basis_of(FactBasis b) {
  switch (b) {
    case FactBasis::measured:
      return Basis::measured;
    case FactBasis::derived:
      return Basis::derived;
    case FactBasis::seen:
    case FactBasis::recall:
      break;
  }
  return Basis::vendor;
}

}  // namespace

double half_width(Confidence c) {
  switch (c) {
    case Confidence::high:
      return kHighConfidenceWidth;
    case Confidence::medium:
      return kMediumConfidenceWidth;
    case Confidence::low:
      break;
  }
  return kLowConfidenceWidth;
}

Estimate fact(double value, const Provenance& p) {
  const double width = half_width(p.confidence);
  return within(value, width, width, basis_of(p.basis), p.reference);
}

Estimate fact(const PriceRange& price, const Provenance& p) {
  return {price.middle().base(), price.low.base(), price.high.base(), basis_of(p.basis),
          p.reference};
}

}  // namespace orrery::catalog
