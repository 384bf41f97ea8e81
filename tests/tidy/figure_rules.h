// Rules about figures and assumptions: each figure that is reported and each value that is assumed
// is in one table (src/model/figures).
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

// Reports ids of figures in quotes outside the table: code refers to the row instead. Only ids of
// two words are checked, because "read" and "jobs" have many meanings; calculators and scores have
// names of their own.
Complaints check_figure_words(const Source& source, const std::vector<FigureRow>& rows);
// Checks that every row is produced as the table says: by the review (plan/, model/), by a run
// (twin/), or by both.
Complaints check_figures_said(const std::vector<Source>& sources,
                              const std::vector<FigureRow>& rows);

// Reports constants with a unit, and shares or factors, outside src/model/figures/assumptions.def,
// because two copies of a value drift apart. `list` names the exceptions: FILE NAME | why. An entry
// that matches no constant is reported as well.
Complaints check_constants(const std::vector<Source>& sources, const Source& list);
// The same without a name: `minutes(10)` in the middle of an expression (0 and 1 are units), or a
// number as the half-width of within(), which belongs into src/model/figures/half_widths.def.
Complaints check_bare_numbers(const Source& source);

}  // namespace orrery::tidy
