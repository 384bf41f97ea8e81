// What most verbs start from: the shipped knowledge, and a design file.
#pragma once

#include <string>
#include <vector>

#include "app/cli/terminal.h"
#include "core/catalog/catalog.h"
#include "model/design/design.h"
#include "model/machine/models.h"

namespace orrery::cli {

// The shipped knowledge: as rows, and as the layers read it.
Result<catalog::Knowledge> shipped_knowledge();
Result<machine::Models> shipped_models();
// Returns the shipped models with the files of `orrery calibrate` applied (kernel parameters,
// storage tiers). If two files describe the same thing, the later one wins; without files, the
// models are as shipped.
Result<machine::Models> calibrated_models(const std::vector<std::string>& calibrations,
                                          Terminal& terminal);

// Warns if a calibration describes a tier that this design does not have, because it then changes
// nothing.
void warn_of_unknown_tiers(const machine::Models& models, const design::Design& design,
                           const std::vector<std::string>& files, Terminal& terminal);

// Returns a reader for files that a design names (models, hours, traces); paths are relative to the
// design's folder.
catalog::ReadFile files_beside(const std::string& design, const Terminal& terminal);
// Reads a design file and the files that it names. Prints warnings on stderr.
Result<design::Design> load_design(const std::string& path, const catalog::Catalog& catalog,
                                   Terminal& terminal);

}  // namespace orrery::cli
