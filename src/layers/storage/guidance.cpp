#include "layers/storage/guidance.h"

#include <array>
#include <cmath>

namespace orrery::storage {
namespace {

std::optional<BytesPerSecond> rate_in(const CsvTable& table, const CsvRow& row,
                                      std::string_view column) {
  const auto number = table.number(row, column);
  if (!number) return std::nullopt;
  return gbytes_per_s(*number);
}

const StorageGuidance* find_row(const std::vector<StorageGuidance>& all, std::string_view arch,
                                std::string_view scope, std::string_view metric) {
  for (const StorageGuidance& g : all) {
    if (g.architecture == arch && g.metric == metric && g.scope.starts_with(scope)) return &g;
  }
  return nullptr;
}

}  // namespace

const char* to_text(GuidanceLevel level) {
  switch (level) {
    case GuidanceLevel::good:
      return "good";
    case GuidanceLevel::better:
      return "better";
    case GuidanceLevel::best:
      return "best";
  }
  return "";
}

std::optional<BytesPerSecond> StorageGuidance::at(GuidanceLevel level) const {
  switch (level) {
    case GuidanceLevel::good:
      return good;
    case GuidanceLevel::better:
      return better;
    case GuidanceLevel::best:
      return best;
  }
  return std::nullopt;
}

Result<std::vector<StorageGuidance>> read_storage_guidance(const CsvTable& table) {
  std::vector<StorageGuidance> all;
  for (const CsvRow& row : table.rows()) {
    if (table.text(row, "unit") != "GB/s") continue;
    all.push_back({.architecture = std::string(table.text(row, "arch")),
                   .scope = std::string(table.text(row, "scope")),
                   .metric = std::string(table.text(row, "metric")),
                   .good = rate_in(table, row, "good"),
                   .better = rate_in(table, row, "better"),
                   .best = rate_in(table, row, "best"),
                   .source = std::string(table.text(row, "source"))});
  }
  return all;
}

int gpus_per_unit(std::string_view architecture) {
  if (architecture.find("GB200") != std::string_view::npos) return 576;
  if (architecture.find("A100") != std::string_view::npos) return 160;
  return 256;
}

std::optional<BytesPerSecond> guided_rate(const std::vector<StorageGuidance>& all,
                                          const GuidanceAsk& ask) {
  // Scales from the next smaller published size, so that 4 SU gives exactly the 4 SU row.
  const bool four = ask.units >= 4;
  const StorageGuidance* row = find_row(all, ask.architecture, four ? "4 SU" : "1 SU", ask.metric);
  if (row == nullptr) return std::nullopt;
  const auto rate = row->at(ask.level);
  if (!rate) return std::nullopt;
  return *rate * (ask.units / (four ? 4 : 1));
}

}  // namespace orrery::storage
