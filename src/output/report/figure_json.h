// Figures and goals as JSON, the same in a verdict, a run, a calculation and a comparison.
#pragma once

#include <string>

#include "core/base/json_writer.h"
#include "model/figures/figure.h"
#include "model/figures/goals.h"
#include "model/figures/section.h"

namespace orrery::report {

// Writes a key and an object: "step_time_s": {"label": ..., "value": ..., "low": ...}.
void write_figure(JsonWriter& w, const figures::Number& n);
void write_figure(JsonWriter& w, const figures::Figure& f);
// Writes the same for the console, under the key of schema 1.
void write_console_figure(JsonWriter& w, const figures::Figure& f);
// Writes `figures` of the contract: one object per figure, flat, with layer, section and id.
void write_figure_list(JsonWriter& w, const std::vector<figures::Section>& sections);
// Returns "met", "missed" or "not known".
std::string_view outcome_word(const figures::GoalOutcome& goal);
// Writes value, bound and interval of a goal; null if nothing gives them.
void write_goal_numbers(JsonWriter& w, const figures::GoalOutcome& goal);
// Returns "s" or "bytes_per_s"; "count" if the key has no suffix.
std::string_view unit_name(figures::Unit unit);

}  // namespace orrery::report
