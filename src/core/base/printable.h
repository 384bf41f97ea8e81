// Text from outside, made safe to show: a name in a design, a store's error, a Slurm reason.
//
// A terminal obeys what it is shown: "\e[2J" clears it, a line break forges a line, a direction
// mark turns a word round. printable() writes every such character as one can read it (\x1b, \n,
// \u202e) and leaves all others alone; what has none comes back as it was. Where it is not enough:
// a terminal that obeys printable characters (none known), letters that look alike.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

std::string printable(std::string_view text);

// The same for text that may have several lines: each after the first is indented, so that none
// can stand where a line of ours would.
std::string printable_lines(std::string_view text, std::string_view indent);

}  // namespace orrery
