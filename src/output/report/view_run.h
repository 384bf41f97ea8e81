// A run as the console draws it in time: the first replication's spans, points, hosts and levels,
// in columns, in the shape of docs/api/openapi.yaml (RunTimeline).
//
// The reason of a span is found here, where the log is read: a fault is written down right before
// the run it strikes goes over to detecting it, and what follows until the run steps again belongs
// to that fault, or to a later one that struck meanwhile. Wrong where the log was cut off
// (left_out): spans that were open then last until the end.
#pragma once

#include <string>

#include "twin/run/run.h"

namespace orrery::report {

std::string run_timeline_json(const run::Run& run);

}  // namespace orrery::report
