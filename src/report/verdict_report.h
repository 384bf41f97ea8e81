// The verdict of a review as a document for people, JSON for programs and CSV for spreadsheets.
#pragma once

#include <string>

#include "plan/verdict.h"
#include "report/document.h"

namespace orrery {

// `explain` adds, below every figure, its formula, its inputs and where each came from.
struct VerdictView {
  bool explain = false;
};

Document document_of(const Verdict& v, VerdictView view = {});
std::string json_of(const Verdict& v);
// One figure a line: layer, section, figure, value, low, high, unit, basis, reference.
std::string csv_of(const Verdict& v);

}  // namespace orrery
