// Words that a reader has to decode, and what to write in their place.
//
// The list is tests/tidy/words.txt, one row per word: PATTERN | INSTEAD. A pattern is a regular
// expression without regard to case; it begins with a letter and matches whole words. Prose is
// checked: pages, tables and designs as a whole, code in its comments, texts and test names. It is
// a net for the worst habits; a sentence without these words can still be hard to read.
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/rules.h"

namespace orrery::tidy {

struct AvoidedWord {
  std::string first;  // letters that the pattern begins with, for a quick search
  std::regex pattern;
  std::string instead;
};

std::vector<AvoidedWord> avoided_words(std::string_view list);

// Returns the comments, texts and test names of a line of code; other lines are returned whole.
std::string prose_of(const std::string& path, const std::string& line);

Complaints check_plain_words(const Source& source, const std::vector<AvoidedWord>& words);

}  // namespace orrery::tidy
