// The references of figures and assumptions, as `orrery explain figures` and `orrery explain
// assumptions` print them. docs/reference/figures.md and assumptions.md are their Markdown.
#pragma once

#include <span>
#include <string>

#include "model/figures/assumptions.h"
#include "model/figures/figure_kind.h"
#include "model/figures/half_width.h"
#include "output/report/document.h"

namespace orrery::report {

Document figure_reference();
Document document_of(const figures::FigureKind& kind);
std::string figure_reference_json(std::span<const figures::FigureKind> kinds);

// Lists the assumptions, each with its range and its source.
Document document_of(std::span<const figures::Assumption> assumptions);
std::string json_of(std::span<const figures::Assumption> assumptions);
// All of them, and the half-widths of figures.
Document assumption_reference();

}  // namespace orrery::report
