// The verdict of a review as a document for people, JSON for programs and CSV for spreadsheets.
#pragma once

#include <string>

#include "plan/verdict.h"
#include "report/document.h"

namespace orrery::report {

// `explain` adds, below every figure, its formula, its inputs and where each came from.
struct VerdictView {
  bool explain = false;
};

Document document_of(const plan::Verdict& v, VerdictView view = {});
std::string json_of(const plan::Verdict& v);
// One figure a line: layer, section, figure, value, low, high, unit, basis, reference.
std::string csv_of(const plan::Verdict& v);

}  // namespace orrery::report
