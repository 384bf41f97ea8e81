#include "tidy/callers.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text.h"

namespace orrery::tidy {
namespace {

std::string stem_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

bool is_word(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

// Returns the name that an unindented line declares or defines: the word before its first '('.
// Returns an empty text if there is none, or if no type precedes it.
std::string_view declared_in(std::string_view line) {
  if (line.empty() || !is_word(line.front())) return {};
  const std::size_t open = line.find('(');
  if (open == std::string_view::npos) return {};
  std::size_t start = open;
  while (start > 0 && is_word(line[start - 1])) --start;
  return start > 0 ? line.substr(start, open - start) : std::string_view();
}

template <class Visit>
void each_word(std::string_view line, Visit visit) {
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end > at) visit(line.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

struct Declared {
  std::string path;
  int line = 0;
  std::string name;
};

// What the product declares in its headers, and which words it uses.
struct Words {
  std::vector<Declared> declared;
  std::unordered_map<std::string, int> uses;

  void read(const Source& source) {
    const bool header = source.path.starts_with("src/") && source.path.ends_with(".h");
    const std::string text = blanked(source.text);  // outlives the views into it
    int number = 0;
    for (const std::string_view line : split(text, '\n')) {
      ++number;
      const std::string_view name = declared_in(line);
      if (header && !name.empty()) declared.push_back({source.path, number, std::string(name)});
      each_word(line, [&](std::string_view word) {
        if (word.data() != name.data()) ++uses[std::string(word)];
      });
    }
  }
};

// Returns headers that no other part of the product includes, except parts that have no caller
// themselves.
std::set<std::string> headers_without_caller(const std::vector<Source>& product) {
  std::map<std::string, std::set<std::string>> includers;  // header -> names of files without
                                                           // extension
  for (const Source& source : product) {
    if (source.path.starts_with("src/") && source.path.ends_with(".h")) includers[source.path];
  }
  for (const Source& source : product) {
    for (const std::string_view line : split(source.text, '\n')) {
      if (!line.starts_with("#include \"")) continue;
      const auto parts = split(line, '"');
      const auto at = includers.find("src/" + std::string(parts[1]));
      if (at != includers.end()) at->second.insert(stem_of(source.path));
    }
  }
  std::set<std::string> found;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [header, stems] : includers) {
      const bool called = std::ranges::any_of(stems, [&](const std::string& stem) {
        return stem != stem_of(header) && !found.contains(stem + ".h");
      });
      if (!called) more |= found.insert(header).second;
    }
  }
  return found;
}

}  // namespace

std::vector<Unwired> read_unwired(const Source& list, Complaints& faults) {
  std::vector<Unwired> rows;
  int number = 0;
  for (const std::string_view line : split(list.text, '\n')) {
    ++number;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    const auto halves = split(line, '|');
    const auto what = split(trimmed(halves.front()), ' ');
    if (halves.size() != 2 || trimmed(halves[1]).empty() || what.size() > 2) {
      faults.push_back({list.path, number, "a row is: HEADER [FUNCTION] | why only tests call it"});
      continue;
    }
    rows.push_back({number, std::string(what[0]), std::string(what.size() > 1 ? what[1] : ""),
                    std::string(trimmed(halves[1]))});
  }
  return rows;
}

Complaints check_callers(const std::vector<Source>& code, const Source& list) {
  std::vector<Source> product;
  std::ranges::copy_if(code, std::back_inserter(product),
                       [](const Source& s) { return is_product(s.path); });
  Complaints complaints;
  const std::vector<Unwired> rows = read_unwired(list, complaints);
  std::set<int> needed;  // rows of the list that are needed
  const auto is_listed = [&](const std::string& path, std::string_view function) {
    bool listed = false;
    for (const Unwired& row : rows) {
      const bool all = !function.empty() && row.function == "*";
      if (row.path != path || (!all && row.function != function)) continue;
      needed.insert(row.line);
      listed = true;
    }
    return listed;
  };
  const std::set<std::string> headers = headers_without_caller(product);
  for (const std::string& header : headers) {
    if (is_listed(header, "")) continue;
    complaints.push_back({header, 1, "only its tests include it: use it, delete it or list it"});
  }
  Words words;
  for (const Source& source : product) words.read(source);
  for (const Declared& d : words.declared) {
    // A row for a whole header covers everything that it declares.
    if (words.uses.contains(d.name) || headers.contains(d.path) || is_listed(d.path, d.name)) {
      continue;
    }
    complaints.push_back({d.path, d.line, d.name + ": no product code calls it"});
  }
  for (const Unwired& row : rows) {
    if (needed.contains(row.line)) continue;
    complaints.push_back(
        {list.path, row.line, "it has a caller now, or no longer exists: remove the row"});
  }
  return complaints;
}

}  // namespace orrery::tidy
