#include "layers/storage/dataset.h"

#include <algorithm>
#include <cmath>

namespace orrery::storage {
Result<std::vector<DatasetKind>> read_dataset_kinds(const CsvTable& table) {
  std::vector<DatasetKind> kinds;
  Diagnostics faults;
  for (const CsvRow& row : table.rows()) {
    const auto sample = table.number(row, "sample_bytes");
    const auto object = table.number(row, "object_bytes");
    const auto decode = table.number(row, "decode_core_ms");
    const auto decoded = table.number(row, "decoded_bytes");
    if (!sample || !object || !decode || !decoded || *sample <= 0 || *object <= 0 || *decode < 0) {
      faults.push_back({.severity = Severity::error,
                        .code = "dataset.kind",
                        .place = {table.file(), row.line, 0},
                        .what = "a kind of data needs positive sizes and a decode time",
                        .why = {},
                        .fix = "fill sample_bytes, object_bytes, decode_core_ms, decoded_bytes"});
      continue;
    }
    kinds.push_back({.id = std::string(table.text(row, "id")),
                     .sample = bytes(*sample),
                     .object = bytes(*object),
                     .decode = milliseconds(*decode),
                     .decoded_sample = bytes(*decoded),
                     .source = std::string(table.text(row, "source")),
                     .basis = std::string(table.text(row, "basis"))});
  }
  if (!faults.empty()) return std::unexpected(faults);
  return kinds;
}

const DatasetKind* find_dataset_kind(const std::vector<DatasetKind>& all, std::string_view id) {
  for (const DatasetKind& kind : all) {
    if (kind.id == id) return &kind;
  }
  return nullptr;
}

}  // namespace orrery::storage
