// The layouts a search found as a table for people and as JSON, one for the command line and jobs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/json_writer.h"
#include "study/search/layout_search.h"

namespace orrery::report {

std::string text_of(const search::FoundLayouts& found);
// One search for each number of GPUs.
std::string json_of(const std::string& model, std::span<const search::FoundLayouts> searches);
// The object of one layout; rows after the first say why they are slower.
void write_search_row(JsonWriter& w, const search::FoundLayouts& found, std::size_t row);

}  // namespace orrery::report
