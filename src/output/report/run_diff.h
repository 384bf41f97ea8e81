// Two runs side by side: what each figure became, and which cause moved a job's goodput.
//
// Both runs have the same seed, and every host its own random stream, so that the same faults
// strike both where the design leaves them alone: a difference is then the design's, not chance.
// A change smaller than the intervals of both is marked as within them.
#pragma once

#include <string>

#include "output/report/document.h"
#include "twin/run/run.h"

namespace orrery::report {

Document document_of(const run::Run& before, const run::Run& after);
std::string json_of(const run::Run& before, const run::Run& after);

}  // namespace orrery::report
