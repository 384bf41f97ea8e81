// Compares a probe of storage with the plan: is it as fast as it should be, and if not, what limits
// it?
//
// Planned for one client: a shared tier gives it min(tier, its storage network); the drives of a
// node give it all they have. Objects arrive at loader.h's fetch rate. A figure is as planned if
// the interval of the repeats overlaps the plan's own. One that is not is explained by the others
// of the same probe: flushing that takes the time, files that cost more than their bytes, a network
// that is full, a core that is busy.
#pragma once

#include <string>
#include <vector>

#include "core/base/estimate.h"
#include "core/base/json_writer.h"
#include "model/figures/figure.h"
#include "plan/review/stages.h"
#include "study/score/storage_probe.h"

namespace orrery::score {

enum class StorageWall {
  none,
  device_bandwidth,
  iops,
  metadata,
  loader_cpu,
  host_cpu,  // copies into the page cache
  network,
  fsync
};
const char* to_text(StorageWall wall);

enum class Standing { as_planned, faster, slower };
const char* to_text(Standing standing);

struct StorageComparison {
  std::string id;
  std::string label;
  figures::Unit unit = figures::Unit::bytes_per_s;
  MeasuredFigure measured;
  Estimate planned;
  Standing standing = Standing::as_planned;
  StorageWall wall = StorageWall::none;  // what limits it, if it is slower
  std::string why;
};

struct StorageStanding {
  std::string tier;
  std::vector<StorageComparison> figures;
  bool as_planned() const;  // true if none is slower
};

// If `tier` is empty: the drives of the nodes for a folder, the first object store for a bucket.
Result<StorageStanding> compare_storage(const StorageProbe& probe, const review::Review& review,
                                        const std::string& tier);

std::string standing_text(const StorageStanding& standing);
// Writes the comparison as a member of an open JSON object: "plan": {...}.
void standing_json(const StorageStanding& standing, JsonWriter& json);

}  // namespace orrery::score
