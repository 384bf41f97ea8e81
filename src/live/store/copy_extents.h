// The bytes of a version once more, into a tier: blob by blob, so that parts stay parts.
#pragma once

#include "live/store/store.h"

namespace orrery::store {

struct CopiedExtents {
  std::vector<Extent> extents = {};
  std::vector<Blob> blobs = {};
};
// Durable when it returns; what was written is removed where it fails.
Answer<CopiedExtents> copy_extents(Store& store, ObjectReader& from,
                                   const std::vector<Extent>& extents, const std::string& tier,
                                   const std::function<bool()>& stop);

}  // namespace orrery::store
