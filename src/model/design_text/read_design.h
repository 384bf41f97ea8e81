// Reads the YAML of a design file into a Design; reports all faults at once, with line and column.
#pragma once

#include <string>
#include <string_view>

#include "model/design/design.h"

namespace orrery::design_text {

struct ReadDesignOptions {
  std::string file = "design.yaml";  // name used in messages
  // Returns the text of a config.json or CSV that the design names; if empty, such a path is an
  // error.
  catalog::ReadFile read_file;
};

// Returns the design, or all its faults at once. Warnings about a design that could be read go to
// `warnings`, if given.
Result<design::Design> read_design(std::string_view text, const catalog::Catalog& catalog,
                                   const ReadDesignOptions& options = {},
                                   Diagnostics* warnings = nullptr);

}  // namespace orrery::design_text
