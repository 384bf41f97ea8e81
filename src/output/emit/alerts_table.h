// The tables of data/emit/prometheus: rows whose texts have {placeholders}, for designs that have
// what the row's column `needs` asks for.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "output/emit/prometheus_plan.h"

namespace orrery::emit {

// Replaces {key} in one pass, so that a value which looks like a placeholder stays a value.
using Words = std::map<std::string, std::string, std::less<>>;
std::string filled(std::string_view pattern, const Words& words);

// Parts with blanks trimmed; none of an empty text.
std::vector<std::string_view> separated(std::string_view text, std::string_view separator);

// What a design has, in the words of the column `needs`: nvidia, nvlink, train, slurm, cache.
using Traits = std::set<std::string, std::less<>>;
Traits traits_of(const review::Review& review, const std::vector<PlannedValue>& plan);
bool meets(std::string_view needs, const Traits& traits);

}  // namespace orrery::emit
