#include "model/machine/models.h"

#include <utility>

namespace orrery::machine {
namespace {

// Takes the value of a reader, or notes its faults.
template <class T>
void take(Result<T> read, T& into, Diagnostics& faults) {
  if (read) {
    into = std::move(*read);
  } else {
    faults.insert(faults.end(), read.error().begin(), read.error().end());
  }
}

template <class T>
void take_table(const catalog::Knowledge& knowledge, std::string_view path,
                Result<T> (*reader)(const CsvTable&), T& into, Diagnostics& faults) {
  const auto table = knowledge.table(path);
  if (table) {
    take(reader(*table), into, faults);
  } else {
    faults.insert(faults.end(), table.error().begin(), table.error().end());
  }
}

}  // namespace

Result<std::vector<compute::CalibrationValue>> read_kernel_values(const CsvTable& table) {
  std::vector<compute::CalibrationValue> values;
  Diagnostics faults;
  for (const CsvRow& row : table.rows()) {
    const auto value = table.number(row, "value");
    compute::CalibrationValue v{.accelerator = std::string(table.text(row, "accelerator")),
                                .library = std::string(table.text(row, "library")),
                                .dtype = std::string(table.text(row, "dtype")),
                                .parameter = std::string(table.text(row, "parameter")),
                                .value = value.value_or(0)};
    if (!value || v.accelerator.empty() || v.parameter.empty()) {
      faults.push_back({.code = "calibration.row",
                        .place = {table.file(), row.line, 1},
                        .what = "a parameter row names an accelerator, a parameter and a number",
                        .fix = "`orrery calibrate PROBE.csv` writes such a file"});
      continue;
    }
    values.push_back(std::move(v));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return values;
}

Result<Models> read_models(std::shared_ptr<const catalog::Knowledge> knowledge) {
  const catalog::Knowledge& k = *knowledge;
  Models m{.knowledge = std::move(knowledge)};
  Diagnostics faults;
  take(compute::read_calibration(k), m.kernels, faults);
  take(training::read_training_calibration(k), m.training, faults);
  take_table(k, "calibration/collectives.csv", fabric::read_collective_parameters, m.collectives,
             faults);
  take_table(k, "calibration/node_failure_rates.csv", failure::read_node_failure_rates,
             m.failure_rates, faults);
  take_table(k, "calibration/failure_causes.csv", failure::read_fault_causes, m.fault_causes,
             faults);
  take_table(k, "calibration/dataset_kinds.csv", storage::read_dataset_kinds, m.dataset_kinds,
             faults);
  take_table(k, "catalog/refarch_storage.csv", storage::read_storage_guidance, m.storage_guidance,
             faults);
  take_table(k, "calibration/serving_engines.csv", engines::read_engines, m.engines, faults);
  take_table(k, "calibration/serving_tuning.csv", engines::read_tunings, m.tunings, faults);
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return m;
}

Result<Models> load_models(std::span<const catalog::EmbeddedFile> files) {
  auto knowledge = load_knowledge(files);
  if (!knowledge) return std::unexpected(std::move(knowledge.error()));
  return read_models(std::make_shared<const catalog::Knowledge>(std::move(*knowledge)));
}

}  // namespace orrery::machine
