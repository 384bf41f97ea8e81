// A comparison as files: a document, and CSV for a spreadsheet.
#pragma once

#include <string>

#include "output/report/comparison.h"
#include "output/report/document.h"

namespace orrery::report {

// `whole` adds what a stored report should have beyond a pull request: for each design the
// sensitivity of its answer as a drawing, and its cost of a year by part.
struct ComparisonView {
  bool whole = false;
};

Document document_of(const Comparison& c, ComparisonView view = {});
// Returns one figure per line: layer, section, figure, unit, then value, low and high of each
// design.
std::string csv_of(const Comparison& c);

// Formats a difference: "+1.2 MUSD/y", "−3.4 pp", "±0 USD/h". A ratio's difference is in percentage
// points.
std::string signed_text(double difference, figures::Unit unit);

}  // namespace orrery::report
