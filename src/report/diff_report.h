// A comparison of two designs as a document and as JSON.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "plan/diff.h"
#include "report/document.h"

namespace orrery::report {

Document document_of(const plan::DesignDiff& d);
std::string json_of(const plan::DesignDiff& d);
// What differs, into an object that the caller has begun.
void write_difference(JsonWriter& w, const plan::DesignDiff& d);

}  // namespace orrery::report
