#include "core/workload/pod_trace.h"

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orrery::workload {
namespace {

Diagnostic pod_fault(const CsvTable& table, int line, std::string what) {
  return {
      .code = "trace.row", .place = {.file = table.file(), .line = line}, .what = std::move(what)};
}

// Returns the table if it has every named column; otherwise an error.
Result<CsvTable> table_with(std::string_view text, const std::string& file,
                            std::initializer_list<std::string_view> columns) {
  auto table = CsvTable::parse(text, file);
  if (!table) return table;
  Diagnostics faults;
  for (const std::string_view column : columns) {
    if (!table->column(column)) {
      faults.push_back(pod_fault(*table, 1, "column " + std::string(column) + " is missing"));
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return table;
}

int count_in(const CsvTable& table, const CsvRow& row, std::string_view column,
             Diagnostics& faults) {
  const auto value = table.number(row, column);
  if (value && *value >= 0 && *value <= 2e9) return static_cast<int>(*value);
  faults.push_back(pod_fault(table, row.line, std::string(column) + " is not a count"));
  return 0;
}

}  // namespace

bool looks_like_pods(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  return header.find("cpu_milli") != header.npos && header.find("gpu_milli") != header.npos;
}

Result<std::vector<PodRecord>> read_pods(std::string_view text, const std::string& file) {
  const auto table = table_with(text, file, {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
  if (!table) return std::unexpected(table.error());
  Diagnostics faults;
  std::vector<PodRecord> pods;
  for (const CsvRow& row : table->rows()) {
    PodRecord pod{.cpu_milli = count_in(*table, row, "cpu_milli", faults),
                  .memory_mib = count_in(*table, row, "memory_mib", faults),
                  .gpus = count_in(*table, row, "num_gpu", faults),
                  .gpu_milli = count_in(*table, row, "gpu_milli", faults)};
    if (pod.gpus > 1 && pod.gpu_milli != 1000) {
      faults.push_back(pod_fault(*table, row.line, "several GPUs must be whole: gpu_milli 1000"));
    }
    for (const std::string_view model : split(table->text(row, "gpu_spec"), '|')) {
      if (!model.empty()) pod.models.emplace_back(model);
    }
    pods.push_back(std::move(pod));
  }
  if (pods.empty() && faults.empty()) faults.push_back(pod_fault(*table, 1, "no pods"));
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return pods;
}

Result<std::vector<PodNodeRecord>> read_pod_nodes(std::string_view text, const std::string& file) {
  const auto table = table_with(text, file, {"cpu_milli", "memory_mib", "gpu", "model"});
  if (!table) return std::unexpected(table.error());
  Diagnostics faults;
  std::vector<PodNodeRecord> nodes;
  for (const CsvRow& row : table->rows()) {
    nodes.push_back({.cpu_milli = count_in(*table, row, "cpu_milli", faults),
                     .memory_mib = count_in(*table, row, "memory_mib", faults),
                     .gpus = count_in(*table, row, "gpu", faults),
                     .model = std::string(table->text(row, "model"))});
    if (nodes.back().gpus > 8) {
      faults.push_back(pod_fault(*table, row.line, "more than 8 GPUs on a node are not modelled"));
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return nodes;
}

}  // namespace orrery::workload
