// A run as the console draws it over time: the first replication's spans, points, hosts and series,
// in columns, in the shape of docs/api/openapi.yaml (RunTimeline).
//
// The reason of a span is found while the log is read: a fault is logged immediately before the run
// that it hits starts detecting it, and what follows until the run steps again belongs to that
// fault, or to a later one during that time. This is wrong where the log was cut off (left_out):
// spans that were open then last until the end.
#pragma once

#include <string>

#include "twin/run/run.h"

namespace orrery::report {

std::string run_timeline_json(const run::Run& run);

}  // namespace orrery::report
