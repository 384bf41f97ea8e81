// A comparison of two designs as a document and as JSON.
#pragma once

#include <string>

#include "plan/diff.h"
#include "report/document.h"

namespace orrery {

Document document_of(const DesignDiff& d);
std::string json_of(const DesignDiff& d);

}  // namespace orrery
