// The verdict of a review as a document, JSON for programs and CSV for spreadsheets.
//
// The document begins with what readers look for first: pass or fail, the goals, what is broken and
// how to correct it, the next best spend and the key figures. Every layer follows. Findings of one
// rule are grouped, and advice that they share is given once.
#pragma once

#include <string>

#include "output/report/document.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {

struct VerdictView {
  bool explain = false;  // print formula, inputs and source of every figure, and silent sections
  bool brief = false;    // print the verdict only, without the layers
  bool sources = true;   // print the source of every figure
};

Document document_of(const verdict::Verdict& v, VerdictView view = {});
// Schema 2, the contract of `orrery plan`: goals and figures as in a run, then the rest.
std::string json_of(const verdict::Verdict& v);
// Schema 1, for the console.
std::string console_json_of(const verdict::Verdict& v);
// One figure per line: layer, section, figure, value, low, high, unit, basis, reference.
std::string csv_of(const verdict::Verdict& v);

}  // namespace orrery::report
