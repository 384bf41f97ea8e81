// The layouts that a search found, as a table and as JSON, for the command line and for jobs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/base/json_writer.h"
#include "output/report/document.h"
#include "study/search/layout_search.h"

namespace orrery::report {

// What is missing if no layout fits.
struct LayoutMisfit {
  Bytes usable;  // memory per accelerator
  Bytes needed;  // memory per accelerator of the layout that needs least
  int gpus = 0;  // number of accelerators on which a layout fits; 0: none was found
};

// `misfit` explains why no layout was found.
Document document_of(const search::FoundLayouts& found,
                     const std::optional<LayoutMisfit>& misfit = std::nullopt);
// Writes one object per search, that is per number of GPUs.
std::string json_of(const std::string& model, std::span<const search::FoundLayouts> searches);
// Writes the object of one layout. Rows after the first say why they are slower.
void write_search_row(JsonWriter& w, const search::FoundLayouts& found, std::size_t row);

}  // namespace orrery::report
