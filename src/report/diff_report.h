// A comparison of two designs as a document and as JSON.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "plan/diff.h"
#include "report/document.h"

namespace orrery {

Document document_of(const DesignDiff& d);
std::string json_of(const DesignDiff& d);
// What differs, into an object that the caller has begun.
void write_difference(JsonWriter& w, const DesignDiff& d);

}  // namespace orrery
