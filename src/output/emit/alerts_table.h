// The tables of data/emit/prometheus: rows whose texts contain {placeholders}, selected by what the
// row's column `needs` requires of a design.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "output/emit/prometheus_plan.h"

namespace orrery::emit {

// Replaces {key} in one pass, so that a value that looks like a placeholder stays a value.
using Words = std::map<std::string, std::string, std::less<>>;
std::string filled(std::string_view pattern, const Words& words);

// Returns the parts with blanks trimmed; none for an empty text.
std::vector<std::string_view> separated(std::string_view text, std::string_view separator);

// Properties of a design in the words of the column `needs`: nvidia, nvlink, train, slurm, cache.
using Traits = std::set<std::string, std::less<>>;
Traits traits_of(const review::Review& review, const std::vector<PlannedValue>& plan);
bool meets(std::string_view needs, const Traits& traits);

}  // namespace orrery::emit
