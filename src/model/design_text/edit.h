// One value of a design file changed in its text, the rest of the file left as its author wrote it.
//
// The value's place is known from the parsed tree, so only the characters of that value move:
// comments, order, spacing and quoting around it stay. A missing key goes to the end of its map, in
// the map's own style (a line of its own, or before the closing brace); missing maps on the way are
// written in braces. The result is parsed again and compared with the tree that the change means;
// where they differ (aliases, block texts, flow inside odd brackets) the file is written anew in
// canonical form instead, and the result says so.
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
  bool rewritten = false;  // in canonical form: comments are gone
};

// The design that comes out may still have faults: an edit is one step of several. Faults of the
// edit itself: "edit.path", "edit.value", and those of a file that is no YAML.
Result<EditedText> edit_text(std::string_view text, const Change& change,
                             const catalog::Catalog& catalog,
                             const ReadDesignOptions& options = {});

}  // namespace orrery::design_text
