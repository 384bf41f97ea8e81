// A bill of parts as JSON, the same in a verdict and in the view of a network.
#pragma once

#include "core/base/json_writer.h"
#include "core/catalog/bill.h"

namespace orrery::report {

// Writes a key and an array: "bill": [...].
void write_bill(JsonWriter& w, const catalog::Bill& bill);

}  // namespace orrery::report
