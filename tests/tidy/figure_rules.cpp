#include "tidy/figure_rules.h"

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
                                    "src/twin/", "src/output/", "src/app/"});
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

}  // namespace orrery::tidy
