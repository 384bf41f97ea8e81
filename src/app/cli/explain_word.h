// `orrery explain WORD`: explains everything of that name, be it a figure, a rule, a field of the
// design file, a goal, a verb or a word of the glossary. If one name is several of these, all are
// explained.
//
// A figure is shown with its numbers from a template's review, because a formula without numbers
// explains little. The template is named.
#pragma once

#include <string>

#include "model/machine/models.h"
#include "output/report/document.h"

namespace orrery::cli {

struct WordAnswer {
  report::Document document;       // no blocks if nothing has that name
  std::vector<std::string> names;  // all known names, for a suggestion; filled only if nothing has
                                   // the name
};

Result<WordAnswer> explain_word(const std::string& word, const machine::Models& models);

}  // namespace orrery::cli
