// Two runs side by side: how each figure changed, and which cause changed a job's goodput.
//
// Both runs have the same seed, and every host has its own random stream. The same faults therefore
// occur in both unless the change of the design affects them, so a difference comes from the design
// and not from chance. A change smaller than the intervals of both is marked as within them.
#pragma once

#include <string>

#include "output/report/document.h"
#include "twin/run/run.h"

namespace orrery::report {

Document document_of(const run::Run& before, const run::Run& after);
std::string json_of(const run::Run& before, const run::Run& after);

}  // namespace orrery::report
