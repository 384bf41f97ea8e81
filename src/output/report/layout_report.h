// The layouts that a search found, as a table and as JSON, for the command line and for jobs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/json_writer.h"
#include "study/search/layout_search.h"

namespace orrery::report {

std::string text_of(const search::FoundLayouts& found);
// Writes one object per search, that is per number of GPUs.
std::string json_of(const std::string& model, std::span<const search::FoundLayouts> searches);
// Writes the object of one layout. Rows after the first say why they are slower.
void write_search_row(JsonWriter& w, const search::FoundLayouts& found, std::size_t row);

}  // namespace orrery::report
