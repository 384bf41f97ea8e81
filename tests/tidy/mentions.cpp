#include "tidy/mentions.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace orrery::tidy {
namespace {

bool is_there(const std::string& mention, const std::set<std::string>& headers) {
  return std::ranges::any_of(headers, [&mention](const std::string& path) {
    return path == mention || path.ends_with('/' + mention);
  });
}

// Returns the comment of a line of code, or an empty text.
std::string comment_of(const std::string& line) {
  const std::size_t slashes = line.find("// ");
  return slashes == std::string::npos ? "" : line.substr(slashes);
}

}  // namespace

Complaints check_mentions(const Source& source, const std::set<std::string>& headers) {
  static const std::regex kMention(R"rx((^|[^\w./<-])((?:[\w-]+/)*[\w-]{2,}\.h)(?![\w.*]))rx");
  const bool is_code = source.path.ends_with(".h") || source.path.ends_with(".cpp");
  Complaints complaints;
  std::istringstream lines(source.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find(".h") == std::string::npos) continue;
    const std::string text = is_code ? comment_of(line) : line;
    for (std::sregex_iterator at(text.begin(), text.end(), kMention), end; at != end; ++at) {
      const std::string mention = (*at)[2];
      if (is_there(mention, headers)) continue;
      complaints.push_back({source.path, number, mention + " does not exist"});
    }
  }
  return complaints;
}

Complaints check_paths(const Source& source, const std::set<std::string>& files) {
  static const std::regex kPage(R"rx((^|[^\w./-])(docs/[\w/.-]+\.md)\b)rx");
  static const std::regex kAny(
      R"rx((^|[^\w./-])((?:docs|src|tests|data|examples|tools|packaging|bench|cmake)/[\w/.-]+)rx"
      R"rx(\.(?:md|cpp|h|def|csv|yaml|py|sh|cmake|yml|json|service|golden|txt))(?![\w*]))rx");
  static const std::regex kPlaceholder(R"rx((^|[/_.])[A-Z]{2,}([/_.]|$))rx");
  const bool is_code = source.path.ends_with(".h") || source.path.ends_with(".cpp");
  Complaints complaints;
  std::istringstream lines(source.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find('/') == std::string::npos) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), is_code ? kPage : kAny), end; at != end;
         ++at) {
      const std::string mention = (*at)[2];
      const std::string name = mention.substr(mention.rfind('/') + 1);
      if (files.contains(mention) || mention.find("..") != mention.npos) continue;
      if (std::regex_search(mention, kPlaceholder) && name != "README.md") continue;
      complaints.push_back({source.path, number, mention + " is not there"});
    }
  }
  return complaints;
}

}  // namespace orrery::tidy
