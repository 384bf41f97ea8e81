// A comparison as files: a document for people, CSV for a sheet.
#pragma once

#include <string>

#include "output/report/comparison.h"
#include "output/report/document.h"

namespace orrery::report {

// `whole` adds to what a pull request wants to read what a file that is kept should have: what each
// design's answer hangs on, drawn, and where its year's money goes.
struct ComparisonView {
  bool whole = false;
};

Document document_of(const Comparison& c, ComparisonView view = {});
// One figure a line: layer, section, figure, unit, then value, low and high of each design.
std::string csv_of(const Comparison& c);

// "+1.2 MUSD/y", "−3.4 pp", "±0 USD/h"; a ratio's difference is in percentage points.
std::string signed_text(double difference, figures::Unit unit);

}  // namespace orrery::report
