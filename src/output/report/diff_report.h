// A comparison of two designs as a document and as JSON.
#pragma once

#include <string>

#include "core/base/json_writer.h"
#include "output/report/document.h"
#include "study/compare/diff.h"

namespace orrery::report {

Document document_of(const compare::DesignDiff& d);
std::string json_of(const compare::DesignDiff& d);
// Writes the differences into an object that the caller has begun.
void write_difference(JsonWriter& w, const compare::DesignDiff& d);

}  // namespace orrery::report
