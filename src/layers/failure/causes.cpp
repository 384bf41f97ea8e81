#include "layers/failure/causes.h"

#include <utility>

namespace orrery::failure {
namespace {

Diagnostic unreadable(const CsvTable& table, const CsvRow& row) {
  return {.severity = Severity::error,
          .code = "failure.cause",
          .place = {table.file(), row.line, 0},
          .what = "a cause needs a group, a weight above 0, a scope, keeps_disk and a sight",
          .why = "the shares of the causes determine what a fault destroys",
          .fix =
              "group: accelerator, software, host, network or hang; scope: process or host; "
              "keeps_disk: yes or no; sight: health, timeout or silent"};
}

}  // namespace

Result<std::vector<FaultCause>> read_fault_causes(const CsvTable& table) {
  std::vector<FaultCause> causes;
  Diagnostics faults;
  double sum = 0;
  for (const CsvRow& row : table.rows()) {
    const auto weight = table.number(row, "weight");
    const auto group = from_word<FaultGroup>(table.text(row, "group"));
    const auto scope = from_word<FaultScope>(table.text(row, "scope"));
    const auto sight = from_word<FaultSight>(table.text(row, "sight"));
    const std::string_view disk = table.text(row, "keeps_disk");
    const bool weighs = weight && *weight > 0;
    if (!weighs || !group || !scope || !sight || (disk != "yes" && disk != "no")) {
      faults.push_back(unreadable(table, row));
      continue;
    }
    sum += *weight;
    causes.push_back({.name = std::string(table.text(row, "cause")),
                      .group = *group,
                      .share = *weight,
                      .scope = *scope,
                      .keeps_disk = disk == "yes",
                      .sight = *sight});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  for (FaultCause& c : causes) c.share /= sum;
  return causes;
}

std::string_view label_of(FaultGroup group) {
  switch (group) {
    case FaultGroup::accelerator:
      return "accelerator and its memory";
    case FaultGroup::software:
      return "software and users";
    case FaultGroup::host:
      return "host and power";
    case FaultGroup::network:
      return "network";
    case FaultGroup::hang:
      return "hang found only by a timeout";
  }
  return "";
}

double share_of(const std::vector<FaultCause>& causes, FaultGroup group) {
  double share = 0;
  for (const FaultCause& c : causes) share += c.group == group ? c.share : 0;
  return share;
}

bool needs_accelerators(FaultGroup group) {
  return group == FaultGroup::accelerator || group == FaultGroup::hang;
}

const FaultCause& cause_at(const std::vector<FaultCause>& causes, double draw,
                           bool has_accelerators) {
  if (!has_accelerators) {
    draw *= 1 - share_of(causes, FaultGroup::accelerator) - share_of(causes, FaultGroup::hang);
  }
  const FaultCause* last = &causes.back();
  for (const FaultCause& c : causes) {
    if (!has_accelerators && needs_accelerators(c.group)) continue;
    last = &c;
    draw -= c.share;
    if (draw < 0) return c;
  }
  return *last;
}

}  // namespace orrery::failure
