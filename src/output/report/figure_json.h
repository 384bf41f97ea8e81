// A figure as JSON, the same in a verdict, a calculation and a comparison.
#pragma once

#include <string>

#include "core/base/json_writer.h"
#include "model/machine/figure.h"

namespace orrery::report {

// Key and object: "step_time_s": {"label": ..., "value": ..., "low": ...}.
void write_figure(JsonWriter& w, const machine::Figure& f);
// "s", "bytes_per_s"; "count" where the key has no suffix.
std::string_view unit_name(machine::Unit unit);

}  // namespace orrery::report
