// What most verbs start from: the catalog, the fitted models, a design that was read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "cli/terminal.h"
#include "design/design.h"
#include "machine/models.h"

namespace orrery {

// Models point at the catalog, so both live at one address.
struct Knowledge {
  Catalog catalog;
  Models models;
};
Result<std::unique_ptr<const Knowledge>> load_knowledge();
// With what `orrery calibrate` wrote for the reader's own machine laid over what is shipped: kernel
// parameters, storage tiers. Of two files on one thing the later counts; no file: as shipped.
Result<std::unique_ptr<const Knowledge>> load_knowledge(
    const std::vector<std::string>& calibrations, Terminal& terminal);

// Reads the file and the config.json files that it names; warnings go to stderr.
Result<design::Design> load_design(const std::string& path, const Catalog& catalog,
                                   Terminal& terminal);

}  // namespace orrery
