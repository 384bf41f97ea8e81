// A simulated run as a document, as JSON (the contract of `orrery simulate`), its series as CSV,
// its events as lines of JSON, and its trace for Perfetto.
#pragma once

#include <string>

#include "output/report/document.h"
#include "plan/verdict/verdict.h"
#include "twin/run/run.h"

namespace orrery::report {

struct RunView {
  bool explain = false;  // print figures that repeat a table above, and sections that are all zero
};

// With the review of the same design, all goals are answered and the differences are named.
Document document_of(const run::Run& run, const verdict::Verdict* review = nullptr,
                     RunView view = {});
// Schema 2, the contract of `orrery simulate`; `review` is of the same design.
std::string json_of(const run::Run& run, const verdict::Verdict& review);
// Schema 1, for the console.
std::string console_json_of(const run::Run& run);
std::string series_csv(const run::Run& run);
std::string events_jsonl(const run::Run& run);
std::string trace_json(const run::Run& run);

}  // namespace orrery::report
