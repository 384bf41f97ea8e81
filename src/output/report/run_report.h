// A run for its reader: the document for people, JSON by the contract of `orrery simulate`, the
// series as CSV, the events as lines of JSON, the trace for Perfetto.
#pragma once

#include <string>

#include "output/report/document.h"
#include "twin/twin/run.h"

namespace orrery::report {

Document document_of(const twin::Run& run);
std::string json_of(const twin::Run& run);
std::string series_csv(const twin::Run& run);
std::string events_jsonl(const twin::Run& run);
std::string trace_json(const twin::Run& run);

}  // namespace orrery::report
