// Writes the canonical text of a design: fields in the order of the table, defaults left out. Equal
// designs have equal texts, and read_design(write_design(d)) == d.
#pragma once

#include <string>

#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

std::string write_design(const design::Design& design);
// Writes one section on one line, as an edit puts it into a file: { topology: fat-tree, switch:
// qm9700 }.
std::string section_text(const design::Network& network);
std::string section_text(const design::Checkpoint& checkpoint);
std::string section_text(const design::Zone& zone);
std::string section_text(const design::StorageTier& tier);
// Returns every field of a tier that has a value, defaults included.
YamlNode tier_node(const design::StorageTier& tier);
// Returns the SHA-256 of the canonical text: comments, the order of keys and explicit defaults do
// not matter.
std::string design_digest(const design::Design& design);

}  // namespace orrery::design_text
