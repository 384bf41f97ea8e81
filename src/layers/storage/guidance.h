// What reference architectures recommend for storage, per scalable unit: read and write, at the
// levels good, better, best.
//
// The rows are data/catalog/refarch_storage.csv (RA-11333-001, RA-11338-001). Between the published
// sizes (a node, 1 SU, 4 SU) the recommendation grows with the units. GB200's unit has 576 GPUs and
// the same 125 GB/s as the H100's with 256: 2.25 times less per GPU, which a design scaled from
// H100 ratios would miss.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/quantity.h"

namespace orrery::storage {

enum class GuidanceLevel { good, better, best };
const char* to_text(GuidanceLevel level);

struct StorageGuidance {
  std::string architecture;  // "SuperPOD H100"
  std::string scope;         // "single node", "1 SU aggregate", "4 SU aggregate"
  std::string metric;        // "read", "write"
  std::optional<BytesPerSecond> good;
  std::optional<BytesPerSecond> better;
  std::optional<BytesPerSecond> best;
  std::string source;

  std::optional<BytesPerSecond> at(GuidanceLevel level) const;
};

// Rows in other units (ports, formulas) are skipped; they answer other questions.
Result<std::vector<StorageGuidance>> read_storage_guidance(const CsvTable& table);

// Returns the GPUs per scalable unit: 256 for H100 and its successors in 8-GPU nodes (32 nodes),
// 576 for GB200 (8 racks of 72), 160 for A100 (20 nodes).
int gpus_per_unit(std::string_view architecture);

struct GuidanceAsk {
  std::string_view architecture;
  std::string_view metric;
  double units = 1;
  GuidanceLevel level = GuidanceLevel::better;
};
// Returns the recommendation in proportion to units: the published 4 SU figures are 4 times those
// of 1 SU for reads at best, and within 7 % of that elsewhere. Returns nullopt if the architecture
// or level is not published.
std::optional<BytesPerSecond> guided_rate(const std::vector<StorageGuidance>& all,
                                          const GuidanceAsk& ask);

}  // namespace orrery::storage
