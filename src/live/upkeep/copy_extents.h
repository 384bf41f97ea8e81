// The bytes of a version once more, into a tier: blob by blob, so that parts stay parts.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

struct CopiedExtents {
  std::vector<rows::Extent> extents = {};
  std::vector<rows::Blob> blobs = {};
};
// Durable when it returns; what was written is removed where it fails.
store::Answer<CopiedExtents> copy_extents(store::Store& store, store::ObjectReader& from,
                                          const std::vector<rows::Extent>& extents,
                                          const std::string& tier,
                                          const std::function<bool()>& stop);

}  // namespace orrery::upkeep
