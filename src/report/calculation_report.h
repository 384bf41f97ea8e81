// A calculation as a document and as JSON.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "calc/calculation.h"
#include "report/document.h"

namespace orrery {

Document document_of(const Calculation& c);
std::string json_of(const Calculation& c);
// Its keys, into an object that the caller has begun.
void write_calculation(JsonWriter& w, const Calculation& c);

}  // namespace orrery
