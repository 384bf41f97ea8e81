// A comparison of two designs as a document and as JSON.
#pragma once

#include <string>

#include "core/base/json_writer.h"
#include "output/report/document.h"
#include "study/search/diff.h"

namespace orrery::report {

Document document_of(const search::DesignDiff& d);
std::string json_of(const search::DesignDiff& d);
// What differs, into an object that the caller has begun.
void write_difference(JsonWriter& w, const search::DesignDiff& d);

}  // namespace orrery::report
