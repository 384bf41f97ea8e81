#include "tidy/figure_rules.h"

#include <algorithm>
#include <regex>
#include <set>

#include "core/base/text.h"

namespace orrery::tidy {
namespace {

bool starts_with_any(std::string_view path, std::initializer_list<std::string_view> folders) {
  for (const std::string_view folder : folders) {
    if (path.starts_with(folder)) return true;
  }
  return false;
}

// Words that are also a column of a file or a key of a page, with that meaning there.
const std::set<std::string>& other_words() {
  static const std::set<std::string> kWords = {
      "fleet_share",    // a column of `simulate --replay`: the share of a tenant
      "loss_per_save",  // a key of the storage page: the loss of a cache that holds saves
  };
  return kWords;
}

// Returns the name of the constant that a line defines by a number; empty if it defines none.
std::string constant_of(std::string_view line) {
  static const std::regex kConstant(
      R"(\bconstexpr (double|float|Seconds|Bytes|BytesPerSecond|Watts|Usd|UsdPerSecond|UsdPerByte)"
      R"(|PerSecond|FlopsPerSecond|Flops|Joules|GramsCo2|GramsPerJoule) (k[A-Z]\w*)\s*[={(](.*))");
  const std::string text(line);
  std::smatch match;
  if (!std::regex_search(text, match, kConstant)) return {};
  const std::string value = match[3];
  const bool is_number =
      trimmed(value).empty() || value.find_first_of("0123456789") != std::string::npos;
  return is_number ? match[2].str() : std::string();
}

// Text up to the parenthesis that closes the one before `at`, split at its own commas.
std::vector<std::string> arguments_at(std::string_view code, std::size_t at) {
  std::vector<std::string> arguments(1);
  for (int depth = 1; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (depth == 0) break;
    if (c == ',' && depth == 1) {
      arguments.emplace_back();
    } else {
      arguments.back() += c;
    }
  }
  return arguments;
}

bool is_number(std::string_view text) {
  text = trimmed(text);
  return !text.empty() && text.find_first_not_of("0123456789.'") == std::string_view::npos;
}

// The model, the review, the run and the emitted files.
bool answers_designs(std::string_view path) {
  return is_product(path) &&
         starts_with_any(path, {"src/model/machine/", "src/model/jobs/", "src/plan/", "src/twin/",
                                "src/output/emit/"});
}

bool may_have_assumptions(std::string_view path) {
  return is_product(path) &&
         starts_with_any(path, {"src/model/machine/", "src/model/jobs/", "src/model/figures/",
                                "src/plan/", "src/twin/", "src/study/", "src/output/"});
}

}  // namespace

std::vector<FigureRow> figure_rows(std::string_view table) {
  static const std::regex kRow(R"(FIGURE\((\w+),\s*\w+,\s*\w+,\s*\w+,\s*(\w+),)");
  std::vector<FigureRow> rows;
  for (const std::string_view line : split(table, '\n')) {
    const std::string text(line);
    std::smatch match;
    if (text.starts_with("FIGURE(") && std::regex_search(text, match, kRow)) {
      rows.push_back({match[1], match[2]});
    }
  }
  return rows;
}

Complaints check_figure_words(const Source& source, const std::vector<FigureRow>& rows) {
  const bool is_looked_at =
      is_product(source.path) &&
      starts_with_any(source.path, {"src/model/machine/", "src/model/jobs/", "src/plan/",
                                    "src/twin/", "src/study/compare/", "src/study/search/",
                                    "src/study/rehearse/", "src/output/", "src/app/"});
  if (!is_looked_at) return {};
  Complaints complaints;
  int number = 0;
  for (const std::string_view line : split(source.text, '\n')) {
    ++number;
    if (trimmed(line).starts_with("//")) continue;
    for (const FigureRow& row : rows) {
      if (row.id.find('_') == std::string::npos || other_words().contains(row.id)) continue;
      if (line.find('"' + row.id + '"') == std::string_view::npos) continue;
      complaints.push_back({source.path, number, row.id + ": use the row, FigureId::" + row.id});
    }
  }
  return complaints;
}

Complaints check_figures_said(const std::vector<Source>& sources,
                              const std::vector<FigureRow>& rows) {
  static const std::regex kName(R"(FigureId::(\w+))");
  std::set<std::string> review, run;
  for (const Source& s : sources) {
    const bool is_run = s.path.starts_with("src/twin/");
    const bool is_review =
        starts_with_any(s.path, {"src/plan/", "src/model/machine/", "src/model/jobs/"});
    if (!is_product(s.path) || (!is_run && !is_review)) continue;
    for (std::sregex_iterator it(s.text.begin(), s.text.end(), kName), end; it != end; ++it) {
      (is_run ? run : review).insert((*it)[1]);
    }
  }
  Complaints complaints;
  const std::string table = "src/model/figures/figure_kinds.def";
  for (const FigureRow& row : rows) {
    if (review.contains(row.id) != (row.said != "run")) {
      complaints.push_back({table, 0, row.id + " is reported by " + row.said + ": see the review"});
    }
    if (run.contains(row.id) != (row.said != "review")) {
      complaints.push_back({table, 0, row.id + " is reported by " + row.said + ": see the run"});
    }
  }
  return complaints;
}

Complaints check_constants(const std::vector<Source>& sources, const Source& list) {
  std::set<std::string> listed;
  for (const std::string_view line : split(list.text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    listed.insert(std::string(trimmed(line.substr(0, line.find('|')))));
  }
  Complaints complaints;
  std::set<std::string> met;
  for (const Source& s : sources) {
    if (!may_have_assumptions(s.path)) continue;
    int number = 0;
    for (const std::string_view line : split(s.text, '\n')) {
      ++number;
      const std::string name = constant_of(line);
      if (name.empty()) continue;
      const std::string entry = s.path + ' ' + name;
      met.insert(entry);
      if (listed.contains(entry)) continue;
      complaints.push_back(
          {s.path, number, name + ": a row of src/model/figures/assumptions.def, or " + list.path});
    }
  }
  for (const std::string& entry : listed) {
    if (!met.contains(entry)) complaints.push_back({list.path, 0, entry + ": no longer exists"});
  }
  return complaints;
}

Complaints check_bare_numbers(const Source& source) {
  static const std::regex kUnit(
      R"(\b((nano|micro|milli)?seconds|minutes|hours|days|weeks|months|years)"
      R"(|(kilo|mega|giga|tera)bytes)"
      R"(|[kmgt]ib|[mgt](bits|bytes|flops)_per_s|(kilo|mega)?watts|usd(_per_\w+)?)\()");
  if (!answers_designs(source.path)) return {};
  const std::string code = blanked(source.text);
  const auto line_at = [&](std::size_t at) {
    return 1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<long>(at),
                                           '\n'));
  };
  Complaints complaints;
  for (std::sregex_iterator it(code.begin(), code.end(), kUnit), end; it != end; ++it) {
    const auto at = static_cast<std::size_t>(it->position());
    const std::size_t begins = code.rfind('\n', at) + 1;
    const std::string argument = arguments_at(code, at + it->str().size()).front();
    const bool is_unit_itself = argument == "0" || argument == "1";
    const bool is_named = code.substr(begins, at - begins).find("constexpr") != std::string::npos;
    if (is_number(argument) && !is_unit_itself && !is_named) {
      complaints.push_back({source.path, line_at(at), it->str() + argument + ") has no name"});
    }
  }
  for (std::size_t at = code.find("within("); at != std::string::npos;
       at = code.find("within(", at + 1)) {
    const std::vector<std::string> arguments = arguments_at(code, at + 7);
    for (std::size_t i = 1; i < std::min<std::size_t>(3, arguments.size()); ++i) {
      if (is_number(arguments[i]) && trimmed(arguments[i]) != "0") {
        complaints.push_back({source.path, line_at(at), "a half-width that has no name"});
      }
    }
  }
  return complaints;
}

}  // namespace orrery::tidy
