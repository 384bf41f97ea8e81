#include "live/agent/straggler_input.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orrery::agent {
namespace {

using Json = nlohmann::json;

// The answer to a range query is nested five levels deep. The parser after this check is recursive.
constexpr int kDepthMax = 16;

Diagnostic fault(const std::string& file, int line, std::string what, std::string fix) {
  return {.code = "stragglers.input",
          .place = {.file = file, .line = line},
          .what = std::move(what),
          .why = {},
          .fix = std::move(fix)};
}

// Measurements by (step, rank), in whatever order they came.
class Gatherer {
 public:
  void add(double step, const failure::RankPlace& place, double seconds) {
    places_.try_emplace(place.rank, place);
    cells_[step][place.rank] = seconds;
  }
  std::size_t ranks() const { return places_.size(); }

  failure::StepTimes table() {
    failure::StepTimes times;
    std::map<int, std::size_t> column;
    for (auto& [rank, place] : places_) {
      column[rank] = times.ranks.size();
      times.ranks.push_back(std::move(place));
    }
    for (const auto& [step, row] : cells_) {
      std::vector<double> seconds(times.ranks.size());
      for (const auto& [rank, value] : row) seconds[column.at(rank)] = value;
      times.steps.push_back(std::move(seconds));
    }
    return times;
  }

 private:
  std::map<int, failure::RankPlace> places_;
  std::map<double, std::map<int, double>> cells_;
};

bool is_rank(std::int64_t rank) { return rank >= 0 && rank < 1'000'000'000; }

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        quoted = false;
      continue;
    }
    quoted = text[i] == '"';
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] == '}' || text[i] == ']') --depth;
    if (depth > kDepthMax) return true;
  }
  return false;
}

std::string label(const Json& metric, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (metric.contains(name) && metric.at(name).is_string()) return metric.at(name);
  }
  return {};
}

failure::RankPlace place_of(const Json& metric, int rank) {
  failure::RankPlace place{.rank = rank,
                           .host = label(metric, {"host", "Hostname", "node", "instance"})};
  if (label(metric, {"host", "Hostname", "node"}).empty()) {
    place.host = place.host.substr(0, place.host.rfind(':'));
  }
  place.leaf = label(metric, {"leaf"});
  return place;
}

Diagnostics take_series(const Json& result, const std::string& file, Gatherer& all) {
  Diagnostics faults;
  for (const Json& series : result) {
    const Json& metric = series.at("metric");
    const auto rank = parse_integer(label(metric, {"rank"}));
    if (!rank || !is_rank(*rank)) {
      faults.push_back(fault(file, 0, "a series has no `rank` label: " + metric.dump(),
                             "keep the label in the query: avg by (rank, host) (...)"));
      continue;
    }
    for (const Json& pair : series.at("values")) {
      const auto seconds = parse_number(pair.at(1).get<std::string>());
      // Prometheus writes NaN for a missing sample.
      if (!seconds) continue;
      all.add(pair.at(0).get<double>(), place_of(metric, static_cast<int>(*rank)), *seconds);
    }
  }
  return faults;
}

Result<failure::StepTimes> finished(Gatherer& all, Diagnostics faults, const std::string& file) {
  if (all.ranks() > kStragglerRanksMax) {
    faults.push_back(
        fault(file, 0, "the input has more than 100,000 ranks", "give one job at a time"));
  } else if (all.ranks() < 2 && faults.empty()) {
    faults.push_back(fault(file, 0, "the input has fewer than two ranks",
                           "give at least two ranks; a rank is slow only relative to the others"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return all.table();
}

}  // namespace

Result<failure::StepTimes> step_times_from_csv(std::string_view text, const std::string& file) {
  const auto table = CsvTable::parse(text, file);
  if (!table) return std::unexpected(table.error());
  Diagnostics faults;
  for (const char* column : {"step", "rank", "seconds"}) {
    if (table->column(column)) continue;
    faults.push_back(fault(file, 1, std::string("there is no column `") + column + "`",
                           "the columns are step,rank,seconds and, if known, host,leaf"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  Gatherer all;
  for (const CsvRow& row : table->rows()) {
    const auto step = table->number(row, "step");
    const auto rank = table->integer(row, "rank");
    const auto seconds = table->number(row, "seconds");
    if (!step || !rank || !is_rank(*rank) || !seconds || *seconds <= 0) {
      constexpr std::size_t kFaultsShown = 20;
      if (faults.size() < kFaultsShown) {
        faults.push_back(fault(file, row.line,
                               "the line does not hold a step, a rank and a time above 0",
                               "write a line such as 7,12,0.183"));
      }
      continue;
    }
    all.add(*step,
            {.rank = static_cast<int>(*rank),
             .host = std::string(table->text(row, "host")),
             .leaf = std::string(table->text(row, "leaf"))},
            *seconds);
  }
  return finished(all, std::move(faults), file);
}

Result<failure::StepTimes> step_times_from_prometheus(std::string_view text,
                                                      const std::string& file) {
  const auto no_answer = [&file](const std::string& why) {
    Diagnostic d =
        fault(file, 0, "not the answer of a Prometheus range query",
              "save the body of /api/v1/query_range?query=...&start=...&end=...&step=...");
    d.why = why;
    return fail(std::move(d));
  };
  if (nests_too_deep(text)) return no_answer("it is nested too deeply");
  try {
    const Json answer = Json::parse(text);
    if (answer.value("status", "") != "success") {
      return no_answer("its status is not success: " + answer.value("error", std::string("none")));
    }
    const Json& data = answer.at("data");
    if (data.value("resultType", "") != "matrix") return no_answer("its result type is not matrix");
    Gatherer all;
    Diagnostics faults = take_series(data.at("result"), file, all);
    return finished(all, std::move(faults), file);
  } catch (const Json::exception& e) {
    return no_answer(e.what());
  }
}

Result<failure::StepTimes> read_step_times(std::string_view text, const std::string& file) {
  return trimmed(text).starts_with('{') ? step_times_from_prometheus(text, file)
                                        : step_times_from_csv(text, file);
}

}  // namespace orrery::agent
