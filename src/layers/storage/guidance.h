// What reference architectures ask of storage, by scalable unit: read and write, good, better,
// best.
//
// The rows are data/catalog/refarch_storage.csv (RA-11333-001, RA-11338-001). Between the published
// sizes (a node, 1 SU, 4 SU) the guidance grows with the units. GB200's unit has 576 GPUs and the
// same 125 GB/s as the H100's 256: 2.25 times less for each GPU, which a design carried over from
// H100 ratios will miss.
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

// Rows in other units (ports, formulas) are left out; they are guidance for other questions.
Result<std::vector<StorageGuidance>> read_storage_guidance(const CsvTable& table);

// GPUs of one scalable unit: 256 for H100 and its successors in 8-GPU nodes (32 nodes), 576 for
// GB200 (8 racks of 72), 160 for A100 (20 nodes).
int gpus_per_unit(std::string_view architecture);

struct GuidanceAsk {
  std::string_view architecture;
  std::string_view metric;
  double units = 1;
  GuidanceLevel level = GuidanceLevel::better;
};
// By units, in proportion: the published 4 SU figures are 4 times the 1 SU ones for reads at best
// and within 7 % elsewhere. None where the architecture or the level is not published.
std::optional<BytesPerSecond> guided_rate(const std::vector<StorageGuidance>& all,
                                          const GuidanceAsk& ask);

}  // namespace orrery::storage
