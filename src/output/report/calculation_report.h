// A calculation as a document and as JSON.
#pragma once

#include <string>

#include "core/base/json_writer.h"
#include "output/report/document.h"
#include "study/calc/calculation.h"

namespace orrery::report {

Document document_of(const calc::Calculation& c);
std::string json_of(const calc::Calculation& c);
// Writes the keys of a calculation into an object that the caller has begun.
void write_calculation(JsonWriter& w, const calc::Calculation& c);

}  // namespace orrery::report
