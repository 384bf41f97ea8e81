// Rules of figures and assumptions: what is said under a name, and what is taken for granted,
// stands in one table each (src/model/figures).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tidy/rules.h"

namespace orrery::tidy {

// A row of src/model/figures/figure_kinds.def.
struct FigureRow {
  std::string id;
  std::string said;  // "review", "run" or "both"
};
std::vector<FigureRow> figure_rows(std::string_view table);

// An id of a figure in quotes outside the table: whoever means it names the row. Only ids of two
// words, since "read" and "jobs" mean much else; calculators and scores have names of their own.
Complaints check_figure_words(const Source& source, const std::vector<FigureRow>& rows);
// Every row is made by whom the table says: the review (plan/, model/), a run (twin/), or both.
Complaints check_figures_said(const std::vector<Source>& sources,
                              const std::vector<FigureRow>& rows);

// A constant with a unit, or a share or factor, outside src/model/figures/assumptions.def: one copy
// of it changes and the other does not. `list` names the exceptions: FILE NAME | why. An entry that
// no constant answers to is complained about as well.
Complaints check_constants(const std::vector<Source>& sources, const Source& list);
// The same without a name: `minutes(10)` in the middle of an expression (0 and 1 are units), or a
// number as the half-width of within(), which belongs into src/model/figures/half_widths.def.
Complaints check_bare_numbers(const Source& source);

}  // namespace orrery::tidy
