// `orrery explain WORD`: whatever has that name, be it a figure, a rule, a field of the design
// file, a goal, a verb or a word of the glossary. One name may be several of these; all are told.
//
// A figure is shown as it stands in a template's review, with its numbers, since a formula without
// them explains little; the template is named.
#pragma once

#include <string>

#include "model/machine/models.h"
#include "output/report/document.h"

namespace orrery::cli {

struct WordAnswer {
  report::Document document;       // no blocks: nothing has that name
  std::vector<std::string> names;  // all there are, for a suggestion; filled where nothing has it
};

Result<WordAnswer> explain_word(const std::string& word, const machine::Models& models);

}  // namespace orrery::cli
