// Text from outside, made safe to show: a name in a design, a store's error, a Slurm reason.
//
// A terminal interprets control characters: "\e[2J" clears it, a line break forges a line, a
// direction mark reverses a word. printable() replaces each such character with a readable escape
// (\x1b, \n, \u202e) and leaves all others alone; text without any comes back unchanged. It does
// not protect against terminals that interpret printable characters (none known) or against letters
// that look alike.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

std::string printable(std::string_view text);

// Does the same for text that may have several lines. Indents each line after the first, so that
// none can pass for a line that we print.
std::string printable_lines(std::string_view text, std::string_view indent);

}  // namespace orrery
