// Where a fact came from and how far it can be trusted. Every catalog row carries one.
#pragma once

#include <string>

#include "base/estimate.h"
#include "base/quantity.h"

namespace orrery {

// seen: read in the named document; recall: well-known figure, not re-opened; derived: computed
// from other rows; measured: read off a machine by us.
enum class FactBasis { seen, recall, derived, measured };
enum class Confidence { high, medium, low };

const char* to_text(FactBasis b);
const char* to_text(Confidence c);

struct Provenance {
  std::string reference;  // "accelerators/h100-sxm": table and row, as `orrery catalog` prints it
  std::string source;
  std::string date;  // "2026-11" where the row gives none
  FactBasis basis = FactBasis::recall;
  Confidence confidence = Confidence::low;
  int line = 0;  // of the row in its file, for messages
};

// 80 % half-widths of a fact by its confidence: a datasheet or measured paper, one good source, an
// estimate or announcement. docs/models/numbers.md says how they were chosen.
inline constexpr double kHighConfidenceWidth = 0.02;
inline constexpr double kMediumConfidenceWidth = 0.10;
inline constexpr double kLowConfidenceWidth = 0.30;

double half_width(Confidence c);
Estimate fact(double value, const Provenance& p);

struct PriceRange {
  Usd low;
  Usd high;

  Usd middle() const { return (low + high) / 2; }
};
// The middle with the range as its interval.
Estimate fact(const PriceRange& price, const Provenance& p);

}  // namespace orrery
