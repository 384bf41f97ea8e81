#include "output/emit/script.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/catalog/embedded_table.h"
#include "output/emit/escape.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kPlaceLetters = "abcdefghijklmnopqrstuvwxyz_";

// Returns the name of the place that opens at `at`; empty if there is none.
std::string_view place_at(std::string_view text, std::size_t at) {
  if (text[at] != '@') return {};
  const std::size_t end = text.find_first_not_of(kPlaceLetters, at + 1);
  if (end == std::string_view::npos || text[end] != '@') return {};
  return text.substr(at + 1, end - at - 1);
}

// Returns the name in a line that is only `#@name@`; empty for other lines.
std::string_view lines_place(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("#@")) return {};
  const std::string_view name = place_at(line, 1);
  return name.size() + 3 == line.size() ? name : std::string_view();
}

}  // namespace

Script Script::from_file(std::string_view path) {
  const auto text = catalog::embedded_text(path);
  Script script = from_text(text ? *text : "");
  script.name_ = path;
  if (!text) script.faults_ = text.error();
  return script;
}

Script Script::from_text(std::string_view text) {
  Script script;
  script.template_ = text;
  script.name_ = "a line of a script";
  return script;
}

Script& Script::word(std::string_view place, std::string_view text) {
  return put(place, {shell_word(text)});
}

Script& Script::words(std::string_view place, const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " ") + shell_word(text);
  return put(place, {std::move(all)});
}

Script& Script::number(std::string_view place, std::int64_t value) {
  return put(place, {std::to_string(value)});
}

Script& Script::remark(std::string_view place, std::string_view text) {
  return put(place, {comment_words(text)});
}

Script& Script::lines(std::string_view place, const std::vector<Script>& parts) {
  std::string all;
  for (const Script& part : parts) {
    const auto text = part.text();
    if (!text) gather(faults_, text.error());
    all += text.value_or("");
  }
  return put(place, {std::move(all), true});
}

Script& Script::stamp(const EmitSource& source) {
  return put("stamp", {emit::stamp(source, "#"), true});
}

Script& Script::put(std::string_view place, Value value) {
  const bool is_new = values_.emplace(place, std::move(value)).second;
  if (!is_new) faults_.push_back(fault("'" + std::string(place) + "' is filled in twice"));
  return *this;
}

Diagnostic Script::fault(std::string what) const {
  return {.code = "emit.script",
          .place = {.file = name_},
          .what = std::move(what),
          .why = "the script and the code that fills it do not match",
          .fix = "this is a fault of Orrery: please report it"};
}

Result<std::string> Script::text() const {
  Diagnostics faults = faults_;
  std::set<std::string, std::less<>> used;
  const auto value_at = [&](std::string_view name, bool whole_lines) -> std::string_view {
    const auto at = values_.find(name);
    if (at == values_.end() || at->second.whole_lines != whole_lines) {
      faults.push_back(fault("no value for the place '" + std::string(name) + "'"));
      return {};
    }
    used.insert(at->first);
    return at->second.text;
  };
  std::string out;
  for (std::size_t start = 0; start < template_.size();) {
    const std::size_t end = std::min(template_.find('\n', start), template_.size() - 1) + 1;
    const std::string_view line = std::string_view(template_).substr(start, end - start);
    start = end;
    if (const std::string_view name = lines_place(line); !name.empty()) {
      out += value_at(name, true);
      continue;
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::string_view name = place_at(line, at);
      out += name.empty() ? line.substr(at, 1) : value_at(name, false);
      at += name.empty() ? 1 : name.size() + 2;
    }
  }
  for (const auto& [name, value] : values_) {
    if (!used.contains(name)) faults.push_back(fault("there is no place '" + name + "'"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

}  // namespace orrery::emit
