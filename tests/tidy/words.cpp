#include "tidy/words.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace orrery::tidy {
namespace {

bool is_code(std::string_view path) {
  return std::ranges::any_of(std::vector<std::string_view>{".h", ".cpp", ".def", ".ts", ".svelte"},
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string stripped(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Returns the words of TEST(room, it_keeps_its_promise) and of similar macros.
std::string test_name(const std::string& line) {
  if (!line.starts_with("TEST") && !line.starts_with("INSTANTIATE_")) return "";
  std::string text = line;
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace

std::vector<AvoidedWord> avoided_words(std::string_view list) {
  std::vector<AvoidedWord> words;
  std::istringstream lines{std::string(list)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bar = line.rfind(" | ");
    if (line.starts_with('#') || bar == std::string::npos) continue;
    const std::string pattern = stripped(line.substr(0, bar));
    const auto end = std::ranges::find_if(pattern, [](char c) { return c < 'a' || c > 'z'; });
    words.push_back({std::string(pattern.begin(), end),
                     std::regex("\\b(?:" + pattern + ")(?![\\w-])", std::regex::icase),
                     stripped(line.substr(bar + 3))});
  }
  return words;
}

std::string prose_of(const std::string& path, const std::string& line) {
  if (!is_code(path)) return line;
  std::string prose = test_name(line);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (line.compare(i, 2, "//") == 0 || line.compare(i, 2, "/*") == 0)) {
      return prose + ' ' + line.substr(i);
    }
    if (quote == 0 && (c == '"' || c == '`')) {
      quote = c;
    } else if (quote != 0 && c == '\\') {
      ++i;
    } else if (quote != 0 && c == quote) {
      quote = 0;
      prose += ' ';
    } else if (quote != 0) {
      prose += c;
    }
  }
  return prose;
}

Complaints check_plain_words(const Source& source, const std::vector<AvoidedWord>& words) {
  Complaints complaints;
  std::istringstream lines(source.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string prose = prose_of(source.path, line);
    const std::string quick = lowered(prose);
    for (const AvoidedWord& word : words) {
      std::smatch found;
      if (quick.find(word.first) == std::string::npos) continue;
      if (!std::regex_search(prose, found, word.pattern)) continue;
      complaints.push_back({source.path, number, found.str() + ": " + word.instead});
    }
  }
  return complaints;
}

}  // namespace orrery::tidy
