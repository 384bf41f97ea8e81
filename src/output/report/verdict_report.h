// The verdict of a review as a document for people, JSON for programs and CSV for spreadsheets.
//
// The document says first what a person wants to know: pass or fail, the goals, the figures that
// are asked for most, what is broken and what to do about it; then every layer. Findings of one
// rule stand together, with what they share said once.
#pragma once

#include <string>

#include "output/report/document.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {

struct VerdictView {
  bool explain = false;  // below every figure its formula, its inputs and where each came from
  bool brief = false;    // the verdict alone, without the layers
};

Document document_of(const verdict::Verdict& v, VerdictView view = {});
// Schema 2, the contract of `orrery plan`: goals and figures as a run has them, then the rest.
std::string json_of(const verdict::Verdict& v);
// Schema 1, as the console reads it.
std::string console_json_of(const verdict::Verdict& v);
// One figure a line: layer, section, figure, value, low, high, unit, basis, reference.
std::string csv_of(const verdict::Verdict& v);

}  // namespace orrery::report
