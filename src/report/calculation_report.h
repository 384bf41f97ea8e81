// A calculation as a document and as JSON.
#pragma once

#include <string>

#include "plan/calculation.h"
#include "report/document.h"

namespace orrery {

Document document_of(const Calculation& c);
std::string json_of(const Calculation& c);

}  // namespace orrery
