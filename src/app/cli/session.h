// What most verbs start from: what is known, and a design that was read.
#pragma once

#include <string>
#include <vector>

#include "app/cli/terminal.h"
#include "core/catalog/catalog.h"
#include "model/design/design.h"
#include "model/machine/models.h"

namespace orrery::cli {

// What the binary knows: as rows, and as the layers read it.
Result<catalog::Knowledge> shipped_knowledge();
Result<machine::Models> shipped_models();
// With what `orrery calibrate` wrote for the reader's own machine laid over it: kernel parameters,
// storage tiers. Of two files on one thing the later counts; no file: as shipped.
Result<machine::Models> calibrated_models(const std::vector<std::string>& calibrations,
                                          Terminal& terminal);

// A calibration of a tier that this design does not have changes nothing: worth saying.
void warn_of_unknown_tiers(const machine::Models& models, const design::Design& design,
                           const std::vector<std::string>& files, Terminal& terminal);

// Files that a design names (models, hours, traces), which count from its own folder.
catalog::ReadFile files_beside(const std::string& design, const Terminal& terminal);
// Reads the file and those that it names; warnings go to stderr.
Result<design::Design> load_design(const std::string& path, const catalog::Catalog& catalog,
                                   Terminal& terminal);

}  // namespace orrery::cli
