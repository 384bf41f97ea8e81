// Changes one value in the text of a design file and leaves the rest of the file as its author
// wrote it.
//
// The parsed tree gives the value's place, so only the characters of that value change: comments,
// order, spacing and quoting around it stay. A missing key goes to the end of its map, in the map's
// own style (on a line of its own, or before the closing brace); missing maps on the way are
// written in braces. The result is parsed again and compared with the tree that the change means.
// If they differ (aliases, block texts, flow inside odd brackets), the whole file is written again
// in canonical form, and the result says so.
#pragma once

#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "model/design/design.h"
#include "model/design_text/change.h"
#include "model/design_text/read_design.h"

namespace orrery::design_text {

struct EditedText {
  std::string text;
  bool rewritten = false;  // written in canonical form: comments are lost
};

// Returns the changed text; its design may still have faults, because an edit may be one step of
// several. Faults of the edit itself are "edit.path" and "edit.value", and those of a file that is
// not YAML.
Result<EditedText> edit_text(std::string_view text, const Change& change,
                             const catalog::Catalog& catalog,
                             const ReadDesignOptions& options = {});

}  // namespace orrery::design_text
