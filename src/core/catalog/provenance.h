// Where a fact came from and how far it can be trusted. Every catalog row carries one.
#pragma once

#include <string>

#include "core/base/estimate.h"
#include "core/base/quantity.h"
#include "core/base/words.h"

namespace orrery::catalog {

// seen: read in the named document; recall: a well-known figure whose document was not reopened;
// derived: computed from other rows; measured: measured on a machine by us.
enum class FactBasis { seen, recall, derived, measured };
enum class Confidence { high, medium, low };

inline constexpr Word<FactBasis> kFactBasisWords[] = {{FactBasis::seen, "seen"},
                                                      {FactBasis::recall, "recall"},
                                                      {FactBasis::derived, "derived"},
                                                      {FactBasis::measured, "measured"}};
constexpr WordTable<FactBasis> words_of(FactBasis) { return kFactBasisWords; }
constexpr std::string_view to_text(FactBasis b) { return word_of(b); }

inline constexpr Word<Confidence> kConfidenceWords[] = {
    {Confidence::high, "high"}, {Confidence::medium, "medium"}, {Confidence::low, "low"}};
constexpr WordTable<Confidence> words_of(Confidence) { return kConfidenceWords; }
constexpr std::string_view to_text(Confidence c) { return word_of(c); }

struct Provenance {
  std::string reference;  // "accelerators/h100-sxm": table and row, as `orrery catalog` prints it
  std::string source;
  std::string date;  // "2026-11" if the row gives none
  FactBasis basis = FactBasis::recall;
  Confidence confidence = Confidence::low;
  int line = 0;  // the row's line in its file, for messages
};

// 80 % half-widths of a fact by its confidence: high for a datasheet or a paper with measurements,
// then one good source, then an estimate or announcement. docs/models/numbers.md says how they were
// chosen.
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
// Returns the middle of the range, with the range as its interval.
Estimate fact(const PriceRange& price, const Provenance& p);

}  // namespace orrery::catalog
