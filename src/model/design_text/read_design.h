// Reads the YAML of a design file into a Design, all faults at once with line and column.
#pragma once

#include <string>
#include <string_view>

#include "model/design/design.h"

namespace orrery::design_text {

struct ReadDesignOptions {
  std::string file = "design.yaml";  // for messages
  // Gives the text of a config.json or a CSV that the design names; none: such a path is an error.
  catalog::ReadFile read_file;
};

// Every fault at once. Warnings of a design that could be read go to `warnings` where given.
Result<design::Design> read_design(std::string_view text, const catalog::Catalog& catalog,
                                   const ReadDesignOptions& options = {},
                                   Diagnostics* warnings = nullptr);

}  // namespace orrery::design_text
