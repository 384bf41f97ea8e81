// The verdict of a review as a document for people, JSON for programs and CSV for spreadsheets.
//
// The document says first what a person wants to know: pass or fail, the goals, the figures that
// are asked for most, what is broken and what to do about it; then every layer. Findings of one
// rule stand together, with what they share said once.
#pragma once

#include <string>

#include "plan/plan/verdict.h"
#include "output/report/document.h"

namespace orrery::report {

struct VerdictView {
  bool explain = false;  // below every figure its formula, its inputs and where each came from
  bool brief = false;    // the verdict alone, without the layers
};

Document document_of(const plan::Verdict& v, VerdictView view = {});
std::string json_of(const plan::Verdict& v);
// One figure a line: layer, section, figure, value, low, high, unit, basis, reference.
std::string csv_of(const plan::Verdict& v);

}  // namespace orrery::report
