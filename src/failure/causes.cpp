#include "failure/causes.h"

#include <utility>

namespace orrery::failure {
namespace {

Diagnostic unreadable(const CsvTable& table, const CsvRow& row) {
  return {.severity = Severity::error,
          .code = "failure.cause",
          .place = {table.file(), row.line, 0},
          .what = "a cause needs a count above 0, a scope, keeps_disk and how it is seen",
          .why = "the shares of the causes decide what a fault takes with it",
          .fix = "scope: process or host; keeps_disk: yes or no; sight: health, timeout or silent"};
}

}  // namespace

Result<std::vector<FaultCause>> read_fault_causes(const CsvTable& table) {
  std::vector<FaultCause> causes;
  Diagnostics faults;
  double sum = 0;
  for (const CsvRow& row : table.rows()) {
    const auto count = table.number(row, "count");
    const auto scope = from_word<FaultScope>(table.text(row, "scope"));
    const auto sight = from_word<FaultSight>(table.text(row, "sight"));
    const std::string_view disk = table.text(row, "keeps_disk");
    if (!count || !(*count > 0) || !scope || !sight || (disk != "yes" && disk != "no")) {
      faults.push_back(unreadable(table, row));
      continue;
    }
    sum += *count;
    causes.push_back({.name = std::string(table.text(row, "cause")),
                      .share = *count,
                      .scope = *scope,
                      .keeps_disk = disk == "yes",
                      .sight = *sight});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  for (FaultCause& c : causes) c.share /= sum;
  return causes;
}

const FaultCause& cause_at(const std::vector<FaultCause>& causes, double draw) {
  for (const FaultCause& c : causes) {
    draw -= c.share;
    if (draw < 0) return c;
  }
  return causes.back();
}

}  // namespace orrery::failure
